// From a field to its layouts: what host and device share of the choice between rows, tiles and cubes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/layout.hpp"
#include "core/field.hpp"

namespace homz::cuszp {

// Extents that a layout of `dim` dimensions lacks are 1; those that it has no room for merge into the
// slowest.
template <unsigned kDim>
Tiles<kDim> tiles_of(const Field& field) {
  std::uint64_t extents[3] = {1, 1, 1};
  for (unsigned i = 0; i < field.rank; ++i) {
    const unsigned from_fastest = field.rank - 1 - i;
    extents[from_fastest < 2 ? 2 - from_fastest : 0] *= field.extents[i];
  }
  return Tiles<kDim>(extents[0], extents[1], extents[2]);
}

// Calls f(layout, T{}) for the field in blocks of `dim` dimensions.
template <class F>
auto with_layout(const Field& given, const Plan& plan, unsigned dim, F&& f) {
  const Field field = given.without_unit_extents();
  return with_dtype(field.dtype, [&](auto zero) {
    if (dim == 2) return f(tiles_of<2>(field), zero);
    if (dim == 3) return f(tiles_of<3>(field), zero);
    return f(Line(field.count(), !plan.v1), zero);
  });
}

// The dimensions that a plan leaves open: [first, last].
struct Dims {
  unsigned first, last;

  Dims(const Field& field, const Plan& plan)
      : first(std::max(1u, plan.dim)),
        last(plan.dim != 0 ? plan.dim : std::min<unsigned>(3, field.without_unit_extents().rank)) {}
};

}  // namespace homz::cuszp
