// Chunks, on the device: where their values lie in the field, and where in shared memory.
#pragma once

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp::device {

using u32 = std::uint32_t;
using u64 = unsigned long long;  // what atomics take
using i32 = std::int32_t;

inline constexpr unsigned kThreads = kBlocks;  // a thread a block of the chunk
inline constexpr unsigned kWarps = kThreads / 32;
inline constexpr u32 kAllLanes = ~0u;

// n / d for n < 4096 and 0 < d <= 4096, by a multiplication: with m = ceil(2^24 / d) the error n (m d - 2^24)
// is below 2^24.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(u32 d) : inverse_(((1u << 24) + d - 1) / d) {}
  __device__ u32 divide(u32 n) const { return __umulhi(n << 8, inverse_); }

 private:
  u32 inverse_;
};

// A chunk's part of the field, as Box, with what it takes to find the coordinates of a value.
struct DeviceBox {
  u64 first;
  u64 strides[3];  // along w, z, y
  u32 row, rows, planes, count;
  Divisor by_row, by_rows, by_planes;
  u32 is_full;  // 4096 values: extents are powers of two
  u32 bits[3];  // then: those of a number in front of y, z and w

  __device__ u32 plane() const { return row * rows; }
  __device__ u32 blocks() const { return (count + kBlock - 1) / kBlock; }
  __device__ bool is_row() const { return row == count; }
  __device__ u32 valid(u32 block) const {  // positions of a block that have a value
    const u32 before = kBlock * block;
    return before + kBlock <= count ? ~0u : before >= count ? 0 : (1u << (count - before)) - 1;
  }

  struct Place {
    u32 x, y, z, w;
  };
  __device__ Place place(u32 n) const {
    if (is_row()) return {n, 0, 0, 0};
    if (is_full) return {n & (row - 1), n >> bits[0] & (rows - 1), n >> bits[1] & (planes - 1), n >> bits[2]};
    const u32 r = by_row.divide(n), p = by_rows.divide(r), w = by_planes.divide(p);
    return {n - r * row, r - p * rows, p - w * planes, w};
  }
  // Whether there is a value in front of it along y, along z.
  __device__ bool has_y(u32 n) const {
    return is_full ? (n & ((rows - 1) << bits[0])) != 0 : place(n).y != 0;
  }
  __device__ bool has_z(u32 n) const {
    return is_full ? (n & ((planes - 1) << bits[1])) != 0 : place(n).z != 0;
  }
  // Which positions of a block are the first of a row.
  __device__ u32 row_starts(u32 block) const {
    const u32 n = kBlock * block, within = n - by_row.divide(n) * row;
    u32 starts = 0;
    for (u32 at = within == 0 ? 0 : row - within; at < kBlock; at += row) starts |= 1u << at;
    return starts;
  }
  __device__ u64 position(u32 n) const {  // in the field
    if (is_row()) return first + n;
    const Place at = place(n);
    return first + at.w * strides[0] + at.z * strides[1] + at.y * strides[2] + at.x;
  }
};

// Grid, as the kernels take it. There are fewer than 2^32 chunks.
struct DeviceGrid {
  struct Axis {
    u64 stride, chunk_stride;  // in the field, of a value and of a chunk
    u64 inverse;               // of the number of chunks: 2^64 / count + 1; 0 if there is one
    u32 count;                 // chunks
    u32 extents[2];            // of a chunk, and of the last one
    Divisor by[2];             // those
  } axes[kAxes];
  u64 rounds[16];  // of a full chunk, in the field: where pieces are from which 32 lanes take 16 bytes each
  u32 chunks;
  u32 last_count;  // values of the last chunk, if there is one axis
  u32 bits[3];     // as DeviceBox

  // Where a chunk is along an axis, and what is left of its number for the axes in front. With m = inverse,
  // the error n (m count - 2^64) is below 2^64.
  __device__ static u32 index(const Axis& axis, u32& chunk) {
    const u32 rest = axis.inverse == 0 ? chunk : static_cast<u32>(__umul64hi(chunk, axis.inverse));
    const u32 index = chunk - rest * axis.count;
    chunk = rest;
    return index;
  }

