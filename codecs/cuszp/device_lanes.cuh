// Blocks in the lanes of a warp. Eight lanes, a group, hold 32 neighbouring positions: lane l of them the
// positions 8 c + (l xor 7), c = 0..3. A block is one group, or two in tiles and cubes; a warp holds four
// groups at a time, a round. This is how exceptions are listed and how fields are read and written where not
// all of a block is in them; whole blocks are coded by one thread or two (device_group.cuh).
#pragma once

#include <cstdint>

#include "codecs/cuszp/block_math.hpp"
#include "codecs/cuszp/layout.hpp"
#include "core/bits.hpp"
#include "core/bound_check.hpp"

namespace homz::cuszp {

inline constexpr unsigned kGroup = 32;                // positions
inline constexpr unsigned kRounds = 8;                // of a warp
inline constexpr unsigned kWarpGroups = 4 * kRounds;  // and positions: 1024
inline constexpr unsigned kTileWarps = 8;             // warps of a thread block, which codes a tile
inline constexpr unsigned kTileGroups = kTileWarps * kWarpGroups;
inline constexpr unsigned kTile = kTileGroups * kGroup;  // positions
inline constexpr unsigned kTileThreads = 32 * kTileWarps;

template <unsigned kDim>
struct LayoutOf {
  using Type = Tiles<kDim>;
};
template <>
struct LayoutOf<1> {
  using Type = Line;
};

// A lane and the positions it holds.
struct Lane {
  unsigned id, group, column;  // of the warp; of the round; of a row of eight

  __device__ Lane() : id(threadIdx.x % 32), group(id / 8), column(id % 8 ^ 7) {}
  // The lane of the same group that holds another column.
  __device__ unsigned holder(unsigned other) const { return (id & 24) | (other ^ 7); }
};

// The bits of four positions of each lane as the 32 bits of the group's positions.
__device__ __forceinline__ std::uint32_t gather_bits(const Lane& lane, const bool (&bits)[4]) {
  std::uint32_t word = 0;
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned all = __ballot_sync(~0u, bits[c]);
    word |= (all >> 8 * lane.group & 0xff) << 8 * c;
  }
  return __byte_perm(__brev(word), 0, 0x0123);
}

// The predictors' values for the values in the lanes; 0 for position 0.
template <unsigned kDim>
__device__ __forceinline__ void predict(const Lane& lane, const std::uint32_t (&of)[4],
                                        std::uint32_t (&predicted)[4]) {
  const unsigned left = lane.holder((lane.column + 7) % 8);  // of column 0: column 7
  if constexpr (kDim == 1) {
    for (unsigned c = 0; c < 4; ++c) predicted[c] = __shfl_sync(~0u, of[c], left);
    if (lane.column == 0) {
      for (unsigned c = 3; c > 0; --c) predicted[c] = predicted[c - 1];
      predicted[0] = 0;
    }
  } else if constexpr (kDim == 2) {
    for (unsigned c = 0; c < 4; ++c) predicted[c] = __shfl_sync(~0u, of[c], left);
    const std::uint32_t above = __shfl_up_sync(~0u, of[3], 8);
    if (lane.column == 0) {
      for (unsigned c = 3; c > 0; --c) predicted[c] = of[c - 1];
      predicted[0] = lane.group % 2 == 0 ? 0 : above;
    }
  } else {
    const unsigned source = lane.column == 4 ? lane.holder(0) : left;
    for (unsigned c = 0; c < 4; ++c) predicted[c] = __shfl_sync(~0u, of[c], source);
    // Row 2 of a slice follows row 1, whose head is in column 4; slices follow slices.
    const std::uint32_t row1[2] = {__shfl_sync(~0u, of[0], lane.holder(4)),
                                   __shfl_sync(~0u, of[2], lane.holder(4))};
    const std::uint32_t below = __shfl_up_sync(~0u, of[2], 8);
    if (lane.column == 0) {
      predicted[0] = lane.group % 2 == 0 ? 0 : below;
      predicted[1] = row1[0];
      predicted[2] = of[0];
      predicted[3] = row1[1];
    }
  }
}

// Where the elements of a group are. Blocks of tiles and cubes are located once by divisions; the rest is
// additions.
template <unsigned kDim>
struct GroupPlace {
  std::uint64_t row = 0, x = 0;        // first element of the block's first row, and its column in it
  std::uint32_t rows = 0, slices = 0;  // of the block inside the field; rows is 0 outside
  bool whole = false;                  // all quads are there, and begin where their positions do

