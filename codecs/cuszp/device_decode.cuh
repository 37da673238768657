// Decoding on a GPU: sizes of the tiles from their metadata, their places, their values, then the exception
// list. Nothing in a payload is trusted. All of it is summed once, by whoever reads it.
#pragma once

#include "codecs/cuszp/device_tiles.cuh"
#include "codecs/cuszp/trailer.hpp"
#include "core/gpu/exception_list.cuh"

namespace homz::cuszp {

// Found by measuring: how many rounds to unroll.
inline constexpr unsigned kDecodeUnroll = 2;

using gpu::kThreads;

// What the kernels of one decoding share, in scratch that starts as zeros.
struct DecodeState {
  static constexpr unsigned kSlots = 32;

  struct alignas(128) Slot {
    ChecksumState sums;
  };
  Slot slots[kSlots];
  std::uint64_t upstream;  // bytes of metadata and blocks; 0: the payload cannot be decoded
};

template <class T, unsigned kDim>
struct DecodeTask {
  typename LayoutOf<kDim>::Type layout;
  Quantiser<T> quantiser;
  Mode mode;
  const std::byte* payload;
  std::uint64_t bytes;
  BitsOf<T>* data;
  bool has_fill;
  BitsOf<T> fill;
  unsigned dims;  // bit d: d dimensions are possible; more than one: the trailer decides
  bool leads;     // of the tasks for these, the one that refuses all others
  DecodeState* state;
  std::uint64_t* tile_starts;  // a tile: its bytes, then where they begin behind the metadata
  ChecksumState* sums;
  std::uint32_t* fault;

