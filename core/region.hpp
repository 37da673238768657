// A rectangular part of a field.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

// For each extent of the field: the first index and the number of indices. Entries past the field's rank are
// 0.
struct Region {
  std::array<std::uint64_t, Field::kMaxRank> first{};
  std::array<std::uint64_t, Field::kMaxRank> extents{};

  static Region whole(const Field& field) { return Region{{}, field.extents}; }
  friend bool operator==(const Region&, const Region&) = default;
};

// Reads a region as "0:10,5:50,:": for each extent, slowest first, first:end (end excluded), first: or :end
// or : for what reaches to the border, or a single index. Errors: invalid_argument, for what is no region, or
// empty, or does not lie in the field.
Result<Region> parse_region(std::string_view text, const Field& field);

// The region's values as a field of their own. Errors: invalid_argument, if it does not lie in the field.
Result<Field> field_of(const Region& region, const Field& field);

// The same region of field.without_unit_extents(). Precondition of this and the next: it lies in the field
// and is not empty.
Region without_unit_extents(const Region& region, const Field& field);

// Copies the region out of the field's data.
void copy_region(const Region& region, const Field& field, ConstBytes data, Bytes part);

}  // namespace homz
