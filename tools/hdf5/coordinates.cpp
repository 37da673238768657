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

// The path that a soft link leads to, in this file.
std::string target_of(const Tree& tree, const Link& link) {
  const std::string value(link.value.begin(), std::find(link.value.begin(), link.value.end(), '\0'));
  if (value.starts_with('/')) return value;
  const std::string& group = tree.objects()[link.parent].path;
  return (group == "/" ? "" : group) + "/" + value;
}

}  // namespace

Result<Coordinates> Coordinates::find(hid_t file, const Tree& tree) {
  Coordinates coordinates;
  coordinates.paths_of_ = paths_of_datasets(tree);
  for (const auto& [object, paths] : coordinates.paths_of_)
    for (const std::string& path : paths) coordinates.objects_.emplace(path, object);
  for (const Link& link : tree.links()) {
    if (link.type != H5L_TYPE_SOFT || link.value.empty()) continue;
    const auto target = coordinates.objects_.find(target_of(tree, link));
    if (target == coordinates.objects_.end()) continue;
    const std::string object = target->second, path = tree.path(link);
    coordinates.objects_.emplace(path, object);
    coordinates.paths_of_[object].push_back(path);
  }
  for (const auto& [object, paths] : coordinates.paths_of_) {
    const auto dataset = own(H5Dopen2(file, object.c_str(), H5P_DEFAULT), "open the dataset");
    if (!dataset.ok()) return dataset.status().within(fmt::format("dataset '{}'", object));
    for (const char* attribute : kNamingAttributes)
      if (const auto text = text_attribute(*dataset, attribute)) coordinates.add_names(object, *text);
  }
  return coordinates;
}

// Names are looked up in the group of the dataset, then in those around it.
void Coordinates::add_names(const std::string& owner, const std::string& text) {
  const auto add = [&](const std::string& path) {
    const auto found = objects_.find(path);
    if (found == objects_.end()) return false;
    if (found->second != owner) named_.insert(found->second);
    return true;
  };
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.back() == ':') continue;  // a term of formula_terms, not a name
    if (word.front() == '/') {
      add(word);
      continue;
    }
    for (std::string group = parent(owner); !add(group + "/" + word) && !group.empty();)
      group = parent(group);
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
  for (const std::string& path : paths_of_.at(dataset.path)) {
    const std::string own_name = lower_case(name(path));
    if (contains(kNames, own_name) || own_name.ends_with("_bnds") || own_name.ends_with("_bounds"))
      return path == dataset.path ? "by its name" : fmt::format("by its name {}", path);
  }
  return "";
}

}  // namespace homz::hdf5
