// Bit planes of a block that one thread holds in registers, and sums over a warp.
#pragma once

#include "codecs/homcomp/device_grid.cuh"

namespace homz::homcomp::device {

// One step of the transposition of four 8 x 8 bit matrices side by side: rows a and b swap what is not under
// the mask in a with what is under it in b.
template <unsigned kShift, u32 kLow>
__device__ inline void swap_bits(u32& a, u32& b) {
  const u32 low = (a & kLow) | ((b << kShift) & ~kLow);
  b = ((a >> kShift) & kLow) | (b & ~kLow);
  a = low;
}

// Byte k of row j holds 8 bits of value 8 k + j; afterwards byte k of row p holds bit p of the values 8 k to
// 8 k + 7. So row p is a plane. The inverse of itself.
__device__ inline void transpose(u32 (&rows)[8]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) swap_bits<4, 0x0f0f0f0fu>(rows[i], rows[i + 4]);
#pragma unroll
  for (unsigned i = 0; i < 8; i += 4) {
    swap_bits<2, 0x33333333u>(rows[i], rows[i + 2]);
    swap_bits<2, 0x33333333u>(rows[i + 1], rows[i + 3]);
  }
#pragma unroll
  for (unsigned i = 0; i < 8; i += 2) swap_bits<1, 0x55555555u>(rows[i], rows[i + 1]);
}

// The `width` planes of the magnitudes.
__device__ inline void write_planes(const u32 (&sizes)[kBlock], u32 width, u32* to) {
  if (__all_sync(__activemask(), width <= 4)) {
    u32 rows[4];  // two values a byte: the first of the three steps
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const u32 a = sizes[j] | sizes[j + 4] << 4, b = sizes[8 + j] | sizes[12 + j] << 4;
      const u32 c = sizes[16 + j] | sizes[20 + j] << 4, d = sizes[24 + j] | sizes[28 + j] << 4;
      rows[j] = (a | b << 8) | (c | d << 8) << 16;
    }
    swap_bits<2, 0x33333333u>(rows[0], rows[2]);
    swap_bits<2, 0x33333333u>(rows[1], rows[3]);
    swap_bits<1, 0x55555555u>(rows[0], rows[1]);
    swap_bits<1, 0x55555555u>(rows[2], rows[3]);
#pragma unroll
    for (unsigned p = 0; p < 4; ++p)
      if (p < width) to[p] = rows[p];
    return;
  }
  for (u32 byte = 0; 8 * byte < width; ++byte, to += 8) {
    const u32 pair = 0x40 + 0x11 * byte;
    u32 rows[8];
#pragma unroll
    for (unsigned j = 0; j < 8; ++j)
      rows[j] = __byte_perm(__byte_perm(sizes[j], sizes[8 + j], pair),
                            __byte_perm(sizes[16 + j], sizes[24 + j], pair), 0x5410);
    transpose(rows);
#pragma unroll
    for (unsigned p = 0; p < 8; ++p)
      if (8 * byte + p < width) to[p] = rows[p];
  }
}

// The magnitudes, from their planes.
__device__ inline void read_planes(const u32* from, u32 width, u32 (&sizes)[kBlock]) {
#pragma unroll
  for (unsigned i = 0; i < kBlock; ++i) sizes[i] = 0;
  for (u32 byte = 0; 8 * byte < width; ++byte, from += 8) {
    u32 rows[8];
#pragma unroll
    for (unsigned p = 0; p < 8; ++p) rows[p] = 8 * byte + p < width ? from[p] : 0;
    transpose(rows);
    const u32 keep = 0x3210 & ~(0xfu << 4 * byte);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const u32 take = keep | (4 + k) << 4 * byte;  // byte k of the row becomes byte `byte` of the value
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) sizes[8 * k + j] = __byte_perm(sizes[8 * k + j], rows[j], take);
    }
  }
}

// ---- Sums over a warp

__device__ inline u32 lane_id() {
  return threadIdx.x % 32;
}
__device__ inline u32 lanes_before() {
  return (1u << lane_id()) - 1;
}

__device__ inline u32 sums_up_to(u32 number) {  // of this lane and those before it
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(kAllLanes, number, step);
    if (lane_id() >= step) number += other;
  }
  return number;
}

// Sums of 64-bit numbers below 2^60, in every lane.
__device__ inline u64 sum_of_lanes(u64 number) {
  constexpr u32 kPart = (1u << 20) - 1;
  const u64 low = __reduce_add_sync(kAllLanes, static_cast<u32>(number) & kPart);
  const u64 middle = __reduce_add_sync(kAllLanes, static_cast<u32>(number >> 20) & kPart);
  const u64 high = __reduce_add_sync(kAllLanes, static_cast<u32>(number >> 40));
  return low + (middle << 20) + (high << 40);
}

// `bits`, the last `count` of which count, to the bit `at` of an array of zeros that other threads write to.
__device__ inline void put_bits(u32* to, u32 at, u32 bits) {
  if (bits == 0) return;
  const u32 word = at / 32, shift = at % 32;
  atomicOr(to + word, bits << shift);
  if (shift != 0 && bits >> (32 - shift) != 0) atomicOr(to + word + 1, bits >> (32 - shift));
}

// ---- Sums of words, for checksums

struct WordSums {
  u64 sum = 0, weighted = 0;

  __device__ void add(u32 index, u32 word) {
    asm("mad.wide.u32 %0, %1, 1, %0;" : "+l"(sum) : "r"(word));
    weighted += u64{index + 1} * word;
  }
  // Those of the warp, in every lane.
  __device__ WordSums of_warp() const {
    WordSums all;
    all.sum = sum_of_lanes(sum);
    all.weighted = sum_of_lanes(weighted);
    return all;
  }
};

}  // namespace homz::homcomp::device
