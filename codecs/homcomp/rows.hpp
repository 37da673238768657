// The rows of a box: where they lie in its array, and where they begin among the blocks.
#pragma once

#include <cstring>

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

// Walks the values of a box in their order, by runs that are contiguous in the array.
class Cursor {
 public:
  explicit Cursor(const Box& box) : box_(box), row_(box.first) {}

  std::uint64_t at() const { return row_ + x_; }
  unsigned left() const { return box_.row() - x_; }  // of the row
  void advance(unsigned count) {                     // at most left()
    x_ += count;
    if (x_ == box_.row()) next_row();
  }

 private:
  void next_row() {
    x_ = 0;
    row_ += box_.strides[2];
    if (++y_ < box_.extents[2]) return;
    y_ = 0;
    row_ += box_.strides[1] - box_.extents[2] * box_.strides[2];
    if (++z_ < box_.extents[1]) return;
    z_ = 0;
    row_ += box_.strides[0] - box_.extents[1] * box_.strides[1];
  }

  const Box& box_;
  std::uint64_t row_;
  unsigned x_ = 0, y_ = 0, z_ = 0;
};

// Tells, block by block, which positions are the first of a row, and which the second.
class RowStarts {
 public:
  explicit RowStarts(unsigned row) : row_(row) {}

  void next() {
    seconds_ = row_ == 1 ? 0 : starts_ >> 31;  // of the block before
    starts_ = 0;
    for (; start_ < kBlock; start_ += row_) starts_ |= 1u << start_;
    start_ -= kBlock;
    seconds_ |= (starts_ << 1) & ~starts_;
  }
  bool any() const { return (starts_ | seconds_) != 0; }
  std::uint32_t starts() const { return starts_; }
  std::uint32_t seconds() const { return seconds_; }

 private:
  unsigned row_, start_ = 0;
  std::uint32_t starts_ = 0, seconds_ = 0;
};

template <class T>
void copy_values(std::byte* to, const std::byte* from, unsigned count) {
  if (count == 16)  // of full 3D chunks: a copy of constant size
    std::memcpy(to, from, 16 * sizeof(T));
  else
    std::memcpy(to, from, count * sizeof(T));
}

}  // namespace homz::homcomp
