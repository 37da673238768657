// The rows of a box: where they lie in its array.
#pragma once

#include <cstring>

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

// Walks the planes of a box in order.
class PlaneWalk {
 public:
  explicit PlaneWalk(const Box& box) : box_(box), count_(box.count()), data_(box.first) {}

  bool is_done() const { return position_ == count_; }
  unsigned position() const { return position_; }  // of its first value in the box
  std::uint64_t data() const { return data_; }     // in the array
  unsigned z() const { return z_; }
  unsigned plane() const { return plane_; }  // planes and slabs in front of it
  unsigned slab() const { return slab_; }

  void next() {
    ++plane_;
    position_ += box_.plane();
    data_ += box_.strides[1];
    if (++z_ != box_.extents[1]) return;
    z_ = 0;
    ++slab_;
    data_ += box_.strides[0] - box_.extents[1] * box_.strides[1];
  }

 private:
  friend class RowWalk;
  const Box& box_;
  const unsigned count_;
  unsigned position_ = 0, z_ = 0, plane_ = 0, slab_ = 0;
  std::uint64_t data_;
};

// Walks the rows of a box in order, or those of one plane.
class RowWalk {
 public:
  explicit RowWalk(const Box& box) : RowWalk(PlaneWalk(box)) {}
  explicit RowWalk(const PlaneWalk& plane)
      : plane_(plane), position_(plane.position()), data_(plane.data()) {}

  bool is_done() const { return plane_.is_done(); }
  bool is_in_plane() const { return is_in_plane_; }  // that it began with
  unsigned position() const { return position_; }
  std::uint64_t data() const { return data_; }
  unsigned y() const { return y_; }
  unsigned z() const { return plane_.z(); }
  unsigned plane() const { return plane_.plane(); }
  unsigned slab() const { return plane_.slab(); }

  void next() {
    const Box& box = plane_.box_;
    position_ += box.row();
    data_ += box.strides[2];
    if (++y_ != box.extents[2]) return;
    y_ = 0;
    is_in_plane_ = false;
    plane_.next();
    data_ = plane_.data();
  }

 private:
  PlaneWalk plane_;
  unsigned position_, y_ = 0;
  bool is_in_plane_ = true;
  std::uint64_t data_;
};

// Walks the values of a box in their order, by runs that are contiguous in the array.
class Cursor {
 public:
  explicit Cursor(const Box& box)
      : row_(box.first),
        length_(box.row()),
        rows_(box.extents[2]),
        planes_(box.extents[1]),
        next_row_(box.strides[2]),
        next_plane_(box.strides[1] - rows_ * box.strides[2]),
        next_slab_(box.strides[0] - planes_ * box.strides[1]) {}

  std::uint64_t at() const { return row_ + x_; }
  unsigned left() const { return length_ - x_; }  // of the row
  void advance(unsigned count) {                  // at most left()
    x_ += count;
    if (x_ != length_) return;
    x_ = 0;
    row_ += next_row_;
    if (++y_ != rows_) return;
    y_ = 0;
    row_ += next_plane_;
    if (++z_ != planes_) return;
    z_ = 0;
    row_ += next_slab_;
  }

 private:
  std::uint64_t row_;
  unsigned length_, rows_, planes_;
  std::uint64_t next_row_, next_plane_, next_slab_;
  unsigned x_ = 0, y_ = 0, z_ = 0;
};

// Brings the values of a box into the cache, a block at a time, while others are worked on: processors do not
// foresee what comes after a chunk, or that its rows lie far apart.
template <class T, bool kToWrite>
class Prefetcher {
 public:
  Prefetcher(const Box& box, const std::byte* data)
      : cursor_(box),
        left_(box.count()),
        is_row_(box.row() == left_),
        data_(data),
        at_(data + cursor_.at() * sizeof(T)) {}

  void next_block() {
    if (is_row_ && left_ >= kBlock) {
      left_ -= kBlock;
      for (unsigned i = 0; i < kBlock * sizeof(T); i += kLine) __builtin_prefetch(at_ + i, kToWrite, 2);
      at_ += kBlock * sizeof(T);
    } else if (left_ != 0 && !is_row_) {
      next_rows();
    }
  }

 private:
  static constexpr unsigned kLine = 64;  // bytes

  void next_rows() {
    for (unsigned need = std::min(kBlock, left_); need != 0;) {
      const unsigned piece = std::min(need, cursor_.left());
      const std::byte* const from = data_ + cursor_.at() * sizeof(T);
      const std::byte* const end = from + piece * sizeof(T);
      for (const std::byte* line = from; line < end; line += kLine) __builtin_prefetch(line, kToWrite, 2);
      __builtin_prefetch(end - 1, kToWrite, 2);
      need -= piece;
      left_ -= piece;
      cursor_.advance(piece);
    }
  }

  Cursor cursor_;
  unsigned left_;
  bool is_row_;
  const std::byte* data_;
  const std::byte* at_;
};

}  // namespace homz::homcomp
