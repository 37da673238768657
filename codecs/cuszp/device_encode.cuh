// Encoding on a GPU in one pass over the data: a thread block codes a tile, learns from the tiles before it
// where its bytes go (decoupled look-back: Merrill and Garland, NVIDIA NVR-2016-002), and writes them.
#pragma once

#include "codecs/cuszp/device_round.cuh"
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
  std::uint32_t has_exceptions, dim, arrived, listed;
};

// A field's tiles in scratch.
struct TileSpace {
  EncodeState* state;
  std::uint64_t* look_back;  // a word a tile, zero at first
  TileRecord* records;       // a tile
  std::uint32_t* marked;     // a warp of a tile: the groups with exceptions
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

inline constexpr std::uint64_t kAggregate = std::uint64_t{1} << 62, kPrefix = std::uint64_t{2} << 62;
inline constexpr std::uint64_t kLookBackValue = kAggregate - 1;

// The sum of all tiles before this one; called by one warp. It looks at 128 of them at a time: prefixes
// travel as many tiles further with every visit to memory.
__device__ __forceinline__ std::uint64_t look_back(std::uint64_t* states, std::uint64_t tile,
                                                   std::uint64_t own) {
  constexpr unsigned kEach = 4;
  const unsigned lane = threadIdx.x % 32;
  const auto publish = [&](std::uint64_t value) {
    if (lane == 0) *reinterpret_cast<volatile std::uint64_t*>(states + tile) = value;
  };
  publish((tile == 0 ? kPrefix : kAggregate) | own);
  if (tile == 0) return 0;
  std::uint64_t mine = 0, end = tile;
  for (bool complete = false; !complete;) {
    std::uint64_t state[kEach];
    for (unsigned k = 0; k < kEach; ++k) {
      const std::uint64_t back = lane + 32 * k + 1;
      state[k] = back <= end ? *reinterpret_cast<volatile std::uint64_t*>(states + end - back) : +kPrefix;
    }
    for (unsigned k = 0; k < kEach && !complete; ++k) {
      const unsigned empty = __ballot_sync(~0u, state[k] >> 62 == 0);
      const unsigned prefixes = __ballot_sync(~0u, state[k] >> 62 == 2);
      const unsigned wanted = prefixes == 0 ? ~0u : prefixes ^ (prefixes - 1);  // up to the nearest prefix
      if ((empty & wanted) != 0) break;                                         // look again from here
      if ((wanted >> lane & 1) != 0) mine += state[k] & kLookBackValue;
      complete = prefixes != 0;
      end -= 32;
    }
  }
  const std::uint64_t before = gpu::warp_sum_below<3>(mine);
  publish(kPrefix | (before + own));
  return before;
}

// Counts the exceptions of a warp's groups in order.
class WarpCounts {
 public:
  template <class Found>
  __device__ __forceinline__ void add(const Lane& lane, unsigned round, bool may_fill, const Found& found) {
    const bool follows = round == next_;
    std::uint32_t counts = __popc(found.exact) | starts(lane, found.exact, follows ? exact_last_ : 0) << 11;
    std::uint32_t first = __shfl_sync(~0u, found.exact, 0) & 1;
    exact_last_ = __shfl_sync(~0u, found.exact, 31) >> 31;
    if (may_fill) {
      counts |= starts(lane, found.fill, follows ? fill_last_ : 0) << 21;
      first |= (__shfl_sync(~0u, found.fill, 0) & 1) << 1;
      fill_last_ = __shfl_sync(~0u, found.fill, 31) >> 31;
    }
    if (lane.column == 7) counts_ += counts;
    if (round == 0) first_ = first;
    next_ = round + 1;
    // Bits 0, 8, 16 and 24, side by side.
    const unsigned groups = __ballot_sync(~0u, (found.exact | found.fill) != 0) & 0x01010101;
    marked_ |= (groups * 0x01020408 >> 24 & 0xf) << 4 * round;
  }
  __device__ bool none() const { return marked_ == 0; }
  __device__ std::uint32_t marked() const { return marked_; }
  // values | exact runs << 11 | fill runs << 21, over the warp.
  __device__ std::uint32_t totals() const { return __reduce_add_sync(~0u, counts_); }
  // Bits: first position exact, fill; last position exact, fill.
  __device__ std::uint32_t borders() const {
    return first_ | (next_ == kRounds ? exact_last_ << 2 | fill_last_ << 3 : 0);
  }

 private:
  // Runs that begin in the lane's group; `last`: the bit before group 0.
  __device__ static __forceinline__ std::uint32_t starts(const Lane& lane, std::uint32_t bits,
                                                         unsigned last) {
    const unsigned before = __shfl_up_sync(~0u, bits >> 31, 8);
    return static_cast<std::uint32_t>(__popc(bits & ~(bits << 1 | (lane.group == 0 ? last : before))));
  }

  std::uint32_t counts_ = 0, marked_ = 0, first_ = 0, exact_last_ = 0, fill_last_ = 0, next_ = 0;
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

// Sums of words that a thread reads or writes, relative to the first word of its tile.
struct TileSums {
  std::uint64_t sum = 0, weighted = 0;
  unsigned one = opaque(1);  // a product with it is one instruction, off the pipeline that is busiest