  __host__ __device__ std::uint64_t tiles() const {
    return ceil_div<std::uint64_t>(layout.positions(), kTile);
  }
  __device__ Trailer trailer() const {
    const std::byte* const end = payload + bytes - Trailer::kBytes;
    return Trailer::from(std::uint64_t{gpu::load_word(end)} | std::uint64_t{gpu::load_word(end + 4)} << 32);
  }
  __device__ bool applies() const {
    return dims == 1u << kDim || static_cast<unsigned>(payload[bytes - 1]) == kDim;  // the trailer's top byte
  }
};

inline constexpr unsigned kMeasured = 2048;  // bytes of metadata that a thread block looks at

template <class T, unsigned kDim>
__global__ __launch_bounds__(kThreads) void measure_tiles(DecodeTask<T, kDim> task) {
  constexpr unsigned kTileBlocks = kTileGroups / Block<kDim>::kWords;
  constexpr unsigned kEach = kMeasured / kThreads;     // bytes a thread
  constexpr unsigned kTogether = kTileBlocks / kEach;  // threads a tile: a warp or half of one
  if (blockIdx.x == 0 && threadIdx.x == 0 && task.leads) {
    const unsigned dim = task.trailer().dim;
    if (dim > 3 || (task.dims >> dim & 1) == 0) gpu::raise(task.fault);
  }
  if (!task.applies()) return;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kMeasured + threadIdx.x * kEach;
  std::uint32_t bytes = 0;
  std::uint64_t words = 0;
  if (first < task.layout.metadata_bytes()) {
    const bool all = first + kEach <= task.layout.metadata_bytes();
    const auto inside = static_cast<unsigned>(all ? kEach : task.layout.metadata_bytes() - first);
    if (all)
      words = gpu::load_word(task.payload + first) | std::uint64_t{gpu::load_word(task.payload + first + 4)}
                                                         << 32;
    else
      for (unsigned i = 0; i < inside; ++i)
        words |= std::uint64_t{static_cast<unsigned>(task.payload[first + i])} << 8 * i;
    bool sound = true;
    for (unsigned i = 0; i < inside; ++i) {
      const auto metadata = static_cast<std::byte>(words >> 8 * i & 0xff);
      if (first + i < task.layout.blocks()) {
        Shape shape;
        sound &= read_shape<kDim>(metadata, task.mode, shape);
        bytes += shape.bytes(Block<kDim>::kPlaneBytes);
      } else if (LayoutOf<kDim>::Type::kPadIsZero) {
        sound &= metadata == std::byte{0};
      }
    }
    if (!sound) gpu::raise(task.fault);
  }
  ChecksumState sums;
  sums.add(first / 4, static_cast<std::uint32_t>(words));
  sums.add(first / 4 + 1, static_cast<std::uint32_t>(words >> 32));
  for (unsigned step = kTogether / 2; step != 0; step /= 2) bytes += __shfl_xor_sync(~0u, bytes, step);
  const std::uint64_t tile = first / kTileBlocks;
  if (threadIdx.x % kTogether == 0 && tile < task.tiles()) task.tile_starts[tile] = bytes;
  // A sum a block of threads: many blocks would crowd at few addresses.
  const ChecksumState all{gpu::block_sum(sums.sum), gpu::block_sum(sums.weighted)};
  if (threadIdx.x == 0) gpu::add_atomically(&task.state->slots[blockIdx.x % DecodeState::kSlots].sums, all);
}

inline constexpr unsigned kPlacers = 1024;

// By one thread block.
template <class T, unsigned kDim>
__global__ __launch_bounds__(kPlacers) void place_tiles(DecodeTask<T, kDim> task) {
  if (!task.applies() || *task.fault != 0) return;
  constexpr unsigned kEach = 8;
  __shared__ std::uint64_t parts[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint64_t placed = 0;
  for (std::uint64_t base = 0; base < task.tiles(); base += kEach * kPlacers) {
    std::uint64_t* const mine = task.tile_starts + base + kEach * threadIdx.x;
    const std::uint64_t left = task.tiles() - base;
    const auto is_tile = [&](unsigned i) { return kEach * threadIdx.x + i < left; };
    std::uint64_t sizes[kEach], upto = 0;
    for (unsigned i = 0; i < kEach; ++i) sizes[i] = is_tile(i) ? mine[i] : 0;
    for (unsigned i = 0; i < kEach; ++i) upto += sizes[i];
    const std::uint64_t own = upto;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint64_t other = __shfl_up_sync(~0u, upto, step);
      if (lane >= step) upto += other;
    }
    __syncthreads();
    if (lane == 31) parts[warp] = upto;
    __syncthreads();
    std::uint64_t start = placed + upto - own;
    for (unsigned w = 0; w < 32; ++w) {
      start += w < warp ? parts[w] : 0;
      placed += parts[w];
    }
    for (unsigned i = 0; i < kEach; ++i) {
      if (is_tile(i)) mine[i] = start;
      start += sizes[i];
    }
  }
  if (threadIdx.x != 0) return;
  const Trailer trailer = task.trailer();
  const std::uint64_t upstream = task.layout.metadata_bytes() + placed;
  if (trailer.dim != kDim || trailer.upstream != upstream || upstream > task.bytes - Trailer::kBytes)
    gpu::raise(task.fault);
  else
    task.state->upstream = upstream;
}

// Reads the planes of a round: a lane has one of each eight of its block's group.
template <unsigned kDim, bool kAligned>
struct PlaneReader {
  static constexpr unsigned kStride = 32 * Block<kDim>::kWords;  // bytes of eight planes

  const std::byte* from;  // this lane's first plane
  std::uint32_t offset;   // the same from a word of the payload
  std::uint32_t planes;   // from it on, at most; 0: none
  std::uint32_t first = 0, second = 0;