  GroupPlace() = default;
  __device__ GroupPlace(const Tiles<kDim>& layout, std::uint64_t block) {
    if (block >= layout.blocks()) {
      rows = block == layout.blocks() && layout.tail() != 0 ? kTailMark : 0;
      return;
    }
    const auto at = layout.corner(block);
    x = at.x;
    row = (at.z * layout.dy() + at.y) * layout.dx();
    rows = static_cast<std::uint32_t>(layout.dy() - at.y < 8 ? layout.dy() - at.y : 8);
    slices = static_cast<std::uint32_t>(layout.dz() - at.z < 4 ? layout.dz() - at.z : 4);
    whole = layout.dx() % 4 == 0 && rows >= (kDim == 2 ? 8 : 4) && (kDim == 2 || slices == 4) &&
            layout.dx() - x >= (kDim == 2 ? 8 : 4);
  }
  static constexpr std::uint32_t kTailMark = 99;

  __device__ GroupPlace from_lane(unsigned lane) const {
    GroupPlace place;
    place.row = __shfl_sync(~0u, row, lane);
    place.x = __shfl_sync(~0u, x, lane);
    const std::uint32_t both = __shfl_sync(~0u, rows | slices << 8, lane);
    place.rows = both & 0xff;
    place.slices = both >> 8;
    return place;
  }
};

// The elements of one lane's four positions.
struct Elements {
  std::uint64_t at[4];
  unsigned coded = 0, owned = 0;  // a bit each
};

__device__ __forceinline__ Elements elements_of(const Lane& lane, const Line& layout, std::uint64_t group) {
  Elements e;
  const std::uint64_t first = kGroup * group + lane.column, count = layout.count();
  for (unsigned c = 0; c < 4; ++c) {
    const bool inside = first + 8 * c < count;
    e.at[c] = inside ? first + 8 * c : count - 1;
    e.coded |= unsigned{inside} << c;
  }
  e.owned = e.coded;
  return e;
}

template <unsigned kDim>
__device__ __forceinline__ Elements elements_of(const Lane& lane, const Tiles<kDim>& layout,
                                                const GroupPlace<kDim>& place) {
  Elements e;
  const unsigned half = lane.group % 2, upper = lane.column / 4;
  const std::uint64_t last = layout.count() - 1;
  if (place.rows == GroupPlace<kDim>::kTailMark) {
    const std::uint64_t tail = layout.tail();
    const bool inside = half == 0 && lane.column < tail;
    for (unsigned c = 0; c < 4; ++c) e.at[c] = inside && c == 0 ? layout.count() - tail + lane.column : last;
    e.owned = inside;
    return e;
  }
  const std::uint64_t x = place.x + (kDim == 2 ? 4 * upper : 0);
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned y = kDim == 2 ? 4 * half + c : 2 * (c % 2) + upper, z = kDim == 2 ? 0 : 2 * half + c / 2;
    const std::uint64_t row = place.row + (z * layout.dy() + y) * layout.dx();
    const auto quad = layout.quad(x, row);
    const std::uint64_t element = quad.first + lane.column % 4;
    const bool coded = y < place.rows && z < place.slices && x < layout.dx();
    e.at[c] = coded && element <= last ? element : last;
    e.coded |= unsigned{coded} << c;
    e.owned |= unsigned{coded && quad.owner && element <= last} << c;
  }
  return e;
}

// The elements of the groups of a warp.
template <unsigned kDim>
class Places {
 public:
  using Layout = typename LayoutOf<kDim>::Type;

  __device__ Places(const Layout& layout, std::uint64_t first_group, const Lane& lane)
      : layout_(layout), first_(first_group) {
    if constexpr (kDim == 1) {
      whole_ = (first_ + kWarpGroups) * kGroup <= layout.count();
    } else {
      mine_ = GroupPlace<kDim>(layout, first_group / 2 + lane.id % 16);  // lane i locates block i
      whole_ = __all_sync(~0u, mine_.whole);
    }
  }
  // The same for all lanes: whether all groups are in the field. Then they are moved by quads: see Rows.
  __device__ __forceinline__ bool all_whole() const { return whole_; }
  // The first element of a block of tiles or cubes, or of all blocks in a row.
  __device__ __forceinline__ std::uint64_t corner(unsigned block) const {
    if constexpr (kDim == 1)
      return kGroup * first_;
    else
      return __shfl_sync(~0u, mine_.row + mine_.x, block);
  }
  __device__ __forceinline__ const Layout& layout() const { return layout_; }
  // The elements of a round's groups, which may be anywhere.
  __device__ __forceinline__ Elements of(const Lane& lane, unsigned round) const {
    if constexpr (kDim == 1)
      return elements_of(lane, layout_, first_ + 4 * round + lane.group);
    else
      return elements_of(lane, layout_, mine_.from_lane(2 * round + lane.group / 2));
  }

 private:
  const Layout& layout_;
  std::uint64_t first_;
  bool whole_;
  GroupPlace<kDim == 1 ? 2 : kDim> mine_;
};

}  // namespace homz::cuszp
