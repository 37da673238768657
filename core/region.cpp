#include "core/region.hpp"

#include <fmt/format.h>

#include <cstring>

namespace homz {

Result<Field> field_of(const Region& region, const Field& field) {
  for (unsigned axis = 0; axis < Field::kMaxRank; ++axis) {
    const std::uint64_t extent = axis < field.rank ? field.extents[axis] : 0;
    if (region.first[axis] <= extent && region.extents[axis] <= extent - region.first[axis]) continue;
    return Status(Code::invalid_argument,
                  fmt::format("a region of {} indices from {} on along extent {} of a field of shape {}",
                              region.extents[axis], region.first[axis], axis, field.shape_text()));
  }
  return Field{field.dtype, field.rank, region.extents};
}

Region without_unit_extents(const Region& region, const Field& field) {
  Region reduced;
  unsigned kept = 0;
  for (unsigned axis = 0; axis < field.rank; ++axis) {
    if (field.extents[axis] == 1) continue;
    reduced.first[kept] = region.first[axis];
    reduced.extents[kept++] = region.extents[axis];
  }
  if (kept == 0) reduced.extents[0] = 1;
  return reduced;
}

void copy_region(const Region& region, const Field& field, ConstBytes data, Bytes part) {
  if (part.empty()) return;
  const std::uint64_t size = size_of(field.dtype);
  const unsigned last = field.rank - 1u;
  const std::uint64_t run = region.extents[last] * size;
  std::array<std::uint64_t, Field::kMaxRank> index{};
  for (std::uint64_t to = 0; to < part.size(); to += run) {
    std::uint64_t from = 0;
    for (unsigned axis = 0; axis <= last; ++axis)
      from = from * field.extents[axis] + region.first[axis] + (axis < last ? index[axis] : 0);
    std::memcpy(part.data() + to, data.data() + from * size, run);
    for (unsigned axis = last; axis-- > 0;) {
      if (++index[axis] < region.extents[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace homz
