// How the quanta of a chunk lie while it is encoded: with room for what stands in front of them along y and
// z, so that differences need to know no borders.
#pragma once

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

inline constexpr unsigned kShortRow = 16;  // of most chunks with three axes

// A row in front of each plane if planes have more than one; a plane in front of each slab if slabs have more
// than one. Indices count quanta from the start of the buffer.
class Lattice {
 public:
  // In front of it all, and behind it: vectors may be read and written beyond the ends of rows, and residuals
  // be written from the start of the buffer on while the quanta behind them are read.
  static constexpr unsigned kSlack = 16;
  // Planes and slabs that get something in front of them have at least two rows or planes.
  static constexpr unsigned kWords = kChunk * 3 / 2 * 3 / 2 + 2 * kSlack;

  explicit Lattice(const Box& box)
      : row_(box.row()),
        rows_(box.extents[2]),
        planes_(box.extents[1]),
        row_gap_(rows_ > 1 ? row_ : 0),
        plane_(rows_ * row_ + row_gap_),
        plane_gap_(planes_ > 1 ? plane_ : 0) {}

  unsigned pitch() const { return row_; }    // from row to row
  unsigned plane() const { return plane_; }  // from plane to plane
  unsigned row_gap() const { return row_gap_; }
  unsigned plane_gap() const { return plane_gap_; }
  unsigned first() const { return kSlack + plane_gap_ + row_gap_; }

  unsigned index(unsigned position) const {
    const unsigned plane = position / row_ / rows_;
    return index(position, plane, plane / planes_);
  }
  // Of the first value of the plane or row that a walk has come to.
  template <class Walk>
  unsigned index(const Walk& walk) const {
    return index(walk.position(), walk.plane(), walk.slab());
  }

 private:
  unsigned index(unsigned position, unsigned plane, unsigned slab) const {
    return first() + position + plane * row_gap_ + slab * plane_gap_;
  }

  unsigned row_, rows_, planes_;
  unsigned row_gap_, plane_, plane_gap_;
};

}  // namespace homz::homcomp
