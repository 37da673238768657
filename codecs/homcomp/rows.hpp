// The rows of a box: where they lie in its array, and where they begin among the blocks.
#pragma once

#include <cstring>

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

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
