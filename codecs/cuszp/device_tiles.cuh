// The kernel that codes the tiles of a field.
#pragma once

#include "codecs/cuszp/device_encode.cuh"
#include "core/gpu/block.cuh"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {

// The coded words of tiles in shared memory, with a word left out behind every 32: blocks of equal sizes
// would crowd in few banks. Blocks that begin anywhere are written by bytes, without gaps.
template <bool kAligned>
struct CodedWords {
  static constexpr unsigned kMost = kTileGroups * 33;  // words of a tile
  static constexpr unsigned kWords = kMost + kMost / 32 + 4;
  static constexpr unsigned kHalf = kWords / 2 / 4 * 4;
  static constexpr unsigned kMostOfHalf = kHalf / 33 * 32 - 32;  // words of a tile

  __device__ static constexpr unsigned at(unsigned word) { return kAligned ? word + word / 32 : word; }
};

template <class T, bool kAligned>
struct EncodeRoom {  // shared memory
  alignas(16) std::uint32_t rows[kTileThreads * Rows<T>::kWords];
  std::uint32_t coded[CodedWords<kAligned>::kWords];  // tiles that are small take the halves in turn
  struct PerTile {
    alignas(16) std::uint32_t bytes[kTileWarps];  // the top bit: there are exceptions
    std::uint32_t counts[kTileWarps], borders[kTileWarps];
    std::uint32_t next;  // ticket
  };
  PerTile tiles[2];  // in turn
};
inline constexpr unsigned kExceptional = kTopBit;

template <class T>
inline constexpr unsigned kEncodingBlocks = sizeof(T) == 4 ? 3 : 2;  // of a multiprocessor

// A tile that is coded but not yet in the payload.
struct CodedTile {
  std::uint64_t tile = 0;
  std::uint32_t bytes = 0, at = 0;  // `at`: word of room.coded
};

// One tile from values to coded bytes. Its steps are called in order; between measure() and pack() the
// threads of the block meet.
template <class T, unsigned kDim, bool kAligned>
class TileCoder {
 public:
  using Room = EncodeRoom<T, kAligned>;
  static constexpr unsigned kWords = Block<kDim>::kWords;

  __device__ TileCoder(const EncodeTask<T, kDim>& task, Room& room, const Lane& lane)
      : task_(task), coding_(task.coding), room_(room), lane_(lane), warp_(threadIdx.x / 32) {}

  __device__ __forceinline__ void code(GroupMasks masks) {
    std::uint32_t* const row = room_.rows + Rows<T>::kWords * threadIdx.x;
    std::uint32_t doubts = group_.quantise(coding_, reinterpret_cast<const T*>(row));
    group_.subtract(coding_, lane_);
    group_.measure(leads());
    const bool rare = !masks.whole() || (doubts & Group<T, kDim>::kHasFill) != 0 ||
                      (kDim == 1 && (group_.bits & kTopBit) != 0);
    exact_ = fill_ = 0;
    if (__any_sync(~0u, rare || doubts != 0) != 0) look_again(row, masks, rare, doubts);
  }

  // The shape of the block, and what the other warps have to know.
  __device__ __forceinline__ void measure(typename Room::PerTile& tile) {
    choose_shape_of_block();
    const std::uint32_t planes = shape_.zero() ? 0 : 4 * (1 + shape_.width);
    const std::uint32_t own = planes + (leads() ? shape_.outlier_bytes : 0);
    const std::uint32_t upto = warp_sum_upto(lane_.id, own);
    at_ = upto - planes;
    if (kDim != 1 && !leads()) at_ = upto - 2 * planes + 4;  // planes of both groups alternate
    const WarpCounts found(lane_, exact_, fill_);
    marked_ = found.marked;
    if (lane_.id == 31) tile.bytes[warp_] = upto | (found.marked != 0 ? kExceptional : 0);
    if (lane_.id == 0) {
      tile.counts[warp_] = found.counts;
      tile.borders[warp_] = found.borders;
    }
  }

