#include "tools/hdf5/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "tools/hdf5/attributes.hpp"
#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

constexpr std::array kNamingAttributes = {"coordinates", "bounds", "climatology", "formula_terms",
                                          "cell_measures"};
constexpr std::array<std::string_view, 12> kAngleUnits = {
    "degrees_north", "degree_north", "degrees_n", "degree_n", "degreesn", "degreen",
    "degrees_east",  "degree_east",  "degrees_e", "degree_e", "degreese", "degreee"};
constexpr std::array<std::string_view, 5> kNames = {"lat", "lon", "latitude", "longitude", "time"};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <class List>
bool contains(const List& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string parent(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}
std::string name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Result<Coordinates> Coordinates::find(hid_t file, const Tree& tree) {
  Coordinates coordinates;
  for (const Object& object : tree.objects())
    if (object.kind == Object::Kind::dataset) coordinates.datasets_.insert(object.path);
  for (const std::string& path : coordinates.datasets_) {
    const auto dataset = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "open the dataset");
    if (!dataset.ok()) return dataset.status().within(fmt::format("dataset '{}'", path));
    for (const char* attribute : kNamingAttributes)
      if (const auto text = text_attribute(*dataset, attribute)) coordinates.add_names(path, *text);
  }
  return coordinates;
}

// Names are looked up in the group of the dataset, then in those around it.
void Coordinates::add_names(const std::string& owner, const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.back() == ':') continue;  // a term of formula_terms, not a name
    if (word.front() == '/') {
      if (datasets_.count(word) != 0 && word != owner) named_.insert(word);
      continue;
    }
    for (std::string group = parent(owner);; group = parent(group)) {
      const std::string path = group + "/" + word;
      if (datasets_.count(path) != 0) {
        if (path != owner) named_.insert(path);
        break;
      }
      if (group.empty()) break;
    }
  }
}

std::string Coordinates::role(const Dataset& dataset) const {
  if (text_attribute(dataset.id, "CLASS") == "DIMENSION_SCALE") return "a dimension scale";
  if (named_.count(dataset.path) != 0) return "another dataset's attribute names it";
  if (const auto axis = text_attribute(dataset.id, "axis")) return fmt::format("axis {}", *axis);
  if (const auto units = text_attribute(dataset.id, "units")) {
    const std::string unit = lower_case(*units);
    if (contains(kAngleUnits, unit) || unit.find(" since ") != std::string::npos)
      return fmt::format("units '{}'", *units);
  }
  const std::string own_name = lower_case(name(dataset.path));
  if (contains(kNames, own_name) || own_name.ends_with("_bnds") || own_name.ends_with("_bounds"))
    return "by its name";
  return "";
}

}  // namespace homz::hdf5
