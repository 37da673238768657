// The kernel that codes the tiles of a field.
#pragma once

#include "codecs/cuszp/device_encode.cuh"

namespace homz::cuszp {

// Found by measuring: how many rounds to unroll.
inline constexpr unsigned kEncodeUnroll = 4;

// One warp's share of a tile: the words of its blocks, in shared memory, and what is known of them. The words
// of round r are in slot r + 1; packed bytes take the place of words that have been read, from slot 0 on, and
// are never more than these by as much as a slot. Before, slot 0 is the room of the second look.
template <class T, unsigned kDim, bool kAligned>
class WarpEncoder {
 public:
  static constexpr unsigned kWords = Block<kDim>::kWords, kRoundBlocks = 4 / kWords;
  static constexpr unsigned kBlocks = kRounds * kRoundBlocks;
  using Slots = uint4[kRounds + 1][32];
  static_assert(kWarpGroups / kWords * (Block<kDim>::kMaxBytes + 4) <= sizeof(Slots));

  __device__ WarpEncoder(const Coding<T, kDim>& coding, const Lane& lane, Slots& slots)
      : coding_(coding), lane_(lane), slots_(slots) {}

  __device__ __forceinline__ void code(const Places<kDim>& places) {
    const Second rounds = places.all_whole() ? code_rounds<true>(places) : code_rounds<false>(places);
    for (std::uint32_t left = rounds.doubtful | rounds.lossy; left != 0; left &= left - 1) {
      const unsigned r = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      if (coding_.has_fill || (rounds.lossy >> r & 1) != 0)
        code_again(places, r);
      else
        look_again(places, r);
    }
  }

  // Of this lane's block.
  __device__ std::byte metadata() const { return static_cast<std::byte>(metadata_); }
  __device__ Shape shape() const {
    if (kAligned) return Shape{metadata_, 0};
    Shape shape;
    read_shape<kDim>(metadata(), coding_.mode, shape);
    return shape;
  }
  __device__ const WarpCounts& found() const { return found_; }

  // `mine`: of this lane's block, in the bytes of the warp.
  __device__ __forceinline__ void pack(BlockBytes mine) {
    const Transposer transpose(lane_);
#pragma unroll 2
    for (unsigned r = 0; r < kRounds; ++r) {
      const BlockBytes is(__shfl_sync(~0u, mine.packed, r * kRoundBlocks + lane_.group / kWords));
      const std::uint32_t widest = __reduce_max_sync(~0u, is.planes());
      if (widest == 0) continue;
      const uint4 words = slots_[r + 1][lane_.id];
      __syncwarp();
      pack_planes<kDim, kAligned>(lane_, transpose, words, is, widest, reinterpret_cast<std::byte*>(slots_));
    }
    __syncwarp();
  }
  __device__ const std::uint32_t* packed() const {
    return reinterpret_cast<const std::uint32_t*>(slots_);
  }

 private:
  // Bits of rounds that need a second look: some value may break the bound, or is fill; or a magnitude of
  // 2^31 is lost, as it is in rows, which changes what decoders get.
  struct Second {
    std::uint32_t doubtful = 0, lossy = 0;
  };
  template <bool kWhole>
  __device__ __forceinline__ Second code_rounds(const Places<kDim>& places) {
    Second second;
    RoundValues<T, kWhole> ahead;
    ahead.load(coding_.data, places, lane_, 0);
#pragma unroll(kWhole ? kEncodeUnroll : 1)
    for (unsigned r = 0; r < kRounds; ++r) {
      const RoundValues<T, kWhole> values = ahead;
      if (r + 1 < kRounds) ahead.load(coding_.data, places, lane_, r + 1);
      std::uint32_t residuals[4];
      const bool doubts = Round<T, kDim>::code(coding_, lane_, values, residuals);
      const RoundWords words(residuals, holds_first<kDim>(lane_));
      keep(r, words);
      if (__any_sync(~0u, doubts) != 0) second.doubtful |= 1u << r;
      if (kDim == 1 && __any_sync(~0u, words.sizes >= kTopBit) != 0) second.lossy |= 1u << r;
    }
    return second;
  }

  __device__ __forceinline__ void keep(unsigned r, const RoundWords& words) {
    slots_[r + 1][lane_.id] = make_uint4(words.words[0], words.words[1], words.words[2], words.words[3]);
    const Shape shape = shape_of<kDim, !kAligned>(lane_, words, coding_.mode);
    const std::uint32_t is = kAligned ? shape.width : static_cast<std::uint32_t>(shape.metadata());
    const std::uint32_t there = __shfl_sync(~0u, is, 8 * kWords * (lane_.id % kRoundBlocks));
    if (lane_.id / kRoundBlocks == r) metadata_ = there;
  }

  __device__ __forceinline__ void look_again(const Places<kDim>& places, unsigned r) {
    RoundValues<T, false> values;
    values.load(coding_.data, places, lane_, r);
    const auto found = Round<T, kDim>::look_again(coding_, lane_, values);
    if (__any_sync(~0u, found.exact != 0) != 0) found_.add(lane_, r, false, found);
  }