  __device__ __forceinline__ void add_word(std::uint32_t index, std::uint32_t word) {
    asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(sum) : "r"(word), "r"(one));
    asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(weighted) : "r"(word), "r"(index));
  }
  // A word that begins `offset` bytes from a word of the payload.
  template <bool kAligned>
  __device__ __forceinline__ void add(std::uint32_t offset, std::uint32_t word) {
    add_word(offset / 4, kAligned ? word : word << 8 * (offset % 4));
    if (!kAligned && offset % 4 != 0) add_word(offset / 4 + 1, word >> (32 - 8 * (offset % 4)));
  }
  // Over the tile: one thread adds what the warps have to *to. `first`: the tile's first word in the payload.
  __device__ __forceinline__ void give(ChecksumState (&warps)[kTileWarps], std::uint64_t first,
                                       ChecksumState* to) const {
    ChecksumState total;
    total.sum = gpu::warp_sum_below<2>(sum);
    total.weighted = gpu::warp_sum_below<3>(weighted) + total.sum;  // words are numbered from 1
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x != 0) return;
    ChecksumState all, placed;
    for (unsigned w = 0; w < kTileWarps; ++w) all.join(warps[w], 0);
    placed.join(all, first);
    gpu::add_atomically(to, placed);
  }
};

// What a lane tells the others of a block of its warp: where its bytes begin in the warp's, and how many
// planes and outlier bytes they are.
struct BlockBytes {
  std::uint32_t packed;

  __device__ BlockBytes(std::uint32_t offset, Shape shape)
      : packed(offset << 16 | shape.outlier_bytes << 8 | (shape.zero() ? 0 : 1 + shape.width)) {}
  __device__ explicit BlockBytes(std::uint32_t from_lane) : packed(from_lane) {}
  __device__ std::uint32_t offset() const { return packed >> 16; }
  __device__ std::uint32_t planes() const { return packed & 0xff; }
  __device__ std::uint32_t outlier_bytes() const { return packed >> 8 & 7; }
};

// Writes the bytes of one block's group to the warp's: outlier, then the planes, 4 bytes each in every group
// of the block.
template <unsigned kDim, bool kAligned>
__device__ __forceinline__ void pack_planes(const Lane& lane, const Transposer& transpose, uint4 words,
                                            BlockBytes block, std::uint32_t widest, std::byte* warp) {
  constexpr unsigned kWords = Block<kDim>::kWords;
  const unsigned half = kDim == 1 ? 0 : lane.group % 2;
  std::byte* to = warp + block.offset() + 4 * (kWords * (lane.id % 8) + half);
  if (!kAligned && block.outlier_bytes() != 0) {
    if (lane.column == 0 && half == 0) {
      const std::uint32_t size = words.x == 1 && kDim != 1 ? kTopBit : words.x >> 1;
      gpu::store_bytes(warp + block.offset(), size, block.outlier_bytes());
      words.x &= 1;
    }
    to += block.outlier_bytes();
  }
  // Planes from this lane's first on.
  const std::uint32_t planes = block.planes() > lane.id % 8 ? block.planes() - lane.id % 8 : 0;
  const auto write = [&](unsigned s, std::uint32_t word) {
    if (8 * s >= planes) return;
    if constexpr (kAligned)
      *reinterpret_cast<std::uint32_t*>(to + 32 * kWords * s) = word;
    else
      gpu::store_word(to + 32 * kWords * s, word);
  };
  for (unsigned s = 0; s < 4; ++s) {
    if (8 * s >= widest) break;
    const unsigned pick = s | (s + 4) << 4;
    const std::uint32_t low = __byte_perm(words.x, words.y, pick), high = __byte_perm(words.z, words.w, pick);
    write(s, transpose(__byte_perm(low, high, 0x5410)));
  }
  if (kDim != 1 && widest > 32) {  // bit 31 of magnitudes: only -2^31 has it, whose other bits are 0
    const std::uint32_t top = (words.x == 1 ? 1 : 0) | (words.y == 1 ? 1 << 8 : 0) |
                              (words.z == 1 ? 1 << 16 : 0) | (words.w == 1 ? 1 << 24 : 0);
    write(4, transpose(block.planes() == 33 ? top : 0));
  }
}

// Copies a warp's bytes to the payload, from its byte `offset` on, and sums the payload's words; `first_word`
// is the tile's.
template <bool kAligned>
__device__ __forceinline__ void copy_out(const Lane& lane, const std::uint32_t* from, std::uint32_t bytes,
                                         std::byte* payload, std::uint64_t offset, std::uint64_t first_word,
                                         TileSums& sums) {
  const std::uint64_t word = offset / 4;
  const auto index = static_cast<std::uint32_t>(word - first_word);
  std::byte* const to = payload + 4 * word;
  if constexpr (kAligned) {
#pragma unroll 4
    for (std::uint32_t i = lane.id; i < bytes / 4; i += 32) {
      reinterpret_cast<std::uint32_t*>(to)[i] = from[i];
      sums.add_word(index + i, from[i]);
    }
    return;
  }
  const std::uint32_t skip = offset % 4, end = skip + bytes;  // of the words' bytes
  const bool words_aligned = reinterpret_cast<std::uintptr_t>(payload) % 4 == 0;
  for (std::uint32_t i = lane.id; 4 * i < end; i += 32) {
    const std::uint32_t before = i == 0 ? 0 : from[i - 1];
    std::uint32_t value =
        skip == 0 ? from[i] : __funnelshift_l(before, 4 * i < bytes ? from[i] : 0, 8 * skip);
    const std::uint32_t first = i == 0 ? skip : 0, last = end - 4 * i < 4 ? end - 4 * i : 4;
    if (last < 4) value &= (1u << 8 * last) - 1;
    sums.add_word(index + i, value);
    if (words_aligned && last - first == 4)
      reinterpret_cast<std::uint32_t*>(to)[i] = value;
    else
      gpu::store_bytes(to + 4 * i + first, value >> 8 * first, last - first);
  }
}

}  // namespace homz::cuszp