  // `half`: the group's number in its block.
  __device__ __forceinline__ PlaneReader(const Lane& lane, BlockBytes block, const std::byte* tile,
                                         std::uint32_t phase, unsigned half) {
    const std::uint32_t at = block.offset() + (kAligned ? 0 : block.outlier_bytes()) +
                             4 * (Block<kDim>::kWords * (lane.id % 8) + half);
    from = tile + at;
    offset = phase + at;
    planes = block.planes() > lane.id % 8 ? block.planes() - lane.id % 8 : 0;
    if (planes > 0) first = load(0);
    if (planes > 8) second = load(1);
  }
  __device__ __forceinline__ std::uint32_t load(unsigned s) const {
    if constexpr (kAligned) return __ldcs(reinterpret_cast<const std::uint32_t*>(from + kStride * s));
    return gpu::load_word(from + kStride * s);
  }
  __device__ __forceinline__ std::uint32_t word(unsigned s, TileSums& sums) const {
    if (8 * s >= planes) return 0;
    const std::uint32_t word = s == 0 ? first : s == 1 ? second : load(s);
    sums.add<kAligned>(offset + kStride * s, word);
    return word;
  }
};

// The magnitudes and signs (magnitude << 1 | sign) of a round.
template <unsigned kDim, bool kAligned>
__device__ __forceinline__ void read_words(const Transposer& transpose,
                                           const PlaneReader<kDim, kAligned>& reader, std::uint32_t widest,
                                           TileSums& sums, std::uint32_t (&spread)[4]) {
  std::uint32_t low = transpose(reader.word(0, sums)), next = 0;
  if (widest > 8) next = transpose(reader.word(1, sums));
  if (widest <= 16) {
    for (unsigned c = 0; c < 4; ++c) spread[c] = __byte_perm(low, next, c | (c + 4) << 4) & 0xffff;
    return;
  }
  const std::uint32_t third = transpose(reader.word(2, sums));
  std::uint32_t fourth = 0;
  if (widest > 24) fourth = transpose(reader.word(3, sums));
  for (unsigned c = 0; c < 4; ++c)
    spread[c] = __byte_perm(__byte_perm(low, next, c | (c + 4) << 4),
                            __byte_perm(third, fourth, c | (c + 4) << 4), 0x5410);
}

// The rounds of a warp. `mine`: of this lane's block; `from`: the warp's bytes, `phase` bytes from the tile's
// first word of the payload.
template <bool kWhole, bool kAligned, class T, unsigned kDim>
__device__ __forceinline__ void decode_rounds(const DecodeTask<T, kDim>& task, const Lane& lane,
                                              const Places<kDim>& places, BlockBytes mine,
                                              const std::byte* from, std::uint32_t phase, TileSums& sums) {
  constexpr unsigned kWords = Block<kDim>::kWords, kRoundBlocks = 4 / kWords;
  const unsigned half = kDim == 1 ? 0 : lane.group % 2;
  const Transposer transpose(lane);
  const auto bytes_of = [&](unsigned r) {
    return BlockBytes(__shfl_sync(~0u, mine.packed, r * kRoundBlocks + lane.group / kWords));
  };
  BlockBytes next = bytes_of(0);
  PlaneReader<kDim, kAligned> ahead(lane, next, from, phase, half);
#pragma unroll(kWhole ? kDecodeUnroll : 1)
  for (unsigned r = 0; r < kRounds; ++r) {
    const BlockBytes is = next;
    const PlaneReader<kDim, kAligned> reader = ahead;
    if (r + 1 < kRounds) {
      next = bytes_of(r + 1);
      ahead = PlaneReader<kDim, kAligned>(lane, next, from, phase, half);
    }
    const std::uint32_t widest = __reduce_max_sync(~0u, is.planes());
    std::uint32_t quanta[4] = {};
    if (widest != 0) {
      std::uint32_t spread[4];
      read_words(transpose, reader, widest, sums, spread);
      std::uint32_t tops = 0;
      if (kDim != 1 && widest > 32) tops = transpose(reader.word(4, sums));
      for (unsigned c = 0; c < 4; ++c) {
        std::uint32_t size = spread[c] >> 1;
        if (kDim != 1) size |= (tops >> 8 * c & 1) << 31;
        if (!kAligned && c == 0 && is.outlier_bytes() != 0 && holds_first<kDim>(lane)) {
          size = gpu::load_bytes(from + is.offset(), is.outlier_bytes());
          sums.add<false>(phase + is.offset(), size);
        }
        quanta[c] = (spread[c] & 1) != 0 ? 0 - size : size;
      }
      if (task.mode != Mode::fixed) accumulate<kDim>(lane, quanta);
    }
    if constexpr (kWhole) {
      auto* const to = places.base(task.data, lane, r);
      for (unsigned c = 0; c < 4; ++c)
        __stcs(to + places.step(c), bits_of(task.quantiser.restore(quanta[c])));
    } else {
      const Elements elements = places.of(lane, r);
      for (unsigned c = 0; c < 4; ++c)
        if ((elements.owned >> c & 1) != 0)
          __stcs(task.data + elements.at[c], bits_of(task.quantiser.restore(quanta[c])));
    }
  }
}

template <class T, unsigned kDim, bool kAligned>
__global__ __launch_bounds__(kTileThreads, kDim == 1 ? 5 : 4) void decode_tiles(DecodeTask<T, kDim> task) {
  constexpr unsigned kWords = Block<kDim>::kWords, kRoundBlocks = 4 / kWords;
  constexpr unsigned kWarpBlocks = kRounds * kRoundBlocks;
  __shared__ std::uint32_t warp_bytes[kTileWarps];
  __shared__ ChecksumState warp_sums[kTileWarps];
  const std::uint64_t upstream = task.state->upstream;
  if (!task.applies() || upstream == 0) return;
  const Lane lane;
  const unsigned warp = threadIdx.x / 32;
  const std::uint64_t tile = blockIdx.x;
  const std::uint64_t first_group = tile * kTileGroups + warp * kWarpGroups;
  const std::uint64_t block = first_group / kWords + lane.id;
  std::uint32_t metadata = 0;
  if (lane.id < kWarpBlocks && block < task.layout.blocks())
    metadata = static_cast<std::uint32_t>(task.payload[block]);
  Shape shape;
  if (!read_shape<kDim>(static_cast<std::byte>(metadata), task.mode, shape)) shape = Shape();
  const std::uint32_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
  const std::uint32_t upto = warp_sum_upto(lane.id, bytes);
  if (lane.id == 31) warp_bytes[warp] = upto;
  __syncthreads();
  std::uint32_t before = 0, total = 0;
  for (unsigned w = 0; w < kTileWarps; ++w) {
    before += w < warp ? warp_bytes[w] : 0;
    total += warp_bytes[w];
  }
  const std::uint64_t start = task.layout.metadata_bytes() + task.tile_starts[tile];
  if (start + total > upstream) {  // it changed while it was read
    if (threadIdx.x == 0) gpu::raise(task.fault);
    return;
  }
  const std::uint32_t phase = before + (kAligned ? 0 : start % 4);
  const BlockBytes mine(upto - bytes, shape);
  const Places<kDim> places(task.layout, first_group, lane);
  TileSums sums;
  if (places.all_whole())
    decode_rounds<true, kAligned>(task, lane, places, mine, task.payload + start + before, phase, sums);
  else
    decode_rounds<false, kAligned>(task, lane, places, mine, task.payload + start + before, phase, sums);
  sums.give(warp_sums, start / 4, &task.state->slots[tile % DecodeState::kSlots].sums);
}

// The element that a position of the layout owns; ~0 if there is none.
__device__ inline std::uint64_t element_at(const Line&, std::uint64_t position) {
  return position;
}
template <unsigned kDim>
__device__ std::uint64_t element_at(const Tiles<kDim>& layout, std::uint64_t position) {
  const Place<kDim> place = layout.place(position / 64);
  const unsigned i = position % 64;
  return (place.owned >> i & 1) != 0 ? place.element(i) : ~std::uint64_t{0};
}

// The exception list and the trailer.
template <class T, unsigned kDim>
__global__ __launch_bounds__(kThreads) void patch(DecodeTask<T, kDim> task) {
  const std::uint64_t upstream = task.state->upstream;
  if (!task.applies() || upstream == 0) return;
  const std::uint64_t body = task.bytes - Trailer::kBytes;
  const gpu::ListView list{task.payload + upstream, body - upstream, task.layout.positions(), task.has_fill,
                           true};
  gpu::put_exceptions<T>(list, task.fill, task.fault, [&](std::uint64_t position, BitsOf<T> bits) {
    const std::uint64_t element = element_at(task.layout, position);
    if (element < task.layout.count())
      task.data[element] = bits;
    else
      gpu::raise(task.fault);
  });
  ChecksumState sums;
  for (std::uint64_t at = upstream + 4 * (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x);
       at < task.bytes; at += std::uint64_t{4} * gridDim.x * kThreads) {
    const auto left = static_cast<unsigned>(task.bytes - at < 4 ? task.bytes - at : 4);
    gpu::add_at(sums, at, gpu::load_bytes(task.payload + at, left));
  }
  if (blockIdx.x == 0 && threadIdx.x < DecodeState::kSlots) sums.join(task.state->slots[threadIdx.x].sums, 0);
  gpu::add_from_block(task.sums, sums);
}

}  // namespace homz::cuszp