  __device__ __forceinline__ void code_again(const Places<kDim>& places, unsigned r) {
    RoundValues<T, false> values;
    values.load(coding_.data, places, lane_, r);
    std::uint32_t residuals[4];
    // The round's own words make room: they are kept anew.
    const auto found = Round<T, kDim>::code_again(coding_, lane_, values, residuals,
                                                  reinterpret_cast<std::uint32_t*>(slots_[0]),
                                                  reinterpret_cast<std::uint32_t*>(slots_[r + 1]));
    __syncwarp();
    keep(r, RoundWords(residuals, holds_first<kDim>(lane_)));
    if (__any_sync(~0u, (found.exact | found.fill) != 0) != 0) found_.add(lane_, r, coding_.has_fill, found);
  }

  const Coding<T, kDim>& coding_;
  const Lane& lane_;
  Slots& slots_;
  std::uint32_t metadata_ = 0;  // lane i: of the warp's i-th block
  WarpCounts found_;
};

__device__ __forceinline__ std::uint32_t warp_sum_upto(unsigned lane, std::uint32_t value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

// kAligned: all blocks begin at multiples of 4 bytes, in the payload and in memory, so no outlier stands
// aside.
template <class T, unsigned kDim, bool kAligned>
__global__ __launch_bounds__(kTileThreads, kDim == 1 ? 5 : 4) void encode_tiles(EncodeTask<T, kDim> task) {
  using Encoder = WarpEncoder<T, kDim, kAligned>;
  __shared__ typename Encoder::Slots slots[kTileWarps];
  __shared__ std::uint32_t warp_bytes[kTileWarps], counts[kTileWarps], borders[kTileWarps];
  __shared__ std::uint64_t tile_start;
  __shared__ ChecksumState warp_sums[kTileWarps];
  if (!task.applies()) return;
  const Coding<T, kDim>& coding = task.coding;
  const Lane lane;
  const unsigned warp = threadIdx.x / 32;
  const std::uint64_t tile = blockIdx.x;
  const std::uint64_t first_group = tile * kTileGroups + warp * kWarpGroups;

  Encoder encoder(coding, lane, slots[warp]);
  encoder.code(Places<kDim>(coding.layout, first_group, lane));
  const Shape shape = encoder.shape();
  const std::uint32_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
  const std::uint32_t upto = warp_sum_upto(lane.id, bytes);
  const WarpCounts& found = encoder.found();
  if (lane.id == 31) warp_bytes[warp] = upto;
  if (lane.id == 0) borders[warp] = 0;
  if (!found.none()) {
    const std::uint32_t packed = found.totals();
    if (lane.id == 0) counts[warp] = packed;
    if (lane.id == 0) borders[warp] = found.borders();
  } else if (lane.id == 0) {
    counts[warp] = 0;
  }
  const bool exceptional = __syncthreads_or(!found.none()) != 0;
  std::uint32_t before = 0, total = 0;
  for (unsigned w = 0; w < kTileWarps; ++w) {
    before += w < warp ? warp_bytes[w] : 0;
    total += warp_bytes[w];
  }
  // One warp waits for the tiles before this one, while the others pack.
  if (warp == 0) {
    const std::uint64_t start = look_back(task.space.look_back, tile, total);
    if (lane.id == 0) tile_start = start;
  }
  encoder.pack(BlockBytes(upto - bytes, shape));
  const std::uint64_t block = first_group / Encoder::kWords + lane.id;
  const bool has_block = lane.id < Encoder::kBlocks && block < coding.layout.blocks();
  if (has_block) task.payload[block] = encoder.metadata();
  if (exceptional) {
    if (lane.id == 0) task.space.marked[tile * kTileWarps + warp] = found.marked();
    if (threadIdx.x == 0) atomicOr(&task.space.state->has_exceptions, 1u);
  }
  if (threadIdx.x == 32) task.space.records[tile] = exceptional ? join_counts(counts, borders) : TileRecord();
  if (tile + 1 == gridDim.x)
    for (std::uint64_t i = coding.layout.blocks() + threadIdx.x; i < coding.layout.metadata_bytes();
         i += kTileThreads)
      task.payload[i] = std::byte{0};
  __syncthreads();

  const std::uint64_t start = coding.layout.metadata_bytes() + tile_start;
  if (start + total > task.limit) return;  // incompressible: the list's kernel finds that out, too
  TileSums sums;
  copy_out<kAligned>(lane, encoder.packed(), warp_bytes[warp], task.payload, start + before, start / 4, sums);
  if (has_block) {
    const std::uint64_t word = static_cast<std::uint64_t>(encoder.metadata()) << 8 * (block % 4);
    sums.sum += word;
    sums.weighted += (block / 4 - start / 4) * word;
  }
  sums.give(warp_sums, start / 4, &task.space.state->slots[tile % EncodeState::kSlots].sums);
}

}  // namespace homz::cuszp