  // The tile's bytes, when all warps have told theirs.
  __device__ __forceinline__ std::uint32_t settle(std::uint64_t tile, const typename Room::PerTile& told) {
    std::uint32_t total = 0, any = 0;
    for (unsigned w = 0; w < kTileWarps; ++w) {
      if (w == warp_) at_ += total;
      total += told.bytes[w] & ~kExceptional;
      any |= told.bytes[w];
    }
    if (threadIdx.x == 0) tell_place(task_.space.places + tile, kSized | total);
    const bool exceptional = (any & kExceptional) != 0;
    if (exceptional && lane_.id == 0) task_.space.marked[tile * kTileWarps + warp_] = marked_;
    if (threadIdx.x == 32) {
      task_.space.records[tile] = exceptional ? join_counts(told.counts, told.borders) : TileRecord();
      if (exceptional) atomicOr(&task_.space.state->has_exceptions, 1u);
    }
    return total;
  }

  // The metadata bytes; adds them to `sums`.
  __device__ __forceinline__ void put_metadata(std::uint64_t tile, ChecksumState& sums) const {
    const std::uint64_t block = (tile * kTileGroups + threadIdx.x) / kWords;
    if (!leads() || block >= coding_.layout.blocks()) return;
    const std::byte metadata = shape_.metadata();
    task_.payload[block] = metadata;
    sums.add(block / 4, static_cast<std::uint32_t>(metadata) << 8 * (block % 4));
  }

  __device__ __forceinline__ void pack(std::uint32_t* coded) {
    if (shape_.zero()) return;
    if constexpr (kAligned) {
      const std::uint32_t first = at_ / 4;
      const auto put = [&](std::uint32_t word, std::uint32_t value) {
        coded[CodedWords<true>::at(first + kWords * word)] = value;
      };
      put(0, group_.signs);
      put_planes(group_.sizes, shape_.width,
                 [&](unsigned plane, std::uint32_t word) { put(1 + plane, word); });
    } else {
      std::byte* const to = reinterpret_cast<std::byte*>(coded) + at_;
      if (leads() && shape_.outlier_bytes != 0) {
        gpu::store_bytes(to - shape_.outlier_bytes, group_.sizes[0], shape_.outlier_bytes);
        group_.sizes[0] = 0;
      }
      gpu::store_word(to, group_.signs);
      put_planes(group_.sizes, shape_.width, [&](unsigned plane, std::uint32_t word) {
        gpu::store_word(to + 4 * kWords * (1 + plane), word);
      });
    }
  }

 private:
  __device__ bool leads() const { return kDim == 1 || lane_.id % 2 == 0; }

  __device__ __forceinline__ void look_again(std::uint32_t* row, GroupMasks masks, bool rare,
                                             std::uint32_t doubts) {
    if (kDim != 1) rare |= __shfl_xor_sync(~0u, rare, 1) != 0;
    if (!rare) exact_ = find_exact(coding_, reinterpret_cast<const T*>(row), doubts);
    if (__any_sync(~0u, rare) == 0) return;
    std::uint64_t coded = masks.coded, owned = masks.owned;
    if constexpr (kDim != 1) {
      coded |= std::uint64_t{__shfl_down_sync(~0u, masks.coded, 1)} << 32;
      owned |= std::uint64_t{__shfl_down_sync(~0u, masks.owned, 1)} << 32;
    }
    BlockExceptions found{0, 0};
    if (rare && leads()) found = code_block_again(coding_, row, coded, owned);
    __syncwarp();
    if constexpr (kDim != 1) {
      const auto exact = __shfl_up_sync(~0u, static_cast<std::uint32_t>(found.exact >> 32), 1);
      const auto fill = __shfl_up_sync(~0u, static_cast<std::uint32_t>(found.fill >> 32), 1);
      if (!leads()) found = BlockExceptions{exact, fill};
    }
    if (!rare) return;
    exact_ = static_cast<std::uint32_t>(found.exact);
    fill_ = static_cast<std::uint32_t>(found.fill);
    group_.load_residuals(row);
    group_.measure(leads());
  }