  __device__ DeviceBox box(u32 chunk) const {
    DeviceBox box;
    u32 extent[kAxes];
    Divisor by[kAxes];
    box.first = 0;
    for (unsigned i = kAxes; i-- > 0;) {
      const Axis& axis = axes[i];
      const u32 at = index(axis, chunk), is_last = at + 1 == axis.count;
      extent[i] = axis.extents[is_last];
      by[i] = axis.by[is_last];
      box.first += at * axis.chunk_stride;
      if (i != 3) box.strides[i] = axis.stride;
    }
    box.row = extent[3];
    box.rows = extent[2];
    box.planes = extent[1];
    box.count = extent[0] * extent[1] * extent[2] * extent[3];
    box.by_row = by[3];
    box.by_rows = by[2];
    box.by_planes = by[1];
    box.is_full = box.count == kChunk;
    for (unsigned i = 0; i < 3; ++i) box.bits[i] = bits[i];
    return box;
  }
  __device__ u32 count(u32 chunk) const {  // values
    u32 count = 1;
    for (unsigned i = kAxes; i-- > 0;) count *= axes[i].extents[index(axes[i], chunk) + 1 == axes[i].count];
    return count;
  }
};

// A chunk of a field of one axis: all but the last are whole.
__device__ inline DeviceBox flat_box(const DeviceGrid& grid, u32 chunk) {
  DeviceBox box;
  box.first = u64{chunk} * kChunk;
  box.row = box.count = chunk + 1 < grid.chunks ? kChunk : grid.last_count;
  box.is_full = box.count == kChunk;
  return box;
}

inline DeviceGrid device_grid(const Grid& grid, unsigned value_bytes) {
  DeviceGrid to{};
  for (unsigned i = 0; i < kAxes; ++i) {
    DeviceGrid::Axis& axis = to.axes[i];
    const auto side = static_cast<u32>(grid.side(i));
    axis.stride = grid.stride(i);
    axis.chunk_stride = axis.stride * side;
    axis.count = static_cast<u32>(ceil_div(grid.extent(i), grid.side(i)));
    axis.inverse = axis.count > 1 ? ~u64{0} / axis.count + 1 : 0;
    axis.extents[0] = side;
    axis.extents[1] = static_cast<u32>(grid.extent(i) - u64{axis.count - 1} * side);
    for (unsigned last = 0; last < 2; ++last) axis.by[last] = Divisor(axis.extents[last]);
  }
  const unsigned values = 32 * 16 / value_bytes;  // of a round
  unsigned bit = 0;                               // of a value's number in a full chunk
  for (unsigned i = kAxes; i-- > 0;) {
    for (u64 step = 1; step < to.axes[i].extents[0] && bit < 12; step *= 2, ++bit)
      for (unsigned round = 0; round < 16; ++round)
        if ((round * values >> bit & 1) != 0) to.rounds[round] += step * to.axes[i].stride;
    if (i != 0) to.bits[3 - i] = bit;
  }
  to.chunks = static_cast<u32>(grid.chunks());
  to.last_count = to.axes[3].extents[1];
  return to;
}

// A kernel may be launched while the one before it ends: the latter lets it, and it waits for all that the
// latter writes.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void wait_for_last() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- Shared memory. A thread reads and writes its block by pieces of 16 bytes; the blocks' pieces are
// permuted so that threads side by side meet different banks.

template <class T>
struct Stage {
  static constexpr unsigned kPiece = 16 / sizeof(T);               // values
  static constexpr unsigned kBlockWords = kBlock * sizeof(T) / 4;  // from block to block
  static constexpr unsigned kWords = kBlockWords * kBlocks;

  // The word where a piece of a block is, and the one where a quantum is. Quanta take the place of values:
  // the first 128 bytes of a block.
  __device__ static u32 piece(u32 block, u32 index) {
    return block * kBlockWords + ((index ^ (block & 7)) << 2);
  }
  __device__ static u32 quantum(u32 n) { return piece(n >> 5, n >> 2 & 7) | (n & 3); }
  __device__ static u32 value(u32 n) {
    return piece(n >> 5, n % kBlock / kPiece) + n % kPiece * static_cast<u32>(sizeof(T) / 4);
  }
};

// Whether the pieces of a box's rows stand on 16 bytes in the field.
template <class T>
__device__ inline bool has_whole_pieces(const DeviceBox& box, const T* data) {
  constexpr u64 kPiece = Stage<T>::kPiece;
  if (((reinterpret_cast<u64>(data) / sizeof(T)) | box.first) % kPiece != 0) return false;
  return box.is_row() || (box.row | box.strides[0] | box.strides[1] | box.strides[2]) % kPiece == 0;
}

