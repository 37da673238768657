#include "core/region.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "core/text.hpp"

namespace homz {
namespace {

// One part of a region's text along an extent: the first index and the one behind the last.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view text,
                                                                   std::uint64_t extent) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) {
    const auto index = parse_unsigned(text);
    if (!index.ok() || *index == UINT64_MAX) return std::nullopt;
    return std::pair(*index, *index + 1);
  }
  const std::string_view first = text.substr(0, colon), end = text.substr(colon + 1);
  const Result<std::uint64_t> a = first.empty() ? 0 : parse_unsigned(first);
  const Result<std::uint64_t> b = end.empty() ? extent : parse_unsigned(end);
  if (!a.ok() || !b.ok()) return std::nullopt;
  return std::pair(*a, *b);
}

}  // namespace

Result<Region> parse_region(std::string_view text, const Field& field) {
  const auto fail = [&](const std::string& what) {
    return Status(
        Code::invalid_argument,
        fmt::format("region '{}': {}; give first:end, an index or : for each of the {} extents of a "
                    "field of shape {}, as in 0:10,5:50,:",
                    text, what, field.rank, field.shape_text()));
  };
  Region region;
  std::string_view rest = text;
  for (unsigned axis = 0; axis < field.rank; ++axis) {
    const std::size_t comma = rest.find(',');
    if ((comma == rest.npos) != (axis + 1u == field.rank)) return fail("not as many parts as extents");
    const std::string_view part = rest.substr(0, comma);
    const auto range = parse_range(part, field.extents[axis]);
    if (!range) return fail(fmt::format("'{}' is no range of indices", part));
    if (range->first >= range->second || range->second > field.extents[axis])
      return fail(fmt::format("'{}' is empty or leaves the indices 0 to {}", part, field.extents[axis]));
    region.first[axis] = range->first;
    region.extents[axis] = range->second - range->first;
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
  }
  return region;
}

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
