#include "core/field.hpp"

#include <fmt/format.h>

namespace homz {

Result<Field> Field::make(Dtype dtype, std::span<const std::uint64_t> extents) {
  if (dtype != Dtype::f32 && dtype != Dtype::f64)
    return Status(Code::invalid_argument, fmt::format("unknown element type {}", static_cast<int>(dtype)));
  if (extents.empty() || extents.size() > kMaxRank)
    return Status(Code::invalid_argument,
                  fmt::format("a field has 1 to {} extents, not {}", kMaxRank, extents.size()));
  Field field{dtype, static_cast<std::uint8_t>(extents.size()), {}};
  std::uint64_t bytes = size_of(dtype);
  bool empty = false;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    field.extents[i] = extents[i];
    empty = empty || extents[i] == 0;
  }
  if (empty) return field;
  for (const std::uint64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes >> 63 != 0)
      return Status(Code::invalid_argument,
                    fmt::format("shape {} of {} overflows 2^63 bytes", field.shape_text(), to_string(dtype)));
  return field;
}

Field Field::without_unit_extents() const noexcept {
  Field kept{dtype, 0, {}};
  for (unsigned i = 0; i < rank && i < kMaxRank; ++i)
    if (extents[i] != 1) kept.extents[kept.rank++] = extents[i];
  return kept.rank == 0 ? flat(dtype, count()) : kept;
}

std::string Field::shape_text() const {
  std::string text;
  for (unsigned i = 0; i < rank; ++i) {
    if (i != 0) text += 'x';
    text += std::to_string(extents[i]);
  }
  return text;
}

}  // namespace homz
