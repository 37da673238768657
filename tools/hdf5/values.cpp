#include "tools/hdf5/values.hpp"

#include <cstring>
#include <vector>

#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

const Object* target(const Side& side, H5R_type_t type, const std::byte* reference) {
  const Handle object(H5Rdereference2(side.file, H5P_DEFAULT, type, reference));
  if (!object.ok()) return nullptr;
  const auto address = address_of(object);
  return address.ok() ? side.tree->at(*address) : nullptr;
}

bool same_target(H5R_type_t type, const std::byte* a, const std::byte* b, const Side& side_a,
                 const Side& side_b) {
  const Object* const object_a = target(side_a, type, a);
  const Object* const object_b = target(side_b, type, b);
  if (object_a == nullptr || object_b == nullptr) return object_a == object_b;
  return object_a->path == object_b->path;
}

std::vector<hsize_t> selected_blocks(hid_t space) {
  const auto rank = static_cast<std::size_t>(H5Sget_simple_extent_ndims(space));
  std::vector<hsize_t> places;
  if (H5Sget_select_type(space) == H5S_SEL_POINTS) {
    const hssize_t points = H5Sget_select_elem_npoints(space);
    places.resize(static_cast<std::size_t>(points) * rank);
    H5Sget_select_elem_pointlist(space, 0, static_cast<hsize_t>(points), places.data());
  } else if (H5Sget_select_type(space) == H5S_SEL_HYPERSLABS) {
    const hssize_t blocks = H5Sget_select_hyper_nblocks(space);
    places.resize(static_cast<std::size_t>(blocks) * rank * 2);
    H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(blocks), places.data());
  }
  return places;
}

bool same_region(const std::byte* a, const std::byte* b, const Side& side_a, const Side& side_b) {
  if (!same_target(H5R_DATASET_REGION, a, b, side_a, side_b)) return false;
  const Handle region_a(H5Rget_region(side_a.file, H5R_DATASET_REGION, a));
  const Handle region_b(H5Rget_region(side_b.file, H5R_DATASET_REGION, b));
  if (!region_a.ok() || !region_b.ok()) return region_a.ok() == region_b.ok();
  return H5Sget_select_type(region_a) == H5Sget_select_type(region_b) &&
         H5Sextent_equal(region_a, region_b) > 0 && selected_blocks(region_a) == selected_blocks(region_b);
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool same_text(const char* a, const char* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return std::strcmp(a, b) == 0;
}

}  // namespace

bool same_values(const Layout& layout, const std::byte* a, const std::byte* b, std::size_t count,
                 const Side& side_a, const Side& side_b) {
  if (count == 0) return true;
  if (layout.kind == Layout::Kind::plain) return std::memcmp(a, b, count * layout.size) == 0;
  for (std::size_t i = 0; i < count; ++i, a += layout.size, b += layout.size) {
    bool same = true;
    switch (layout.kind) {
      case Layout::Kind::object_reference:
        same = same_target(H5R_OBJECT, a, b, side_a, side_b);
        break;
      case Layout::Kind::region_reference:
        same = same_region(a, b, side_a, side_b);
        break;
      case Layout::Kind::string:
        same = same_text(load<const char*>(a), load<const char*>(b));
        break;
      case Layout::Kind::array:
        same = same_values(layout.parts[0], a, b, layout.count, side_a, side_b);
        break;
      case Layout::Kind::list: {
        const auto list_a = load<hvl_t>(a), list_b = load<hvl_t>(b);
        same = list_a.len == list_b.len &&
               same_values(layout.parts[0], static_cast<const std::byte*>(list_a.p),
                           static_cast<const std::byte*>(list_b.p), list_a.len, side_a, side_b);
        break;
      }
      default:
        for (const Layout& member : layout.parts)
          same = same && same_values(member, a + member.offset, b + member.offset, 1, side_a, side_b);
    }
    if (!same) return false;
  }
  return true;
}

Elements::~Elements() {
  if (holds_lists_ && type_.ok()) H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, data());
}

Result<Elements> Elements::prepare(Handle file_type, Handle space) {
  Elements elements;
  HOMZ_ASSIGN(elements.type_, own(H5Tcopy(file_type), "copy the type"));
  HOMZ_ASSIGN(elements.layout_, layout_of(elements.type_));
  elements.space_ = std::move(space);
  const hssize_t count = H5Sget_simple_extent_npoints(elements.space_);
  HOMZ_TRY(check(count, "count the elements"));
  elements.count_ =
      H5Sget_simple_extent_type(elements.space_) == H5S_NULL ? 0 : static_cast<std::uint64_t>(count);
  std::uint64_t bytes;
  if (__builtin_mul_overflow(elements.count_, elements.layout_.size, &bytes))
    return Status(Code::out_of_memory, "the elements do not fit in memory");
  HOMZ_ASSIGN(elements.data_, Buffer::make(bytes));
  elements.holds_lists_ =
      bytes != 0 && (elements.layout_.has(Layout::Kind::list) || elements.layout_.has(Layout::Kind::string));
  // Lists that were not read must not be freed, nor followed.
  if (bytes != 0 && elements.layout_.kind != Layout::Kind::plain) std::memset(elements.data(), 0, bytes);
  return elements;
}

Result<Elements> Elements::read_attribute(hid_t attribute) {
  HOMZ_ASSIGN(Handle type, own(H5Aget_type(attribute), "read the type"));
  HOMZ_ASSIGN(Handle space, own(H5Aget_space(attribute), "read the dataspace"));
  HOMZ_ASSIGN(Elements elements, prepare(std::move(type), std::move(space)));
  if (elements.count_ != 0)
    HOMZ_TRY(check(H5Aread(attribute, elements.type_, elements.data()), "read the attribute"));
  return elements;
}

Result<Elements> Elements::read_dataset(hid_t dataset) {
  HOMZ_ASSIGN(Handle type, own(H5Dget_type(dataset), "read the type"));
  HOMZ_ASSIGN(Handle space, own(H5Dget_space(dataset), "read the dataspace"));
  HOMZ_ASSIGN(Elements elements, prepare(std::move(type), std::move(space)));
  if (elements.count_ != 0)
    HOMZ_TRY(check(H5Dread(dataset, elements.type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
                   "read the values"));
  return elements;
}

}  // namespace homz::hdf5
