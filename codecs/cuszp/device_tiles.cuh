// The kernel that codes the tiles of a field.
#pragma once

#include "codecs/cuszp/device_encode.cuh"
#include "core/gpu/block.cuh"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {

// The coded words of tiles in shared memory, with a word left out behind every 32: blocks of equal sizes
// would crowd in few banks. Blocks that begin anywhere are written by bytes, without gaps.
template <unsigned kDim, bool kAligned>
struct CodedWords {
  static constexpr unsigned kMost = kTileGroups * (1 + Block<kDim>::kMaxWidth);  // words of a tile
  static constexpr unsigned kWords = kMost + kMost / 32 + 4;

  __device__ static constexpr unsigned at(unsigned word) { return kAligned ? word + word / 32 : word; }
  // The room that a tile takes.
  __device__ static constexpr unsigned room(unsigned bytes) { return at((bytes + 3) / 4) + 1; }
};

// A tile that is coded but not yet in the payload.
struct CodedTile {
  std::uint32_t tile, bytes, at;  // `at`: word of room.coded
};
inline constexpr unsigned kMostWaiting = 4;  // of them in a thread block

template <class T, unsigned kDim, bool kAligned>
struct EncodeRoom {  // shared memory
  alignas(16) T rows[kTileWarps][Rows<T, kDim>::kValues];
  std::uint32_t coded[CodedWords<kDim, kAligned>::kWords];
  CodedTile waiting[kMostWaiting];
  struct PerTile {
    std::uint64_t places[kMostWaiting];  // of the first `placed` of those waiting
    std::uint32_t bytes[kTileWarps];     // the top bit: there are exceptions
    std::uint32_t counts[kTileWarps], borders[kTileWarps];
    std::uint32_t placed, next;  // next: ticket
  };
  PerTile tiles[2];                        // in turn
  ChecksumState sums[kTileThreads];        // of what each thread has written
  GroupMasksOf<kDim> masks[kTileThreads];  // where they are not all whole
};
inline constexpr unsigned kExceptional = kTopBit;

template <class T>
inline constexpr unsigned kEncodingBlocks = sizeof(T) == 4 ? 3 : 2;  // of a multiprocessor

// One tile from values to coded bytes. Its steps are called in order; between measure() and pack() the
// threads of the block meet.
template <class T, unsigned kDim, bool kAligned>
class TileCoder {
 public:
  using Room = EncodeRoom<T, kDim, kAligned>;
  static constexpr unsigned kWords = Block<kDim>::kWords;

  __device__ TileCoder(const EncodeTask<T, kDim>& task, Room& room, const Lane& lane)
      : task_(task), coding_(task.coding), room_(room), lane_(lane), warp_(threadIdx.x / 32) {}

