#include "tools/hdf5/types.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

std::string order_text(hid_t type, std::size_t size) {
  return size > 1 && H5Tget_order(type) == H5T_ORDER_BE ? " big-endian" : "";
}

Result<Layout> member_layout(hid_t type, unsigned member) {
  HOMZ_ASSIGN(const Handle part, own(H5Tget_member_type(type, member), "read a member's type"));
  HOMZ_ASSIGN(Layout layout, layout_of(part));
  layout.offset = H5Tget_member_offset(type, member);
  return layout;
}

Result<Layout> compound_layout(hid_t type, Layout layout) {
  layout.kind = Layout::Kind::compound;
  const int members = H5Tget_nmembers(type);
  HOMZ_TRY(check(members, "count the members of a type"));
  for (int i = 0; i < members; ++i) {
    HOMZ_ASSIGN(Layout part, member_layout(type, static_cast<unsigned>(i)));
    layout.parts.push_back(std::move(part));
  }
  return layout;
}

Result<Layout> element_layout(hid_t type, Layout layout, Layout::Kind kind) {
  layout.kind = kind;
  HOMZ_ASSIGN(const Handle base, own(H5Tget_super(type), "read an element's type"));
  HOMZ_ASSIGN(Layout part, layout_of(base));
  if (kind == Layout::Kind::array) layout.count = part.size == 0 ? 0 : layout.size / part.size;
  layout.parts.push_back(std::move(part));
  return layout;
}

}  // namespace

std::optional<FloatType> float_type(hid_t type) {
  if (H5Tget_class(type) != H5T_FLOAT) return std::nullopt;
  if (H5Tequal(type, H5T_IEEE_F32LE) > 0) return FloatType{Dtype::f32, false};
  if (H5Tequal(type, H5T_IEEE_F64LE) > 0) return FloatType{Dtype::f64, false};
  if (H5Tequal(type, H5T_IEEE_F32BE) > 0) return FloatType{Dtype::f32, true};
  if (H5Tequal(type, H5T_IEEE_F64BE) > 0) return FloatType{Dtype::f64, true};
  return std::nullopt;
}

hid_t native_type(Dtype dtype) {
  return dtype == Dtype::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

std::string type_text(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i", 8 * size,
                         order_text(type, size));
    case H5T_FLOAT:
      return fmt::format("f{}{}", 8 * size, order_text(type, size));
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enum";
    case H5T_VLEN:
      return "variable-length list";
    case H5T_ARRAY:
      return "array";
    case H5T_REFERENCE:
      return "reference";
    case H5T_BITFIELD:
      return "bitfield";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_TIME:
      return "time";
    default:
      return "unknown type";
  }
}

bool Layout::has(Kind wanted) const {
  return kind == wanted ||
         std::any_of(parts.begin(), parts.end(), [&](const Layout& part) { return part.has(wanted); });
}

Result<Layout> layout_of(hid_t type) {
  Layout layout;
  layout.size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      return compound_layout(type, layout);
    case H5T_ARRAY:
      return element_layout(type, layout, Layout::Kind::array);
    case H5T_VLEN:
      return element_layout(type, layout, Layout::Kind::list);
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) layout.kind = Layout::Kind::string;
      return layout;
    case H5T_REFERENCE:
      layout.kind = H5Tequal(type, H5T_STD_REF_OBJ) > 0 ? Layout::Kind::object_reference
                                                        : Layout::Kind::region_reference;
      return layout;
    default:
      return layout;
  }
}

}  // namespace homz::hdf5
