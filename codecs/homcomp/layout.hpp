// How a field is cut into chunks, and where the parts of a payload stand. spec.md, "Chunks" and "Payload".
#pragma once

#include <algorithm>
#include <cstdint>

#include "codecs/homcomp/block_math.hpp"
#include "core/field.hpp"

namespace homz::homcomp {

inline constexpr unsigned kChunk = 4096;              // values, at most
inline constexpr unsigned kBlocks = kChunk / kBlock;  // of a chunk
inline constexpr unsigned kGroup = 64;                // chunks
inline constexpr unsigned kAxes = 4;  // w, z, y, x: slowest first, those that a field lacks are 1

// The part of an array that a chunk covers. Its values are numbered row-major within it.
struct Box {
  std::uint64_t first = 0;            // position of its first value in the array
  std::uint64_t strides[kAxes] = {};  // in values
  std::uint32_t extents[kAxes] = {};

  unsigned row() const { return extents[3]; }
  unsigned plane() const { return extents[2] * extents[3]; }
  unsigned slab() const { return extents[1] * plane(); }
  unsigned count() const { return extents[0] * slab(); }

  // The same box as an array of its own.
  Box alone() const {
    Box dense = *this;
    dense.first = 0;
    dense.strides[0] = slab();
    dense.strides[1] = plane();
    dense.strides[2] = row();
    return dense;
  }
};

class Grid {
 public:
  // `dim` of the field's last extents are cut; those in front of them merge into w (or x, if dim is 1).
  Grid(const Field& field, unsigned dim) : dim_(dim) {
    const unsigned whole = dim == 1 ? field.rank : field.rank - dim;
    for (unsigned i = 0; i < whole; ++i) extents_[dim == 1 ? 3 : 0] *= field.extents[i];
    for (unsigned i = whole; i < field.rank; ++i) extents_[kAxes - field.rank + i] = field.extents[i];
    if (dim == 1) sides_[3] = kChunk;
    if (dim == 2) sides_[2] = sides_[3] = 64;
    if (dim == 3) sides_[1] = sides_[2] = sides_[3] = 16;
    fit_sides();
    for (unsigned axis = 0; axis < kAxes; ++axis) counts_[axis] = ceil_div(extents_[axis], sides_[axis]);
  }

  unsigned dim() const { return dim_; }
  std::uint64_t chunks() const { return counts_[0] * counts_[1] * counts_[2] * counts_[3]; }
  std::uint64_t extent(unsigned axis) const { return extents_[axis]; }
  std::uint64_t side(unsigned axis) const { return sides_[axis]; }
  std::uint64_t count(unsigned axis) const { return counts_[axis]; }  // of chunks
  std::uint64_t stride(unsigned axis) const { return axis == 3 ? 1 : extents_[axis + 1] * stride(axis + 1); }

  Box box(std::uint64_t chunk) const {
    Box box;
    for (unsigned axis = kAxes; axis-- > 0; chunk /= counts_[axis]) {
      const std::uint64_t start = chunk % counts_[axis] * sides_[axis];
      box.strides[axis] = stride(axis);
      box.extents[axis] = static_cast<std::uint32_t>(std::min(sides_[axis], extents_[axis] - start));
      box.first += start * box.strides[axis];
    }
    return box;
  }

  // Values in the chunks in front of this one.
  std::uint64_t values_before(std::uint64_t chunk) const {
    std::uint64_t values = 0, inner = 1;  // inner: chunks of one step along the axis
    for (unsigned axis = 1; axis < kAxes; ++axis) inner *= counts_[axis];
    std::uint64_t across = 1;  // the extents of the box along the axes done
    for (unsigned axis = 0; axis < kAxes; ++axis) {
      const std::uint64_t index = chunk / inner % counts_[axis];
      const std::uint64_t start = std::min(index * sides_[axis], extents_[axis]);
      values += across * start * stride(axis);
      across *= std::min(sides_[axis], extents_[axis] - start);
      if (axis + 1 < kAxes) inner /= counts_[axis + 1];
    }
    return values;
  }

 private:
  // While an extent is at most half its side, that side is halved and the side of the fastest axis that is
  // longer than its side is doubled, if there is one.
  void fit_sides() {
    for (unsigned axis = 0; axis < kAxes; ++axis)
      while (sides_[axis] > 1 && 2 * extents_[axis] <= sides_[axis]) {
        sides_[axis] /= 2;
        for (unsigned other = kAxes; other-- > 0;)
          if (extents_[other] > sides_[other]) {
            sides_[other] *= 2;
            break;
          }
      }
  }

  unsigned dim_;
  std::uint64_t extents_[kAxes] = {1, 1, 1, 1};
  std::uint64_t sides_[kAxes] = {1, 1, 1, 1};
  std::uint64_t counts_[kAxes] = {};
};

// The parts of a payload, as offsets in bytes: prologue, a row a group of chunks, a size a chunk, chunk data.
struct Layout {
  static constexpr std::uint64_t kStepAt = 0, kTableChecksumAt = 8, kTable = 16;  // of the prologue
  static constexpr std::uint64_t kRow = 16, kRowChecksumAt = 8;                   // of the table

  explicit Layout(std::uint64_t chunk_count)
      : chunks(chunk_count),
        groups(ceil_div<std::uint64_t>(chunk_count, kGroup)),
        sizes(kTable + kRow * groups),
        data(sizes + ceil_div<std::uint64_t>(2 * chunk_count, 8) * 8) {}

  std::uint64_t chunks, groups;
  std::uint64_t sizes;  // u16 a chunk, in words; 0: raw
  std::uint64_t data;   // the first chunk

  std::uint64_t row(std::uint64_t group) const { return kTable + kRow * group; }
  std::uint64_t size(std::uint64_t chunk) const { return sizes + 2 * chunk; }
  std::uint64_t group_end(std::uint64_t group) const { return std::min((group + 1) * kGroup, chunks); }
};

// The first bytes of a chunk that is not raw.
struct ChunkHead {
  static constexpr unsigned kBytes = 4;
  static constexpr std::uint8_t kOrderX = 3, kOrderY = 4, kOrderZ = 8, kHasBase = 16, kElseFill = 32;
  static constexpr unsigned kCodeGroup = 8;  // blocks whose codes share a bit of `top`
  static constexpr unsigned kMaxRange = 30;  // bit width of the largest abs(quantum)
  static constexpr unsigned kMax = kBytes + 4 + kBlocks / 8 + kBlocks;  // with base, bitmaps and codes
};

// Orders of the differences along each axis, and what is subtracted in front of them.
struct Orders {
  unsigned x = 0, y = 0, z = 0;
  std::int32_t base = 0;

  // The first difference that is taken has `base` in front of the first value, all others 0; so subtracting
  // it costs no pass of its own.
  std::int32_t front_z() const { return z != 0 ? base : 0; }
  std::int32_t front_y() const { return y != 0 && z == 0 ? base : 0; }
  std::int32_t front_x() const { return x != 0 && y == 0 && z == 0 ? base : 0; }
  std::int32_t offset() const { return x + y + z == 0 ? base : 0; }  // subtracted everywhere
};

}  // namespace homz::homcomp
