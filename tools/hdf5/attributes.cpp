#include "tools/hdf5/attributes.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/values.hpp"

namespace homz::hdf5 {
namespace {

Handle open_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return Handle();
  return Handle(H5Aopen(object, name, H5P_DEFAULT));
}

Result<H5_index_t> attribute_order(hid_t object) {
  Handle properties;
  switch (H5Iget_type(object)) {
    case H5I_DATASET:
      properties = Handle(H5Dget_create_plist(object));
      break;
    case H5I_DATATYPE:
      properties = Handle(H5Tget_create_plist(object));
      break;
    default:
      properties = Handle(H5Gget_create_plist(object));
  }
  unsigned order = 0;
  if (!properties.ok() || H5Pget_attr_creation_order(properties, &order) < 0)
    return failure("read the object's properties");
  return (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

herr_t note_name(hid_t, const char* name, const H5A_info_t*, void* data) noexcept {
  try {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

Status copy_attribute(hid_t from, hid_t to, const char* name, Translator& translator) {
  HOMZ_ASSIGN(const Handle source, own(H5Aopen(from, name, H5P_DEFAULT), "open the attribute"));
  HOMZ_ASSIGN(const Handle source_type, own(H5Aget_type(source), "read the type"));
  HOMZ_ASSIGN(const Handle space, own(H5Aget_space(source), "read the dataspace"));
  HOMZ_ASSIGN(const Handle properties, own(H5Aget_create_plist(source), "read the properties"));
  HOMZ_ASSIGN(const Handle type, translator.type(source_type));
  HOMZ_ASSIGN(const Handle target,
              own(H5Acreate2(to, name, type, space, properties, H5P_DEFAULT), "create the attribute"));
  HOMZ_ASSIGN(Elements values, Elements::read_attribute(source));
  if (values.count() == 0) return Status();
  HOMZ_TRY(translator.translate(values.layout(), values.data(), values.count()));
  return check(H5Awrite(target, values.type(), values.data()), "write the attribute");
}

Status copy_comment(hid_t from, hid_t to) {
  const ssize_t length = H5Oget_comment(from, nullptr, 0);
  if (length <= 0) return Status();
  std::string comment(static_cast<std::size_t>(length) + 1, '\0');
  HOMZ_TRY(check(H5Oget_comment(from, comment.data(), comment.size()), "read the comment"));
  return check(H5Oset_comment(to, comment.c_str()), "write the comment");
}

}  // namespace

std::optional<std::string> text_attribute(hid_t object, const char* name) {
  const Handle attribute = open_attribute(object, name);
  if (!attribute.ok()) return std::nullopt;
  const auto values = Elements::read_attribute(attribute);
  if (!values.ok() || values->count() != 1 || H5Tget_class(values->type()) != H5T_STRING) return std::nullopt;
  if (values->layout().kind == Layout::Kind::string) {
    const char* text;
    std::memcpy(&text, values->data(), sizeof text);
    return text == nullptr ? std::string() : std::string(text);
  }
  const char* const text = reinterpret_cast<const char*>(values->data());
  std::string trimmed(text, strnlen(text, values->layout().size));
  trimmed.erase(trimmed.find_last_not_of(' ') + 1);
  return trimmed;
}

std::vector<std::byte> numeric_attribute(hid_t object, const char* name, hid_t memory_type,
                                         std::size_t value_bytes) {
  constexpr hssize_t kMostValues = 1 << 16;  // more is no fill value
  const Handle attribute = open_attribute(object, name);
  if (!attribute.ok()) return {};
  const Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
  const H5T_class_t kind = H5Tget_class(type);
  if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || H5Sget_simple_extent_type(space) == H5S_NULL) return {};
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 1 || count > kMostValues) return {};
  std::vector<std::byte> values(static_cast<std::size_t>(count) * value_bytes);
  if (H5Aread(attribute, memory_type, values.data()) < 0) return {};
  return values;
}

Status copy_attributes(hid_t from, hid_t to, Translator& translator) {
  HOMZ_ASSIGN(const H5_index_t order, attribute_order(from));
  std::vector<std::string> names;
  HOMZ_TRY(check(H5Aiterate2(from, order, H5_ITER_INC, nullptr, note_name, &names), "list the attributes"));
  for (const std::string& name : names)
    HOMZ_TRY(copy_attribute(from, to, name.c_str(), translator).within(fmt::format("attribute '{}'", name)));
  return copy_comment(from, to);
}

}  // namespace homz::hdf5