__device__ inline u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}
template <unsigned kBytes>
__device__ inline void copy_async(u32* to, const void* from) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes)
                 : "memory");
}
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// The values of the warp's 32 blocks to `stage`, whatever the box; zeros behind the last. To be waited for.
template <class T>
__device__ __noinline__ void load_box(DeviceBox box, const T* data, u32* stage) {
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (has_whole_pieces(box, data)) {
    constexpr u32 kPiece = Stage<T>::kPiece, kOfBlock = kBlock / kPiece;
#pragma unroll
    for (u32 i = 0; i < kOfBlock; ++i) {
      const u32 piece = i * 32 + lane, n = warp * 1024 + piece * kPiece;
      u32* const to = stage + Stage<T>::piece(warp * 32 + piece / kOfBlock, piece % kOfBlock);
      if (n + kPiece <= box.count) {
        copy_async<16>(to, data + box.position(n));
      } else {
        T* const values = reinterpret_cast<T*>(to);
        for (u32 k = 0; k < kPiece; ++k) values[k] = n + k < box.count ? data[box.position(n + k)] : T(0);
      }
    }
  } else {
#pragma unroll 4
    for (u32 i = 0; i < 32; ++i) {
      const u32 n = warp * 1024 + i * 32 + lane;
      u32* const to = stage + Stage<T>::value(n);
      if (n < box.count)
        copy_async<sizeof(T)>(to, data + box.position(n));
      else
        *reinterpret_cast<T*>(to) = T(0);
    }
  }
}

// The way back.
template <class T>
__device__ __noinline__ void store_box(DeviceBox box, const u32* stage, T* data) {
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (has_whole_pieces(box, data)) {
    constexpr u32 kPiece = Stage<T>::kPiece, kOfBlock = kBlock / kPiece;
#pragma unroll
    for (u32 i = 0; i < kOfBlock; ++i) {
      const u32 piece = i * 32 + lane, n = warp * 1024 + piece * kPiece;
      const u32* const from = stage + Stage<T>::piece(warp * 32 + piece / kOfBlock, piece % kOfBlock);
      if (n + kPiece <= box.count) {
        __stcs(reinterpret_cast<uint4*>(data + box.position(n)), *reinterpret_cast<const uint4*>(from));
      } else {
        for (u32 k = 0; n + k < box.count && k < kPiece; ++k)
          data[box.position(n + k)] = reinterpret_cast<const T*>(from)[k];
      }
    }
  } else {
#pragma unroll 4
    for (u32 i = 0; i < 32; ++i) {
      const u32 n = warp * 1024 + i * 32 + lane;
      if (n < box.count) data[box.position(n)] = *reinterpret_cast<const T*>(stage + Stage<T>::value(n));
    }
  }
}

// Where the `i`-th piece of a lane is if lanes side by side take pieces side by side.
template <class T>
__device__ inline u32 piece_of_lane(u32 i) {
  constexpr u32 kOfBlock = kBlock / Stage<T>::kPiece, kBlocksARound = 32 / kOfBlock;
  const u32 lane = threadIdx.x % 32, block = lane / kOfBlock, piece = lane % kOfBlock ^ block;
  return (threadIdx.x / 32 * 32 + block) * Stage<T>::kBlockWords + i * 128 +
         ((piece ^ (i * kBlocksARound & 7)) << 2);
}

// Full chunks whose rows stand on 16 bytes are copied without looking for each piece's place.
template <class T>
__device__ inline bool is_regular(const DeviceBox& box, const T* data) {
  return box.is_full && has_whole_pieces(box, data);
}

template <class T, bool kFlat>
__device__ inline void load_values(const DeviceGrid& grid, const DeviceBox& box, const T* data, u32* stage) {
  if (!is_regular(box, data)) return load_box(box, data, stage);
  constexpr u32 kPiece = Stage<T>::kPiece;
  const T* const from = data + box.position(threadIdx.x / 32 * 1024 + threadIdx.x % 32 * kPiece);
#pragma unroll
  for (u32 i = 0; i < kBlock / kPiece; ++i)
    copy_async<16>(stage + piece_of_lane<T>(i), from + (kFlat ? i * 32 * kPiece : grid.rounds[i]));
}

template <class T, bool kFlat>
__device__ inline void store_values(const DeviceGrid& grid, const DeviceBox& box, const u32* stage, T* data) {
  if (!is_regular(box, data)) return store_box(box, stage, data);
  constexpr u32 kPiece = Stage<T>::kPiece;
  T* const to = data + box.position(threadIdx.x / 32 * 1024 + threadIdx.x % 32 * kPiece);
#pragma unroll
  for (u32 i = 0; i < kBlock / kPiece; ++i)
    __stcs(reinterpret_cast<uint4*>(to + (kFlat ? i * 32 * kPiece : grid.rounds[i])),
           *reinterpret_cast<const uint4*>(stage + piece_of_lane<T>(i)));
}

}  // namespace homz::homcomp::device
