// Encoding on a GPU in one pass over the data: thread blocks code tiles and tell their sizes, one warp adds
// these up and tells every tile its place, and the tile is written while the next one is under way.
#pragma once

#include "codecs/cuszp/device_group.cuh"
#include "codecs/cuszp/geometry.hpp"
#include "core/codec.hpp"
#include "core/gpu/sums.cuh"

namespace homz::cuszp {

// How many exceptions a tile has, and whether its first and last positions are such: 64 bits.
struct TileRecord {
  std::uint64_t bits = 0;

  static constexpr unsigned kExactRuns = 14, kFillRuns = 27, kExactFirst = 40, kExactLast = 41,
                            kFillFirst = 42, kFillLast = 43;
  __device__ std::uint32_t values() const { return bits & 0x3fff; }
  __device__ std::uint32_t exact_runs() const { return bits >> kExactRuns & 0x1fff; }
  __device__ std::uint32_t fill_runs() const { return bits >> kFillRuns & 0x1fff; }
  __device__ bool flag(unsigned which) const { return (bits >> which & 1) != 0; }
};

// What the kernels of one encoding share, in scratch that starts as zeros.
struct EncodeState {
  static constexpr unsigned kSlots = 32;  // so that few threads add to the same address

  struct alignas(128) Slot {
    ChecksumState sums;
  };
  Slot slots[kSlots];
  std::uint64_t sampled[4];  // bytes of the blocks looked at, by dimension
  std::uint64_t coded;       // bytes of all blocks
  std::uint32_t has_exceptions, dim, arrived, listed, ticket;
};

// A field's tiles in scratch.
struct TileSpace {
  EncodeState* state;
  std::uint64_t* places;  // a word a tile, zero at first
  TileRecord* records;    // a tile
  std::uint32_t* marked;  // a warp of a tile: the groups with exceptions
};

template <class T, unsigned kDim>
struct EncodeTask {
  Coding<T, kDim> coding;
  TileSpace space;
  std::byte* payload;
  std::uint64_t limit;  // bytes that the payload may have
  Encoded* encoded;
  bool chosen;  // the dimension is in state->dim

