// A box of chunks of a grid, as numbers along each axis.
#pragma once

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

class ChunkRange {
 public:
  explicit ChunkRange(const Grid& grid) : chunks_(grid.chunks()) {
    for (unsigned axis = 0; axis < kAxes; ++axis) counts_[axis] = grid.count(axis);
  }

  // Chunks low to high, both included, of those along an axis.
  void limit(unsigned axis, std::uint64_t low, std::uint64_t high) {
    low_[axis] = low;
    high_[axis] = high;
  }

  std::uint64_t first() const { return number_of(low_); }
  std::uint64_t last() const { return number_of(high_); }

  // The first chunk of the range that is not in front of `chunk`; the number of all chunks, if there is none.
  std::uint64_t at_or_behind(std::uint64_t chunk) const {
    if (chunk >= chunks_) return chunks_;
    std::uint64_t at[kAxes];
    for (unsigned axis = kAxes; axis-- > 0; chunk /= counts_[axis]) at[axis] = chunk % counts_[axis];
    unsigned axis = 0;
    while (axis < kAxes && low_[axis] <= at[axis] && at[axis] <= high_[axis]) ++axis;
    if (axis == kAxes) return number_of(at);
    if (at[axis] > high_[axis]) {  // on to the next along a slower axis
      while (axis > 0 && at[axis - 1] == high_[axis - 1]) --axis;
      if (axis == 0) return chunks_;
      ++at[axis - 1];
    }
    for (; axis < kAxes; ++axis) at[axis] = low_[axis];
    return number_of(at);
  }

 private:
  std::uint64_t number_of(const std::uint64_t (&at)[kAxes]) const {
    std::uint64_t number = 0;
    for (unsigned axis = 0; axis < kAxes; ++axis) number = number * counts_[axis] + at[axis];
    return number;
  }

  std::uint64_t chunks_, counts_[kAxes], low_[kAxes] = {}, high_[kAxes] = {};
};

}  // namespace homz::homcomp
