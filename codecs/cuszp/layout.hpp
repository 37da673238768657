// Where the values of each block lie in the array: in a row (1D), in 8x8 tiles (2D) or in 4x4x4 cubes (3D).
// spec.md here and in codecs/cuszp2, "Layout in ...", is normative.
//
// A layout numbers coded positions: position p is value p mod kValues of block p / kValues. Every element of
// the array is owned by one position, which is where the decoder takes it from and where the exception list
// names it.
#pragma once

#include <cstdint>

#include "codecs/cuszp/block_math.hpp"
#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz::cuszp {

// The elements of one block, in runs of neighbours.
template <unsigned kDim>
struct Place {
  static constexpr unsigned kRuns = kDim == 1 ? 1 : 16;
  static constexpr unsigned kRun = Block<kDim>::kValues / kRuns;

  std::uint64_t first[kRuns] = {};  // element of each run's first value; the run may reach past the array
  std::uint64_t coded = 0;          // bit p: position p has a value in the payload
  std::uint64_t owned = 0;          // bit p: position p owns its element; such positions lie inside the array

  HOMZ_HD std::uint64_t element(unsigned position) const { return first[position / kRun] + position % kRun; }
};

HOMZ_HD constexpr std::uint64_t low_bits(std::uint64_t count) {
  return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
}

class Line {
 public:
  static constexpr unsigned kDim = 1;
  Line() = default;

  // `padded`: the metadata region is padded with zeros for whole groups of 1024 blocks (V2 and V3).
  HOMZ_HD Line(std::uint64_t count, bool padded) : count_(count), padded_(padded) {}

  HOMZ_HD bool padded() const { return padded_; }
  HOMZ_HD std::uint64_t count() const { return count_; }
  HOMZ_HD std::uint64_t blocks() const { return ceil_div<std::uint64_t>(count_, 32); }
  HOMZ_HD std::uint64_t places() const { return blocks(); }
  HOMZ_HD std::uint64_t positions() const { return count_; }
  HOMZ_HD std::uint64_t metadata_bytes() const {
    return padded_ ? 1024 * ceil_div<std::uint64_t>(count_, 32768) : blocks();
  }
  static constexpr bool kPadIsZero = true;

  HOMZ_HD Place<1> place(std::uint64_t block) const {
    const std::uint64_t inside = low_bits(count_ - 32 * block < 32 ? count_ - 32 * block : 32);
    return Place<1>{{32 * block}, inside, inside};
  }

 private:
  std::uint64_t count_ = 0;
  bool padded_ = false;
};

// Tiles and cubes are made of quads of four values. Quads are aligned in the array: in a row that starts s
// elements behind a multiple of 4 they begin s elements early. So quads of neighbouring rows can share
// elements, and up to two elements at the end of the array can be in none.
template <unsigned kTileDim>
class Tiles {
 public:
  static constexpr unsigned kDim = kTileDim;
  Tiles() = default;
  static constexpr bool kPadIsZero = false;  // upstream leaves the padding as it finds it

  HOMZ_HD Tiles(std::uint64_t dz, std::uint64_t dy, std::uint64_t dx)
      : dz_(dz),
        dy_(dy),
        dx_(dx),
        tiles_y_(ceil_div(dy, kSide)),
        tiles_x_(ceil_div(dx, kSide)),
        blocks_(ceil_div(dz, kDepth) * tiles_y_ * tiles_x_),
        inverse_y_(inverse(tiles_y_)),
        inverse_x_(inverse(tiles_x_)) {}

  HOMZ_HD std::uint64_t count() const { return dz_ * dy_ * dx_; }
  HOMZ_HD std::uint64_t blocks() const { return blocks_; }
  // The elements in no quad have positions behind the blocks, as if they were in a last block of zeros.
  HOMZ_HD std::uint64_t places() const { return blocks() + (tail() != 0); }
  HOMZ_HD std::uint64_t positions() const { return 64 * blocks() + tail(); }
  HOMZ_HD std::uint64_t metadata_bytes() const { return (blocks() + 3) / 4 * 4; }

  HOMZ_HD Place<kDim> place(std::uint64_t block) const {
    Place<kDim> place;
    if (block == blocks()) {
      place.first[0] = count() - tail();
      place.owned = low_bits(tail());
      return place;
    }
    const Corner at = corner(block);
    if (is_inside(at.z, at.y, at.x)) {
      place_inside(at.z, at.y, at.x, place);
      return place;
    }
    for (unsigned quad = 0; quad < 16; ++quad) {
      const std::uint64_t x = at.x + quad * 4 % kSide;
      const std::uint64_t y = at.y + quad * 4 / kSide % kSide;
      const std::uint64_t z = at.z + quad * 4 / (kSide * kSide);
      if (z < dz_ && y < dy_ && x < dx_) place_quad(quad, x, (z * dy_ + y) * dx_, place);
    }
    return place;
  }

