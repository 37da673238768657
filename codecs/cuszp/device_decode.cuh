// Decoding on a GPU, when the places of the tiles are known: their values, then the exception list.
#pragma once

#include "codecs/cuszp/device_decode_sizes.cuh"

namespace homz::cuszp {

// The bytes of a tile in shared memory, from the 16 bytes that its first one is in; 16 bytes are left out
// behind every 128, so that blocks of equal sizes do not crowd in few banks.
struct TileBytes {
  static constexpr unsigned kMost = kTileGroups * 33 + 8;  // words
  static constexpr unsigned kWords = kMost + kMost / 8 + 8;

  __device__ static constexpr unsigned at(unsigned word) { return word + word / 32 * 4; }
};

// Of a group's eight quads, those whose values are in shared memory at a time.
template <class T>
inline constexpr unsigned kDecodeQuads = 32 / sizeof(T);
template <class T, unsigned kDim>
inline constexpr unsigned kDecodeWords = std::max(kTileWarps* Rows<T, kDim, kDecodeQuads<T>>::kWords,
                                                  TileBytes::kWords);
inline constexpr unsigned kDecodingBlocks = 4;  // of a multiprocessor

// One tile from its coded bytes to values.
template <class T, unsigned kDim, bool kAligned>
class TileDecoder {
 public:
  __device__ TileDecoder(const DecodeTask<T, kDim>& task, std::uint32_t* room)
      : task_(task),
        room_(room),
        warp_(threadIdx.x / 32),
        first_group_(std::uint64_t{blockIdx.x} * kTileGroups + warp_ * kWarpGroups) {}

  // False if there is nothing to decode it from.
  __device__ __forceinline__ bool find(std::uint64_t tile, std::uint64_t upstream) {
    start_ = task_.start(tile);
    const std::uint64_t end = tile + 1 < task_.tiles() ? task_.start(tile + 1) : upstream;
    bytes_ = static_cast<std::uint32_t>(end - start_);
    return end <= upstream && end - start_ <= kTileGroups * 33 * 4;
  }

  // Asks for the tile's bytes.
  __device__ __forceinline__ void fetch() {
    const std::byte* const from = task_.payload + start_;
    shift_ = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16);
    const std::byte* const aligned = from - shift_;
    // Behind the payload there may be no memory.
    const std::uint64_t there = (task_.payload + task_.bytes - aligned) / 16;
    for (std::uint32_t i = threadIdx.x; i < quads(); i += kTileThreads) {
      std::uint32_t* const to = room_ + TileBytes::at(4 * i);
      if (i < there)
        copy_async(to, aligned + 16 * i);
      else
        for (unsigned k = 0; k < 4; ++k) to[k] = word_or_zero(aligned + 16 * i + 4 * k);
    }
  }

  // Asks for the metadata, which is there whatever it says.
  __device__ __forceinline__ void ask() {
    const std::uint64_t block = (first_group_ + lane_.id) / kWords;
    metadata_ = block < task_.layout.blocks() ? task_.payload[block] : std::byte{0};
  }
  // From the metadata: where this thread's planes are, if the other warps have told their bytes.
  __device__ __forceinline__ void look(std::uint32_t* warp_bytes) {
    if (!read_shape<kDim>(metadata_, task_.mode, shape_)) shape_ = Shape();
    const std::uint32_t planes = shape_.zero() ? 0 : 4 * (1 + shape_.width);
    const std::uint32_t upto = warp_sum_upto(lane_.id, planes + (leads() ? shape_.outlier_bytes : 0));
    at_ = upto - planes;
    if (kDim != 1 && !leads()) at_ = upto - 2 * planes + 4;
    if (lane_.id == 31) warp_bytes[warp_] = upto;
  }

  // The sums of what the warp has fetched, in all lanes.
  __device__ __forceinline__ ChecksumState sum() const {
    const std::uint32_t end = shift_ + bytes_;
    TileSums sums;
    for (std::uint32_t i = threadIdx.x; i < quads(); i += kTileThreads) {
      const uint4 quad = *reinterpret_cast<const uint4*>(room_ + TileBytes::at(4 * i));
      std::uint32_t words[4] = {quad.x, quad.y, quad.z, quad.w};
      if (16 * i < shift_ || 16 * i + 16 > end)
        for (unsigned k = 0; k < 4; ++k) words[k] &= inside(16 * i + 4 * k, end);
      for (unsigned k = 0; k < 4; ++k) sums.add_word(4 * i + k, words[k]);
    }
    sums.sum = gpu::warp_sum_below<2>(sums.sum);
    sums.weighted = gpu::warp_sum_below<3>(sums.weighted);
    // Words are numbered from the one that holds the first of the fetched bytes, which may be before the
    // payload.
    ChecksumState all;
    sums.join_to(all, static_cast<std::uint64_t>((static_cast<std::int64_t>(start_) - shift_) / 4));
    return all;
  }

  __device__ __forceinline__ void read(const std::uint32_t* warp_bytes) {
    for (unsigned w = 0; w < kTileWarps; ++w) at_ += w < warp_ ? warp_bytes[w] : 0;
    if (shape_.zero()) {
      for (unsigned i = 0; i < kGroup; ++i) sizes_[i] = 0;
      signs_ = 0;
      return;
    }
    const std::uint32_t at = shift_ + at_;
    const auto word = [&](unsigned plane) { return load(at + 4 * kWords * plane); };
    signs_ = word(0);
    get_planes(sizes_, shape_.width, [&](unsigned plane) { return word(1 + plane); });
    if (!kAligned && shape_.outlier_bytes != 0 && leads())
      sizes_[0] = load(at - shape_.outlier_bytes) & (~0u >> (32 - 8 * shape_.outlier_bytes));
  }

