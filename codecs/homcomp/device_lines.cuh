// Sums along the rows of a chunk whose blocks are in registers, and along y and z of quanta in shared memory.
#pragma once

#include "codecs/homcomp/device_bits.cuh"

namespace homz::homcomp::device {

// What a run of values passes on: with the slope s and the value v in front of it, there are s + slope and
// v + length * s + value behind it. Where a row begins within, length is 0 and both are absolute.
struct RowEnd {
  u32 length, slope, value;
  bool begins;

  __device__ static RowEnd join(const RowEnd& a, const RowEnd& b) {
    if (b.begins) return b;
    return {a.length + b.length, a.slope + b.slope, a.value + b.value + b.length * a.slope, a.begins};
  }
};

// Sums along x of residuals, once or twice, with `front` in front of each row. All threads of the CTA meet in
// it.
template <bool kFlat>
struct RowSums {
  const DeviceBox& box;
  RowEnd* ends;  // shared, one a warp

  template <unsigned kOrder>
  __device__ void add(u32 (&v)[kBlock], u32 front) const {
    if (kFlat || box.is_row())
      add_in_one_row<kOrder>(v, front);
    else
      add_in_rows<kOrder>(v, front);
  }

 private:
  static constexpr u32 kWarpValues = 32 * kBlock;

  // The slope and the value in front of this thread's block, from those that blocks add: see RowEnd.
  template <unsigned kOrder>
  __device__ void find_front(u32& slope, u32& value) const {
    const u32 warp = threadIdx.x / 32, lane = lane_id();
    const u32 slopes = kOrder == 2 ? sums_up_to(slope) : 0;
    slope = slopes - slope;
    value += kBlock * slope;
    const u32 values = sums_up_to(value);
    value = values - value;
    if (lane == 31) ends[warp].slope = slopes, ends[warp].value = values;
    __syncthreads();
    u32 slope_of_warp = 0, value_of_warp = 0;
#pragma unroll
    for (u32 w = 0; w + 1 < kWarps; ++w)
      if (w < warp) {
        value_of_warp += ends[w].value + kWarpValues * slope_of_warp;
        if (kOrder == 2) slope_of_warp += ends[w].slope;
      }
    value += value_of_warp + lane * kBlock * slope_of_warp;
    slope += slope_of_warp;
  }

  template <unsigned kOrder>
  __device__ void add_in_one_row(u32 (&v)[kBlock], u32 front) const {
    u32 slope = 0, value = 0;
#pragma unroll
    for (const u32 number : v) {
      if (kOrder == 2) slope += number;
      value += kOrder == 2 ? slope : number;
    }
    find_front<kOrder>(slope, value);
    value += front;
#pragma unroll
    for (u32& number : v) {
      if (kOrder == 2) {
        slope += number;
        value += slope;
      } else {
        value += number;
      }
      number = value;
    }
  }

  template <unsigned kOrder>
  __device__ void add_in_rows(u32 (&v)[kBlock], u32 front) const {
    const u32 starts = box.row_starts(threadIdx.x);
    u32 slope = 0, value = 0;
    if (kBlock % box.row == 0) {
      __syncthreads();
    } else {
      RowEnd end{kBlock, 0, 0, starts != 0};
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i) step<kOrder>(v[i], starts >> i & 1, front, end.slope, end.value);
      if (starts != 0) end.length = 0;
      if (kOrder == 1) end.slope = 0;
      const RowEnd before = ends_before(end);
      slope = before.slope;
      value = before.value;
    }
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i) {
      step<kOrder>(v[i], starts >> i & 1, front, slope, value);
      v[i] = value;
    }
  }

  template <unsigned kOrder>
  __device__ static void step(u32 number, u32 begins, u32 front, u32& slope, u32& value) {
    if (begins != 0) slope = 0, value = front;
    slope = kOrder == 2 ? slope + number : number;
    value += slope;
  }

  // What all blocks in front of this one pass on. The first one begins a row.
  __device__ RowEnd ends_before(RowEnd end) const {
    const u32 warp = threadIdx.x / 32;
#pragma unroll
    for (u32 back = 1; back < 32; back *= 2) {
      const RowEnd other{__shfl_up_sync(kAllLanes, end.length, back),
                         __shfl_up_sync(kAllLanes, end.slope, back),
                         __shfl_up_sync(kAllLanes, end.value, back),
                         __shfl_up_sync(kAllLanes, static_cast<u32>(end.begins), back) != 0};
      if (lane_id() >= back) end = RowEnd::join(other, end);
    }
    if (lane_id() == 31) ends[warp] = end;
    const RowEnd own{__shfl_up_sync(kAllLanes, end.length, 1), __shfl_up_sync(kAllLanes, end.slope, 1),
                     __shfl_up_sync(kAllLanes, end.value, 1),
                     __shfl_up_sync(kAllLanes, static_cast<u32>(end.begins), 1) != 0};
    __syncthreads();
    RowEnd all{0, 0, 0, true};
    for (u32 w = 0; w < warp; ++w) all = RowEnd::join(all, ends[w]);
    return lane_id() == 0 ? all : RowEnd::join(all, own);
  }
};

__device__ inline uint4& operator+=(uint4& a, const uint4& b) {
  a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
  return a;
}

// Sums along an axis with `length` values that lie `distance` apart, in place; `front` is in front of the
// first. Where rows consist of whole pieces, four lines at a time. All threads of the CTA meet behind it.
template <class T>
__device__ inline void sum_lines(u32* quanta, const DeviceBox& box, u32 length, u32 distance, u32 front) {
  const bool by_pieces = distance % 4 == 0;
  const u32 apart = by_pieces ? distance / 4 : distance;
  const u32 lines = box.count / (by_pieces ? 4 * length : length);
  for (u32 line = threadIdx.x; line < lines; line += kThreads) {
    const u32 outer = line / apart;  // lines that lie side by side are numbered together
    const u32 first = outer * apart * length + (line - outer * apart);
    if (by_pieces) {
      uint4 sum{front, front, front, front};
#pragma unroll 4
      for (u32 i = 0; i < length; ++i) {
        const u32 piece = first + i * apart;
        uint4& at = *reinterpret_cast<uint4*>(quanta + Stage<T>::piece(piece / 8, piece % 8));
        sum += at;
        at = sum;
      }
    } else {
      u32 sum = front;
      for (u32 i = 0; i < length; ++i) {
        u32& at = quanta[Stage<T>::quantum(first + i * apart)];
        sum += at;
        at = sum;
      }
    }
  }
  __syncthreads();
}

}  // namespace homz::homcomp::device