  // Where a block begins, in the field's own axes.
  struct Corner {
    std::uint64_t x, y, z;
  };
  HOMZ_HD Corner corner(std::uint64_t block) const {
    if ((blocks() | tiles_x_ | tiles_y_) >> 32 != 0)
      return {block % tiles_x_ * kSide, block / tiles_x_ % tiles_y_ * kSide,
              block / tiles_x_ / tiles_y_ * kDepth};
    const auto b = static_cast<std::uint32_t>(block), nx = static_cast<std::uint32_t>(tiles_x_),
               ny = static_cast<std::uint32_t>(tiles_y_);  // division is slow where it matters
    const std::uint32_t row = divide(b, nx, inverse_x_), slice = divide(row, ny, inverse_y_);
    return {(b - row * nx) * kSide, (row - slice * ny) * kSide, slice * kDepth};
  }

  // The first element of the quad of column x in the row that starts at element `row_start`, and whether the
  // quad owns its elements.
  struct Quad {
    std::uint64_t first;
    bool owner;
  };
  HOMZ_HD Quad quad(std::uint64_t x, std::uint64_t row_start) const {
    // A row whose quads reach into the next one has the elements of that row's first quad already.
    const bool shared = x == 0 && row_start != 0 && overhang(row_start - dx_) > 0;
    return {(row_start + x) / 4 * 4, !shared};
  }

  HOMZ_HD std::uint64_t dz() const { return dz_; }
  HOMZ_HD std::uint64_t dy() const { return dy_; }
  HOMZ_HD std::uint64_t dx() const { return dx_; }
  HOMZ_HD std::uint64_t tail() const {
    if (count() == 0) return 0;
    const int reach = overhang(count() - dx_);
    return reach < 0 ? static_cast<std::uint64_t>(-reach) : 0;
  }

 private:
  static constexpr std::uint64_t kSide = kDim == 2 ? 8 : 4;
  static constexpr std::uint64_t kDepth = kDim == 2 ? 1 : 4;
  static constexpr unsigned kQuads = kSide / 4;  // of a row

  // Whether all values of a block exist and are its own, as of nearly all in a large field.
  HOMZ_HD bool is_inside(std::uint64_t z0, std::uint64_t y0, std::uint64_t x0) const {
    return z0 + kDepth <= dz_ && y0 + kSide <= dy_ && x0 + kSide <= dx_ && (x0 != 0 || dx_ % 4 == 0);
  }
  HOMZ_HD void place_inside(std::uint64_t z0, std::uint64_t y0, std::uint64_t x0, Place<kDim>& place) const {
    place.coded = place.owned = ~std::uint64_t{0};
    for (unsigned row = 0; row < 16 / kQuads; ++row) {
      const std::uint64_t start = ((z0 + row / kSide) * dy_ + y0 + row % kSide) * dx_ + x0;
      for (unsigned quad = 0; quad < kQuads; ++quad)
        place.first[kQuads * row + quad] = start / 4 * 4 + 4 * quad;
    }
  }

  // By a product with the inverse, which is too small by at most 1.
  HOMZ_HD static constexpr std::uint32_t inverse(std::uint64_t divisor) {
    return divisor == 0 ? 0 : static_cast<std::uint32_t>(0xffffffffu / divisor);
  }
  HOMZ_HD static constexpr std::uint32_t divide(std::uint32_t number, std::uint32_t by,
                                                std::uint32_t inverse) {
    const auto near = static_cast<std::uint32_t>(std::uint64_t{number} * inverse >> 32);
    return number - near * by >= by ? near + 1 : near;
  }

  // How far the quads of the row at `row_start` reach past the row (or, negative, fall short of it).
  HOMZ_HD int overhang(std::uint64_t row_start) const {
    return static_cast<int>((4 - dx_ % 4) % 4) - static_cast<int>(row_start % 4);
  }
  HOMZ_HD void place_quad(unsigned quad, std::uint64_t x, std::uint64_t row_start, Place<kDim>& place) const {
    const Quad at = this->quad(x, row_start);
    place.first[quad] = at.first;
    place.coded |= std::uint64_t{0xf} << 4 * quad;
    const std::uint64_t inside = count() - at.first;
    if (at.owner) place.owned |= low_bits(inside < 4 ? inside : 4) << 4 * quad;
  }

  std::uint64_t dz_ = 0, dy_ = 0, dx_ = 0, tiles_y_ = 0, tiles_x_ = 0, blocks_ = 0;
  std::uint32_t inverse_y_ = 0, inverse_x_ = 0;
};

}  // namespace homz::cuszp
