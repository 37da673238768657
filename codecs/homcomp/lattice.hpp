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
    const unsigned row = position / row_, plane = row / rows_, slab = plane / planes_;
    return first() + position + plane * row_gap_ + slab * plane_gap_;
  }

 private:
  unsigned row_, rows_, planes_;
  unsigned row_gap_, plane_, plane_gap_;
};

// Walks the planes of a chunk in order.
class PlaneWalk {
 public:
  PlaneWalk(const Box& box, const Lattice& lattice)
      : box_(box), lattice_(lattice), count_(box.count()), data_(box.first), index_(lattice.first()) {}

  bool is_done() const { return position_ == count_; }
  unsigned position() const { return position_; }  // of its first value in the chunk
  std::uint64_t data() const { return data_; }     // in the array
  unsigned index() const { return index_; }        // in the lattice
  unsigned z() const { return z_; }

  void next() {
    position_ += box_.plane();
    data_ += box_.strides[1];
    index_ += lattice_.plane();
    if (++z_ != box_.extents[1]) return;
    z_ = 0;
    data_ += box_.strides[0] - box_.extents[1] * box_.strides[1];
    index_ += lattice_.plane_gap();
  }

 private:
  friend class RowWalk;
  const Box& box_;
  const Lattice& lattice_;
  const unsigned count_;
  unsigned position_ = 0, z_ = 0;
  std::uint64_t data_;
  unsigned index_;
};

// Walks the rows of a chunk in order, or those of one plane.
class RowWalk {
 public:
  RowWalk(const Box& box, const Lattice& lattice) : RowWalk(PlaneWalk(box, lattice)) {}
  explicit RowWalk(const PlaneWalk& plane)
      : plane_(plane), position_(plane.position()), data_(plane.data()), index_(plane.index()) {}

  bool is_done() const { return plane_.is_done(); }
  bool is_in_plane() const { return is_in_plane_; }  // that it began with
  unsigned position() const { return position_; }
  std::uint64_t data() const { return data_; }
  unsigned index() const { return index_; }
  unsigned y() const { return y_; }
  unsigned z() const { return plane_.z(); }

  void next() {
    const Box& box = plane_.box_;
    position_ += box.row();
    if (++y_ != box.extents[2]) {
      data_ += box.strides[2];
      index_ += plane_.lattice_.pitch();
      return;
    }
    y_ = 0;
    is_in_plane_ = false;
    plane_.next();
    data_ = plane_.data();
    index_ = plane_.index();
  }

 private:
  PlaneWalk plane_;
  unsigned position_, y_ = 0;
  bool is_in_plane_ = true;
  std::uint64_t data_;
  unsigned index_;
};

}  // namespace homz::homcomp