  // The values to the field, by way of rows that take the place of the bytes.
  __device__ __forceinline__ void write() {
#pragma unroll
    for (unsigned i = 0; i < kGroup; ++i)
      sizes_[i] = (signs_ >> (i / 8 * 8 + 7 - i % 8) & 1) != 0 ? 0 - sizes_[i] : sizes_[i];
    if (task_.mode != Mode::fixed) accumulate();
    const Places<kDim> places(task_.layout, first_group_, lane_);
    T* const rows = reinterpret_cast<T*>(room_) + TheRows::kValues * warp_;
    T* const own = rows + TheRows::group(lane_.id);
#pragma unroll
    for (unsigned pass = 0; pass < TheRows::kPasses; ++pass) {
      if (pass != 0) __syncwarp();
#pragma unroll
      for (unsigned k = 0; k < kQuads; ++k) {
        Quad<T> quad;
        for (unsigned i = 0; i < 4; ++i)
          quad.values[i] = task_.quantiser.restore(sizes_[4 * (kQuads * pass + k) + i]);
        quad.store(own + TheRows::quad(k));
      }
      __syncwarp();
      store_groups<T, kDim, kQuads>(task_.data, places, lane_, rows, pass);
    }
  }

 private:
  static constexpr unsigned kWords = Block<kDim>::kWords, kQuads = kDecodeQuads<T>;
  using TheRows = Rows<T, kDim, kQuads>;

  __device__ bool leads() const {
    return kDim == 1 || lane_.id % 2 == 0;
  }
  __device__ std::uint32_t quads() const {
    return (shift_ + bytes_ + 15) / 16;
  }
  __device__ std::uint32_t word_or_zero(const std::byte* from) const {
    const std::byte* const end = task_.payload + task_.bytes;
    return from >= end ? 0 : gpu::load_bytes(from, end - from < 4 ? static_cast<unsigned>(end - from) : 4);
  }
  // Which of the bytes from `at` on are the tile's.
  __device__ std::uint32_t inside(std::uint32_t at, std::uint32_t end) const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < 4; ++i)
      if (at + i >= shift_ && at + i < end) mask |= 0xffu << 8 * i;
    return mask;
  }
  __device__ __forceinline__ std::uint32_t load(std::uint32_t at) const {
    const std::uint32_t word = room_[TileBytes::at(at / 4)];
    if (kAligned) return word;
    return __funnelshift_r(word, room_[TileBytes::at(at / 4 + 1)], 8 * (at % 4));
  }
  __device__ __forceinline__ void accumulate() {
    std::uint32_t linked = 0;
    if constexpr (kDim == 1) {
#pragma unroll
      for (unsigned i = 1; i < kGroup; ++i) sizes_[i] += sizes_[i - 1];
    } else {
#pragma unroll
      for (unsigned i = 1; i < kGroup; ++i) sizes_[i] += sizes_[Block<kDim>::predictor(i)];
      linked = __shfl_up_sync(~0u, sizes_[kLinked<kDim>], 1);
      if (leads()) linked = 0;
#pragma unroll
      for (unsigned i = 0; i < kGroup; ++i) sizes_[i] += linked;
    }
  }

  const DecodeTask<T, kDim>& task_;
  std::uint32_t* const room_;
  const Lane lane_;
  const unsigned warp_;
  const std::uint64_t first_group_;
  std::uint64_t start_;
  std::byte metadata_;
  std::uint32_t bytes_, shift_, at_, signs_, sizes_[kGroup];
  Shape shape_;
};

template <class T, unsigned kDim, bool kAligned>
__global__ __launch_bounds__(kTileThreads, kDecodingBlocks) void decode_tiles(
    const __grid_constant__ DecodeTask<T, kDim> task) {
  extern __shared__ uint4 memory[];
  __shared__ std::uint32_t warp_bytes[kTileWarps];
  __shared__ ChecksumState warp_sums[kTileWarps];
  gpu::let_next_start();
  TileDecoder<T, kDim, kAligned> decoder(task, reinterpret_cast<std::uint32_t*>(memory));
  decoder.ask();
  gpu::wait_for_last();
  const std::uint64_t upstream = task.state->upstream;
  if (!task.applies() || upstream == 0) return;
  if (!decoder.find(blockIdx.x, upstream)) {  // it changed while it was read
    if (threadIdx.x == 0) gpu::raise(task.fault);
    return;
  }
  decoder.fetch();
  decoder.look(warp_bytes);
  wait_for_copies();
  const ChecksumState sums = decoder.sum();
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sums;
  __syncthreads();
  decoder.read(warp_bytes);
  __syncthreads();
  decoder.write();
  if (threadIdx.x != 0) return;
  ChecksumState all;
  for (unsigned w = 0; w < kTileWarps; ++w) all.join(warp_sums[w], 0);
  gpu::add_atomically(&task.state->slots[blockIdx.x % DecodeState::kSlots].sums, all);
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
__global__ __launch_bounds__(kThreads) void patch(const __grid_constant__ DecodeTask<T, kDim> task) {
  gpu::let_next_start();
  gpu::wait_for_last();
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