  __device__ __forceinline__ void choose_shape_of_block() {
    std::uint32_t bits = kAligned ? group_.bits : group_.others, first = group_.sizes[0];
    if constexpr (kDim != 1) {
      bits |= __shfl_xor_sync(~0u, bits, 1);
      if (!kAligned) first = __shfl_sync(~0u, first, lane_.id & 30);
    } else {
      bits &= ~kTopBit;
      first &= ~kTopBit;
    }
    shape_ = kAligned ? Shape{bit_width(bits), 0}
             : coding_.mode == Mode::outlier ? choose_shape<kDim>(first, bits, Mode::outlier)
                                             : Shape{bit_width(bits | first), 0};
  }

  const EncodeTask<T, kDim>& task_;
  const Coding<T, kDim>& coding_;
  Room& room_;
  const Lane& lane_;
  const unsigned warp_;
  Group<T, kDim> group_;
  std::uint32_t exact_, fill_, marked_, at_;  // `at_`: byte of the first plane
  Shape shape_;
};

// Copies a tile's bytes to the payload, from its byte `offset` on, and sums the payload's words.
template <bool kAligned>
__device__ __forceinline__ void copy_out(const std::uint32_t* from, std::uint32_t bytes, std::byte* payload,
                                         std::uint64_t offset, ChecksumState& all) {
  std::uint32_t* const to = reinterpret_cast<std::uint32_t*>(payload) + offset / 4;
  TileSums sums;
  if constexpr (kAligned) {
#pragma unroll 4
    for (std::uint32_t i = threadIdx.x; i < bytes / 4; i += kTileThreads) {
      const std::uint32_t word = from[CodedWords<true>::at(i)];
      __stcs(to + i, word);
      sums.add_word(i, word);
    }
  } else {
    const std::uint32_t skip = offset % 4, end = skip + bytes;  // of the words' bytes
    for (std::uint32_t i = threadIdx.x; 4 * i < end; i += kTileThreads) {
      const std::uint32_t before = i == 0 ? 0 : from[i - 1];
      std::uint32_t word = skip == 0 ? from[i] : __funnelshift_l(before, 4 * i < bytes ? from[i] : 0, 8 * skip);
      const std::uint32_t first = i == 0 ? skip : 0, last = end - 4 * i < 4 ? end - 4 * i : 4;
      if (last < 4) word &= (1u << 8 * last) - 1;
      sums.add_word(i, word);
      if (last - first == 4)
        __stcs(to + i, word);
      else
        gpu::store_bytes(reinterpret_cast<std::byte*>(to + i) + first, word >> 8 * first, last - first);
    }
  }
  sums.join_to(all, offset / 4);
}

// The loop of a thread block over tiles. Tickets count from 1: who draws 0 adds up the sizes.
template <class T, unsigned kDim, bool kAligned>
class EncodeLoop {
 public:
  using Room = EncodeRoom<T, kAligned>;