  __device__ bool applies() const { return !chosen || space.state->dim == kDim; }
  __host__ __device__ std::uint64_t tiles() const {
    return ceil_div<std::uint64_t>(coding.layout.positions(), kTile);
  }
};

// Of the dimensions that are open, the most tiles.
inline std::uint64_t most_tiles(const Field& field, const Plan& plan) {
  std::uint64_t most = 0;
  const Dims dims(field, plan);
  for (unsigned dim = dims.first; dim <= dims.last; ++dim)
    most = std::max(most, with_layout(field, plan, dim, [](const auto& layout, auto) {
                      return ceil_div<std::uint64_t>(layout.positions(), kTile);
                    }));
  return most;
}
void size_encode_scratch(const Field& field, const Plan& plan, Footprint& needs);

// What places[tile] says: nothing, the tile's bytes, or the bytes before it.
inline constexpr std::uint64_t kSized = std::uint64_t{1} << 62, kPlaced = std::uint64_t{2} << 62;
inline constexpr std::uint64_t kPlaceValue = kSized - 1;

__device__ __forceinline__ void tell_place(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
__device__ __forceinline__ std::uint64_t see_place(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

__device__ __forceinline__ std::uint32_t warp_sum_upto(unsigned lane, std::uint32_t value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

// Adds up the sizes of the tiles in order and tells them their places; by one warp. Returns the bytes of all.
// Tiles that looked back on their own would all read the states of all others under way.
__device__ inline std::uint64_t place_tiles(std::uint64_t* places, std::uint64_t tiles) {
  constexpr unsigned kEach = 8;  // looked at together
  const unsigned lane = threadIdx.x % 32;
  std::uint64_t bytes = 0;
  for (std::uint64_t next = 0; next < tiles;) {
    std::uint64_t seen[kEach];
    for (unsigned k = 0; k < kEach; ++k) {
      const std::uint64_t tile = next + 32 * k + lane;
      seen[k] = tile < tiles ? see_place(places + tile) : 0;
    }
    bool all = true;
    for (unsigned k = 0; k < kEach && all; ++k) {
      const unsigned sized = __ballot_sync(~0u, seen[k] != 0);
      const unsigned ready = sized == ~0u ? 32 : static_cast<unsigned>(__ffs(static_cast<int>(~sized))) - 1;
      const std::uint32_t own = lane < ready ? static_cast<std::uint32_t>(seen[k]) : 0;
      const std::uint32_t upto = warp_sum_upto(lane, own);
      if (lane < ready) tell_place(places + next + lane, kPlaced | (bytes + upto - own));
      bytes += __shfl_sync(~0u, upto, 31);
      next += ready;
      all = ready == 32;
    }
  }
  return bytes;
}

__device__ __forceinline__ std::uint64_t wait_for_place(const std::uint64_t* place) {
  std::uint64_t seen;
  while ((seen = see_place(place)) < kPlaced) __nanosleep(20);
  return seen & kPlaceValue;
}

// What a warp has found in its groups: a bit a group that has exceptions; values | exact runs << 11 | fill
// runs << 21; and whether the first position is exact, fill, the last one exact, fill.
struct WarpCounts {
  std::uint32_t marked = 0, counts = 0, borders = 0;

  __device__ __forceinline__ WarpCounts(const Lane& lane, std::uint32_t exact, std::uint32_t fill) {
    marked = __ballot_sync(~0u, (exact | fill) != 0);
    if (marked == 0) return;
    counts = __reduce_add_sync(~0u, __popc(exact) | starts(lane, exact) << 11 | starts(lane, fill) << 21);
    const std::uint32_t own = (exact & 1) | (fill & 1) << 1 | exact >> 31 << 2 | fill >> 31 << 3;
    borders = (__shfl_sync(~0u, own, 0) & 3) | (__shfl_sync(~0u, own, 31) & 12);
  }

 private:
  // Runs that begin in the lane's group.
  __device__ static __forceinline__ std::uint32_t starts(const Lane& lane, std::uint32_t bits) {
    const std::uint32_t before = __shfl_up_sync(~0u, bits >> 31, 1);
    return static_cast<std::uint32_t>(__popc(bits & ~(bits << 1 | (lane.id == 0 ? 0 : before))));
  }
};

// Joins what the warps of a tile have counted.
__device__ inline TileRecord join_counts(const std::uint32_t (&counts)[kTileWarps],
                                         const std::uint32_t (&borders)[kTileWarps]) {
  std::uint64_t values = 0, exact_runs = 0, fill_runs = 0;
  for (unsigned w = 0; w < kTileWarps; ++w) {
    values += counts[w] & 0x7ff;
    exact_runs += counts[w] >> 11 & 0x3ff;
    fill_runs += counts[w] >> 21;
    if (w == 0) continue;
    exact_runs -= borders[w - 1] >> 2 & borders[w] & 1;
    fill_runs -= borders[w - 1] >> 3 & borders[w] >> 1 & 1;
  }
  const std::uint64_t first = borders[0], last = borders[kTileWarps - 1];
  return {values | exact_runs << TileRecord::kExactRuns | fill_runs << TileRecord::kFillRuns |
          (first & 1) << TileRecord::kExactFirst | (last >> 2 & 1) << TileRecord::kExactLast |
          (first >> 1 & 1) << TileRecord::kFillFirst | (last >> 3 & 1) << TileRecord::kFillLast};
}

// Sums of the words of a tile that a thread reads or writes, numbered from the tile's first.
struct TileSums {
  std::uint64_t sum = 0, weighted = 0;

  __device__ __forceinline__ void add_word(std::uint32_t index, std::uint32_t word) {
    asm("mad.wide.u32 %0, %1, 1, %0;" : "+l"(sum) : "r"(word));
    asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(weighted) : "r"(word), "r"(index));
  }
  // `first`: the tile's first word in the payload.
  __device__ __forceinline__ void join_to(ChecksumState& all, std::uint64_t first) const {
    all.sum += sum;
    all.weighted += weighted + (first + 1) * sum;  // words are numbered from 1
  }
};

}  // namespace homz::cuszp