  __device__ __forceinline__ void code(bool whole) {
    const T* const row = room_.rows[warp_] + Rows<T, kDim>::group(lane_.id);
    exact_ = fill_ = 0;
    bool rare = false;
#pragma unroll 1
    for (bool again = false;; again = true) {
      const std::uint32_t doubts = group_.quantise(coding_, row);
      group_.subtract(coding_, lane_);
      if (again && rare) group_.load_residuals(row);
      group_.measure(leads());
      if (again) return;
      rare = (!whole && !room_.masks[threadIdx.x].whole()) || (doubts & Group<T, kDim>::kHasFill) != 0 ||
             (kDim == 1 && (group_.bits & kTopBit) != 0);
      if (__any_sync(~0u, rare || doubts != 0) == 0) return;
      if (kDim != 1) rare |= __shfl_xor_sync(~0u, rare, 1) != 0;
      if (!rare) exact_ = find_exact(coding_, row, doubts);
      if (__any_sync(~0u, rare) == 0) return;
      // What is in registers is found anew: the call would have to keep it.
      code_rare_blocks(whole ? GroupMasksOf<kDim>() : room_.masks[threadIdx.x], rare);
    }
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
  __device__ __forceinline__ std::uint32_t settle(std::uint32_t tile, const typename Room::PerTile& told) {
    const std::uint32_t of_warp = lane_.id < kTileWarps ? told.bytes[lane_.id] : 0;
    const std::uint32_t bytes = of_warp & ~kExceptional, total = __reduce_add_sync(~0u, bytes);
    const bool exceptional = __any_sync(~0u, (of_warp & kExceptional) != 0) != 0;
    at_ += __reduce_add_sync(~0u, lane_.id < warp_ ? bytes : 0);
    if (threadIdx.x == 0) tell_place(task_.space.places + tile, kSized | total);
    if (exceptional && lane_.id == 0) task_.space.marked[std::uint64_t{tile} * kTileWarps + warp_] = marked_;
    if (threadIdx.x == 32) {
      task_.space.records[tile] = exceptional ? join_counts(told.counts, told.borders) : TileRecord();
      if (exceptional) atomicOr(&task_.space.state->has_exceptions, 1u);
    }
    return total;
  }

  // Writes the metadata byte of this thread's block, if it has one. Returns it.
  __device__ __forceinline__ std::uint32_t put_metadata(std::uint32_t tile, bool is_last) const {
    if (!leads()) return 0;
    const std::uint64_t block = std::uint64_t{tile} * (kTileGroups / kWords) + threadIdx.x / kWords;
    const std::byte metadata = shape_.metadata();
    if (!is_last || block < coding_.layout.blocks()) task_.payload[block] = metadata;
    return static_cast<std::uint32_t>(metadata);
  }

  // To room.coded, the tile's first word being `at`.
  __device__ __forceinline__ void pack(std::uint32_t at) {
    if (shape_.zero()) return;
    if constexpr (kAligned) {
      const std::uint32_t first = at_ / 4;
      std::uint32_t* const coded = room_.coded + (at + first);
      const auto put = [&](std::uint32_t word, std::uint32_t value) {  // as CodedWords::at()
        coded[(first + kWords * word) / 32 + kWords * word] = value;
      };
      put(0, group_.signs);
      put_planes(group_.sizes, shape_.width,
                 [&](unsigned plane, std::uint32_t word) { put(1 + plane, word); });
    } else {
      std::byte* const to = reinterpret_cast<std::byte*>(room_.coded + at) + at_;
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
  __device__ bool leads() const {
    return kDim == 1 || lane_.id % 2 == 0;
  }

  __device__ __forceinline__ void code_rare_blocks(GroupMasksOf<kDim> masks, bool rare) {
    std::uint64_t coded = masks.coded(), owned = masks.owned();
    if constexpr (kDim != 1) {
      coded |= std::uint64_t{__shfl_down_sync(~0u, masks.coded(), 1)} << 32;
      owned |= std::uint64_t{__shfl_down_sync(~0u, masks.owned(), 1)} << 32;
    }
    BlockExceptions found{0, 0};
    if (rare && leads()) found = code_block_again(coding_, room_.rows[warp_], lane_.id, coded, owned);
    __syncwarp();
    if constexpr (kDim != 1) {
      const auto exact = __shfl_up_sync(~0u, static_cast<std::uint32_t>(found.exact >> 32), 1);
      const auto fill = __shfl_up_sync(~0u, static_cast<std::uint32_t>(found.fill >> 32), 1);
      if (!leads()) found = BlockExceptions{exact, fill};
    }
    if (!rare) return;
    exact_ = static_cast<std::uint32_t>(found.exact);
    fill_ = static_cast<std::uint32_t>(found.fill);
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
    shape_ = kAligned                        ? Shape{bit_width(bits), 0}
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
__device__ __forceinline__ TileSums copy_aligned(const std::uint32_t* from, std::uint32_t bytes,
                                                 std::uint32_t* to) {
  constexpr unsigned kStep = kTileThreads, kPadded = CodedWords<1, true>::at(kStep), kEach = 4;
  TileSums sums;
  std::uint32_t i = threadIdx.x;
  from += CodedWords<1, true>::at(i);
  to += i;
  const std::uint32_t end = bytes / 4;
  for (; i + (kEach - 1) * kStep < end; i += kEach * kStep, from += kEach * kPadded, to += kEach * kStep) {
    std::uint32_t words[kEach];
    for (unsigned k = 0; k < kEach; ++k) words[k] = from[k * kPadded];
    for (unsigned k = 0; k < kEach; ++k) {
      __stcs(to + k * kStep, words[k]);
      sums.add_word(i + k * kStep, words[k]);
    }
  }
  for (; i < end; i += kStep, from += kPadded, to += kStep) {
    __stcs(to, *from);
    sums.add_word(i, *from);
  }
  return sums;
}

// Where bytes begin anywhere, the first and the last word are shared with the tiles beside.
__device__ __forceinline__ TileSums copy_shifted(const std::uint32_t* from, std::uint32_t bytes,
                                                 std::uint32_t* to, std::uint32_t skip) {
  TileSums sums;
  const std::uint32_t end = skip + bytes;  // of the words' bytes
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
  return sums;
}

// The loop of a thread block over tiles. Tickets count from 1, and everyone begins with their own number: who
// has 0 adds up the sizes.
template <class T, unsigned kDim, bool kAligned>
class EncodeLoop {
 public:
  using Room = EncodeRoom<T, kDim, kAligned>;

  __device__ EncodeLoop(const EncodeTask<T, kDim>& task, Room& room)
      : task_(task), room_(room), tiles_(static_cast<std::uint32_t>(task.tiles())) {}

  __device__ __forceinline__ void run() {
    std::uint32_t ticket = blockIdx.x;
    if (ticket == 0) return add_up();
    bool whole = fetch(ticket);  // the values are there already
    gpu::wait_for_last();
    room_.sums[threadIdx.x] = ChecksumState();
    for (unsigned turn = 0; ticket <= tiles_; turn ^= 1) step(ticket, whole, turn);
    __syncthreads();
    while (waiting_ != 0) copy_first();
    tell_sums();
  }

 private:
  static constexpr unsigned kWords = Block<kDim>::kWords;

  __device__ std::uint32_t draw() const { return gridDim.x + atomicAdd(&task_.space.state->ticket, 1u); }

  __device__ __forceinline__ bool fetch(std::uint32_t ticket) const {
    if (ticket > tiles_) return true;
    const unsigned warp = threadIdx.x / 32;
    const std::uint64_t first = std::uint64_t{ticket - 1} * kTileGroups + warp * kWarpGroups;
    const Places<kDim> places(task_.coding.layout, first, lane_);
    return fetch_groups(task_.coding.data, places, lane_, room_.rows[warp], room_.masks[threadIdx.x]);
  }

  // Codes one tile, and writes those that have a place by now: it depends on all others under way. Then
  // `ticket` is the next one, and its values are on the way.
  __device__ __forceinline__ void step(std::uint32_t& ticket, bool& whole, unsigned turn) {
    auto& told = room_.tiles[turn];
    const std::uint32_t tile = ticket - 1;
    if (threadIdx.x == 0) told.next = draw();
    TileCoder<T, kDim, kAligned> coder(task_, room_, lane_);
    wait_for_copies();
    __syncwarp();
    std::uint64_t seen = 0;
    if (threadIdx.x < waiting_)
      seen = see_place(place_of(room_.waiting[(first_ + threadIdx.x) % kMostWaiting]));
    coder.code(whole);
    coder.measure(told);
    if (threadIdx.x < 32) tell_placed(told, seen);
    __syncthreads();  // the tile before is packed, too, and what was copied then is free
    ticket = told.next;
    if (kDim == 1) whole = fetch(ticket);
    const std::uint32_t bytes = coder.settle(tile, told);
    const bool is_last = tile + 1 == tiles_;
    const std::uint32_t metadata = coder.put_metadata(tile, is_last);
    const std::uint64_t block = std::uint64_t{tile} * (kTileGroups / kWords) + threadIdx.x / kWords;
    room_.sums[threadIdx.x].add(block / 4, metadata << 8 * (block % 4));
    if (is_last) pad_metadata();
    std::uint32_t copied = 0;
    if (bytes != 0) {
      const std::uint32_t at = make_room(bytes, copied);
      coder.pack(at);
      if (threadIdx.x == 0) room_.waiting[(first_ + waiting_) % kMostWaiting] = CodedTile{tile, bytes, at};
    }
    if (kDim != 1) whole = fetch(ticket);  // takes too many registers before
    for (; copied < told.placed; ++copied) copy_first(told.places[copied]);
    waiting_ += bytes != 0;
  }

  __device__ std::uint64_t* place_of(const CodedTile& coded) const { return task_.space.places + coded.tile; }

  // By the first warp; `seen`: of the place of the waiting tile that the lane has asked for.
  __device__ __forceinline__ void tell_placed(typename Room::PerTile& told, std::uint64_t seen) const {
    const unsigned placed = __ballot_sync(~0u, seen >= kPlaced);
    const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(~placed))) - 1;
    if (lane_.id < first) told.places[lane_.id] = seen & kPlaceValue;
    if (lane_.id == 0) told.placed = first;
  }

  // Words of room.coded that nothing is in since the threads met; if need be, tiles are waited for: `copied`.
  __device__ __forceinline__ std::uint32_t make_room(std::uint32_t bytes, std::uint32_t& copied) {
    using Words = CodedWords<kDim, kAligned>;
    const std::uint32_t room = Words::room(bytes);
    for (;; ++copied) {
      const std::uint32_t first = waiting_ == 0 ? 0 : room_.waiting[first_].at;
      std::uint32_t at = waiting_ == 0 ? 0 : end_;
      std::uint32_t limit = waiting_ == 0 || first < at ? Words::kWords : first;
      if (at + room > limit && limit == Words::kWords) at = 0, limit = first;
      if (waiting_ < kMostWaiting && at + room <= limit) {
        if (copied != 0) __syncthreads();
        end_ = at + room;
        return at;
      }
      copy_first();
    }
  }

  // The tile that has waited longest.
  __device__ __forceinline__ void copy_first() {
    std::uint64_t place = 0;
    if (lane_.id == 0) place = wait_for_place(place_of(room_.waiting[first_]));
    copy_first(__shfl_sync(~0u, place, 0));
  }
  __device__ __forceinline__ void copy_first(std::uint64_t place) {
    const CodedTile coded = room_.waiting[first_];
    first_ = (first_ + 1) % kMostWaiting;
    --waiting_;
    const std::uint64_t start = task_.coding.layout.metadata_bytes() + place;
    if (start + coded.bytes > task_.limit) return;  // incompressible: the list's kernel finds that out, too
    const std::uint32_t* const from = room_.coded + coded.at;
    auto* const to = reinterpret_cast<std::uint32_t*>(task_.payload) + start / 4;
    const TileSums sums =
        kAligned ? copy_aligned(from, coded.bytes, to) : copy_shifted(from, coded.bytes, to, start % 4);
    ChecksumState all = room_.sums[threadIdx.x];
    sums.join_to(all, start / 4);
    room_.sums[threadIdx.x] = all;
  }

  __device__ void tell_sums() const {
    const ChecksumState& mine = room_.sums[threadIdx.x];
    const ChecksumState all{gpu::block_sum(mine.sum), gpu::block_sum(mine.weighted)};
    if (threadIdx.x == 0)
      gpu::add_atomically(&task_.space.state->slots[blockIdx.x % EncodeState::kSlots].sums, all);
  }

  __device__ void pad_metadata() const {
    const auto& layout = task_.coding.layout;
    for (std::uint64_t i = layout.blocks() + threadIdx.x; i < layout.metadata_bytes(); i += kTileThreads)
      task_.payload[i] = std::byte{0};
  }

  __device__ void add_up() const {
    gpu::wait_for_last();
    if (threadIdx.x >= 32) return;
    const std::uint64_t bytes = place_tiles(task_.space.places, tiles_);
    if (threadIdx.x == 0) task_.space.state->coded = bytes;
  }

  const EncodeTask<T, kDim>& task_;
  Room& room_;
  const std::uint32_t tiles_;
  const Lane lane_;
  std::uint32_t first_ = 0, waiting_ = 0, end_ = 0;  // of room.waiting; `end_`: of the last one's words
};

inline constexpr std::size_t kSharedMemory = 228 * 1024,
                             kSharedOfSystem = 1024;  // of a multiprocessor, a block

// kAligned: all blocks begin at multiples of 4 bytes in the payload, so no outlier stands aside.
template <class T, unsigned kDim, bool kAligned>
__global__ __launch_bounds__(kTileThreads, kEncodingBlocks<T>) void encode_tiles(
    const __grid_constant__ EncodeTask<T, kDim> task) {
  static_assert(kEncodingBlocks<T> * (sizeof(EncodeRoom<T, kDim, kAligned>) + kSharedOfSystem + 128) <=
                kSharedMemory);
  extern __shared__ uint4 memory[];
  gpu::let_next_start();
  if (task.chosen) gpu::wait_for_last();  // for the choice
  if (!task.applies()) return;
  EncodeLoop<T, kDim, kAligned>(task, *reinterpret_cast<EncodeRoom<T, kDim, kAligned>*>(memory)).run();
}

}  // namespace homz::cuszp