  __device__ EncodeLoop(const EncodeTask<T, kDim>& task, Room& room)
      : task_(task), room_(room), tiles_(static_cast<std::uint32_t>(task.tiles())) {}

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) room_.tiles[1].next = draw();
    __syncthreads();
    std::uint32_t ticket = room_.tiles[1].next;
    if (ticket == 0) return add_up();
    GroupMasks masks = fetch(ticket);
    for (unsigned turn = 0; ticket <= tiles_; turn ^= 1) {
      step(ticket, masks, turn);
    }
    __syncthreads();
    copy(0);
    const ChecksumState all{gpu::block_sum(sums_.sum), gpu::block_sum(sums_.weighted)};
    if (threadIdx.x == 0)
      gpu::add_atomically(&task_.space.state->slots[blockIdx.x % EncodeState::kSlots].sums, all);
  }

 private:
  __device__ std::uint32_t draw() const { return atomicAdd(&task_.space.state->ticket, 1u); }

  __device__ __forceinline__ GroupMasks fetch(std::uint32_t ticket) const {
    if (ticket > tiles_) return {};
    const std::uint64_t first = std::uint64_t{ticket - 1} * kTileGroups + threadIdx.x / 32 * kWarpGroups;
    const Places<kDim> places(task_.coding.layout, first, lane_);
    return fetch_groups(task_.coding.data, places, lane_,
                        room_.rows + threadIdx.x / 32 * 32 * Rows<T>::kWords);
  }

  // Codes one tile, and writes the one before. Then `ticket` is the next one, and its values are on the way.
  __device__ __forceinline__ void step(std::uint32_t& ticket, GroupMasks& masks, unsigned turn) {
    auto& told = room_.tiles[turn];
    const std::uint64_t tile = ticket - 1;
    if (threadIdx.x == 0) told.next = draw();
    std::uint64_t seen = 0;
    if (lane_.id == 0 && before_.bytes != 0) seen = see_place(task_.space.places + before_.tile);
    TileCoder<T, kDim, kAligned> coder(task_, room_, lane_);
    wait_for_copies();
    __syncwarp();
    coder.code(masks);
    coder.measure(told);
    __syncthreads();  // the tile before is packed, too, and the one before that is copied
    ticket = told.next;
    masks = fetch(ticket);
    const std::uint32_t bytes = coder.settle(tile, told);
    coder.put_metadata(tile, sums_);
    if (tile + 1 == tiles_) pad_metadata();
    copy(seen);
    constexpr std::uint32_t kSmall = 4 * CodedWords<kAligned>::kMostOfHalf;
    if (bytes > kSmall || before_.bytes > kSmall) __syncthreads();
    const std::uint32_t at = bytes > kSmall ? 0 : turn * CodedWords<kAligned>::kHalf;
    coder.pack(room_.coded + at);
    before_ = CodedTile{tile, bytes, at};
  }

  // The tile before; `seen`: of its place, in lane 0.
  __device__ __forceinline__ void copy(std::uint64_t seen) {
    if (before_.bytes == 0) return;
    std::uint64_t place = 0;
    if (lane_.id == 0) place = wait_for_place(task_.space.places + before_.tile, seen);
    const std::uint64_t start = task_.coding.layout.metadata_bytes() + __shfl_sync(~0u, place, 0);
    if (start + before_.bytes > task_.limit) return;  // incompressible: the list's kernel finds that out, too
    copy_out<kAligned>(room_.coded + before_.at, before_.bytes, task_.payload, start, sums_);
  }

  __device__ void pad_metadata() const {
    const auto& layout = task_.coding.layout;
    for (std::uint64_t i = layout.blocks() + threadIdx.x; i < layout.metadata_bytes(); i += kTileThreads)
      task_.payload[i] = std::byte{0};
  }

  __device__ void add_up() const {
    if (threadIdx.x >= 32) return;
    const std::uint64_t bytes = place_tiles(task_.space.places, tiles_);
    if (threadIdx.x == 0) task_.space.state->coded = bytes;
  }

  const EncodeTask<T, kDim>& task_;
  Room& room_;
  const std::uint32_t tiles_;
  const Lane lane_;
  CodedTile before_;
  ChecksumState sums_;  // of this thread's words
};

// kAligned: all blocks begin at multiples of 4 bytes in the payload, so no outlier stands aside.
template <class T, unsigned kDim, bool kAligned>
__global__ __launch_bounds__(kTileThreads, kEncodingBlocks<T>) void encode_tiles(
    const __grid_constant__ EncodeTask<T, kDim> task) {
  extern __shared__ uint4 memory[];
  gpu::let_next_start();
  gpu::wait_for_last();
  if (!task.applies()) return;
  EncodeLoop<T, kDim, kAligned>(task, *reinterpret_cast<EncodeRoom<T, kAligned>*>(memory)).run();
}

}  // namespace homz::cuszp
