// Decoding on a GPU begins with the metadata: the sizes of the tiles and their places. Nothing in a payload
// is trusted. All of it is summed once, by whoever reads it.
#pragma once

#include "codecs/cuszp/device_encode.cuh"
#include "codecs/cuszp/trailer.hpp"
#include "core/gpu/exception_list.cuh"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {

using gpu::kThreads;

// What the kernels of one decoding share, in scratch that starts as zeros.
struct DecodeState {
  static constexpr unsigned kSlots = 32;

  struct alignas(128) Slot {
    ChecksumState sums;
  };
  Slot slots[kSlots];
  std::uint64_t upstream;  // bytes of metadata and blocks; 0: the payload cannot be decoded
  std::uint32_t arrived;
};

// Where tiles begin behind the metadata: from the start of their part, which is what a thread block measures.
struct TilePlaces {
  std::uint32_t* in_part;  // a tile
  std::uint64_t* parts;    // a part
};

inline constexpr unsigned kMeasured = 2048;  // bytes of metadata that a thread block looks at
template <unsigned kDim>
inline constexpr unsigned kPartTiles = kMeasured / (kTileGroups / Block<kDim>::kWords);

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
  TilePlaces places;
  ChecksumState* sums;
  std::uint32_t* fault;

  __host__ __device__ std::uint64_t tiles() const {
    return ceil_div<std::uint64_t>(layout.positions(), kTile);
  }
  __host__ __device__ std::uint64_t parts() const {
    return ceil_div<std::uint64_t>(tiles(), kPartTiles<kDim>);
  }
  __device__ std::uint64_t start(std::uint64_t tile) const {
    return layout.metadata_bytes() + places.parts[tile / kPartTiles<kDim>] + places.in_part[tile];
  }
  __device__ Trailer trailer() const {
    const std::byte* const end = payload + bytes - Trailer::kBytes;
    return Trailer::from(std::uint64_t{gpu::load_word(end)} | std::uint64_t{gpu::load_word(end + 4)} << 32);
  }
  __device__ bool applies() const {
    return dims == 1u << kDim || static_cast<unsigned>(payload[bytes - 1]) == kDim;  // the trailer's top byte
  }
};

// Adds up the bytes of all parts before each, by the thread block that comes last, and judges the total.
template <class T, unsigned kDim>
__device__ void place_parts(const DecodeTask<T, kDim>& task) {
  constexpr unsigned kEach = 16;
  std::uint64_t placed = 0;
  for (std::uint64_t base = 0; base < task.parts(); base += kEach * kThreads) {
    const std::uint64_t first = base + kEach * threadIdx.x;
    std::uint64_t bytes[kEach], own = 0, all = 0;
    for (unsigned i = 0; i < kEach; ++i)
      bytes[i] = first + i < task.parts() ? __ldcg(task.places.parts + first + i) : 0;
    for (unsigned i = 0; i < kEach; ++i) own += bytes[i];
    std::uint64_t start = placed + gpu::block_sum_before(own, &all);
    for (unsigned i = 0; i < kEach; ++i) {
      if (first + i < task.parts()) task.places.parts[first + i] = start;
      start += bytes[i];
    }
    placed += all;
  }
  if (threadIdx.x != 0) return;
  const Trailer trailer = task.trailer();
  const std::uint64_t upstream = task.layout.metadata_bytes() + placed;
  if (trailer.dim != kDim || trailer.upstream != upstream || upstream > task.bytes - Trailer::kBytes)
    gpu::raise(task.fault);
  else
    task.state->upstream = upstream;
}

// Eight metadata bytes a thread.
template <class T, unsigned kDim>
struct MetadataBytes {
  static constexpr unsigned kEach = kMeasured / kThreads;

  std::uint64_t first, words = 0;
  unsigned inside = 0;

  __device__ explicit MetadataBytes(const DecodeTask<T, kDim>& task)
      : first(std::uint64_t{blockIdx.x} * kMeasured + threadIdx.x * kEach) {
    const std::uint64_t end = task.layout.metadata_bytes();
    if (first >= end) return;
    inside = static_cast<unsigned>(end - first < kEach ? end - first : kEach);
    if (inside == kEach)
      words = gpu::load_word(task.payload + first) | std::uint64_t{gpu::load_word(task.payload + first + 4)}
                                                         << 32;
    else
      for (unsigned i = 0; i < inside; ++i)
        words |= std::uint64_t{static_cast<unsigned>(task.payload[first + i])} << 8 * i;
  }
  // The bytes of the blocks; `sound` becomes false if one cannot be.
  __device__ std::uint32_t measure(const DecodeTask<T, kDim>& task, bool& sound) const {
    std::uint32_t bytes = 0;
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
    return bytes;
  }
  __device__ ChecksumState sums() const {
    ChecksumState sums;
    sums.add(first / 4, static_cast<std::uint32_t>(words));
    sums.add(first / 4 + 1, static_cast<std::uint32_t>(words >> 32));
    return sums;
  }
};

template <class T, unsigned kDim>
__global__ __launch_bounds__(kThreads) void measure_tiles(const __grid_constant__ DecodeTask<T, kDim> task) {
  constexpr unsigned kTogether = kThreads / kPartTiles<kDim>;  // threads a tile: a warp or half of one
  __shared__ std::uint32_t tile_bytes[kPartTiles<kDim>];
  gpu::let_next_start();
  const MetadataBytes<T, kDim> mine(task);  // the payload is there already
  bool sound = true;
  std::uint32_t bytes = mine.measure(task, sound);
  gpu::wait_for_last();
  if (blockIdx.x == 0 && threadIdx.x == 0 && task.leads) {
    const unsigned dim = task.trailer().dim;
    if (dim > 3 || (task.dims >> dim & 1) == 0) gpu::raise(task.fault);
  }
  if (!task.applies()) return;
  if (!sound) gpu::raise(task.fault);
  for (unsigned step = kTogether / 2; step != 0; step /= 2) bytes += __shfl_xor_sync(~0u, bytes, step);
  if (threadIdx.x % kTogether == 0) tile_bytes[threadIdx.x / kTogether] = bytes;
  // A sum a block of threads: many blocks would crowd at few addresses.
  const ChecksumState sums = mine.sums(), all{gpu::block_sum(sums.sum), gpu::block_sum(sums.weighted)};
  if (threadIdx.x == 0) gpu::add_atomically(&task.state->slots[blockIdx.x % DecodeState::kSlots].sums, all);
  if (threadIdx.x < kPartTiles<kDim>) {
    const std::uint64_t tile = std::uint64_t{blockIdx.x} * kPartTiles<kDim> + threadIdx.x;
    std::uint32_t before = 0;
    for (unsigned t = 0; t < threadIdx.x; ++t) before += tile_bytes[t];
    if (tile < task.tiles()) task.places.in_part[tile] = before;
    if (threadIdx.x + 1 == kPartTiles<kDim> && blockIdx.x < task.parts())
      task.places.parts[blockIdx.x] = before + tile_bytes[threadIdx.x];
  }
  if (gpu::is_last_block(&task.state->arrived) && *reinterpret_cast<volatile std::uint32_t*>(task.fault) == 0)
    place_parts(task);
}

}  // namespace homz::cuszp
