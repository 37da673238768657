// Residuals of a block from the quanta of its chunk in shared memory, on the device.
#pragma once

#include "codecs/homcomp/device_orders.cuh"

namespace homz::homcomp::device {

template <class T, bool kFlat>
struct Differences {
  const u32* words;
  const DeviceBox& box;
  const Orders& orders;

  // From the quanta of the block of this thread and the two in front of it (the base, where there are none)
  // to its residuals; 0 where there is no value.
  __device__ void take(u32 (&v)[kBlock], u32 v1, u32 v2, u32 valid) const {
    const bool lines = !kFlat && (orders.y | orders.z) != 0;
    if (lines) subtract_lines(v, v1, v2, valid);
    const u32 front = lines ? 0 : base();
    u32 starts = 0, seconds = 0;
    if (!kFlat) find_rows(starts, seconds);
    if (orders.x == 1) along_x<1>(v, v1, v2, starts, seconds, front);
    if (orders.x == 2) along_x<2>(v, v1, v2, starts, seconds, front);
    if (orders.x == 0 && !lines)
#pragma unroll
      for (u32& number : v) number -= front;
    if (valid != ~0u)
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i)
        if ((valid >> i & 1) == 0) v[i] = 0;
  }

 private:
  __device__ u32 base() const {
    return static_cast<u32>(orders.base) + kBias<T>;
  }

  // Which positions of the block are the first of a row, and which the second.
  __device__ void find_rows(u32& starts, u32& seconds) const {
    const u32 n = kBlock * threadIdx.x;
    const u32 within = n - box.by_row.divide(n) * box.row;
    starts = box.row_starts(threadIdx.x);
    seconds = (starts << 1 | static_cast<u32>(within == 1)) & ~starts;
  }

  // Differences along y and z, of the block and of the two quanta in front of it.
  __device__ void subtract_lines(u32 (&v)[kBlock], u32& v1, u32& v2, u32 valid) const {
    const u32 n = kBlock * threadIdx.x;
    if (n != 0) {
      v1 = line_difference(n - 1);
      v2 = line_difference(n - 2);
    }
    if (box.row % 4 == 0) {
      if (orders.y != 0) subtract_pieces<1>(v);
      if (orders.z != 0) subtract_pieces<2>(v);
      if (orders.y != 0 && orders.z != 0) subtract_pieces<3>(v);
    } else {
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i)
        if ((valid >> i & 1) != 0) v[i] = line_difference(n + i);
    }
  }

  __device__ u32 line_difference(u32 n) const {
    const auto at = box.place(n);
    const Quanta<T> quanta{words};
    return quanta.corner(box, n, at.y != 0, at.z != 0, base()).difference(orders.y != 0, orders.z != 0);
  }

  // Subtracts what is in front of the block along y (1) or z (2), or adds what is along both (3), four values
  // of a row at a time.
  template <unsigned kAlong>
  __device__ void subtract_pieces(u32 (&v)[kBlock]) const {
    constexpr u32 kSign = kAlong == 3 ? ~0u : 1;
    const u32 back = (kAlong & 1) * box.row + (kAlong >> 1) * box.plane(), front = base();
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      const u32 n = kBlock * threadIdx.x + 4 * i;
      const bool is_there = ((kAlong & 1) == 0 || box.has_y(n)) && ((kAlong & 2) == 0 || box.has_z(n));
      const u32 at = is_there ? n - back : n;
      const uint4 piece = *reinterpret_cast<const uint4*>(words + Stage<T>::piece(at >> 5, at >> 2 & 7));
      v[4 * i] -= (is_there ? piece.x : front) * kSign;
      v[4 * i + 1] -= (is_there ? piece.y : front) * kSign;
      v[4 * i + 2] -= (is_there ? piece.z : front) * kSign;
      v[4 * i + 3] -= (is_there ? piece.w : front) * kSign;
    }
  }

  template <unsigned kOrder>
  __device__ static void along_x(u32 (&v)[kBlock], u32 v1, u32 v2, u32 starts, u32 seconds, u32 front) {
#pragma unroll
    for (unsigned i = kBlock; i-- > 0;) {
      u32 before = i >= 1 ? v[i - 1] : v1, second = i >= 2 ? v[i - 2] : i == 1 ? v1 : v2;
      if (!kFlat) {
        if ((starts >> i & 1) != 0) before = front;
        if (((starts | seconds) >> i & 1) != 0) second = front;
      }
      v[i] -= before;
      if (kOrder == 2) v[i] -= before - second;
    }
  }
};

}  // namespace homz::homcomp::device
