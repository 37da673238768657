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

// Two values a byte: the first of the three steps, which suffices for 4 planes.
__device__ inline void pack_nibbles(u32 (&sizes)[kBlock]) {
  u32 rows[4];
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
  for (unsigned p = 0; p < 4; ++p) sizes[p] = rows[p];
}

__device__ inline void pack_bytes(const u32 (&sizes)[kBlock], u32 byte, u32 (&rows)[8]) {
  const u32 pair = 0x40 + 0x11 * byte;
#pragma unroll
  for (unsigned j = 0; j < 8; ++j)
    rows[j] = __byte_perm(__byte_perm(sizes[j], sizes[8 + j], pair),
                          __byte_perm(sizes[16 + j], sizes[24 + j], pair), 0x5410);
  transpose(rows);
}

// Magnitudes to their planes, which take the place of the first of them where no magnitude of the warp's
// blocks has more than 8 bits (their union is `all`). Tells whether they do.
__device__ inline bool take_planes(u32 (&sizes)[kBlock], u32 all) {
  if (all >= 256) return false;
  if (all >= 16) {
    u32 rows[8];
    pack_bytes(sizes, 0, rows);
#pragma unroll
    for (unsigned p = 0; p < 8; ++p) sizes[p] = rows[p];
  } else if (all != 0) {
    pack_nibbles(sizes);
  }
  return true;
}

// The `width` planes of the magnitudes; `taken`: as take_planes() has told.
__device__ inline void write_planes(const u32 (&sizes)[kBlock], bool taken, u32 width, u32* to) {
  if (taken) {
#pragma unroll
    for (unsigned p = 0; p < 8; ++p)
      if (p < width) to[p] = sizes[p];
    return;
  }
  for (u32 byte = 0; 8 * byte < width; ++byte, to += 8) {
    u32 rows[8];
    pack_bytes(sizes, byte, rows);
#pragma unroll
    for (unsigned p = 0; p < 8; ++p)
      if (8 * byte + p < width) to[p] = rows[p];
  }
}

// The magnitudes, from their planes: `first` is the first of them.
__device__ inline void read_planes(const u32* from, u32 first, u32 width, u32 (&sizes)[kBlock]) {
  u32 rows[8];
  rows[0] = first;
#pragma unroll
  for (unsigned p = 1; p < 8; ++p) rows[p] = p < width ? from[p] : 0;
  transpose(rows);
#pragma unroll
  for (unsigned i = 0; i < kBlock; ++i) sizes[i] = __byte_perm(rows[i % 8], 0, 0x4440 + i / 8);
  for (u32 byte = 1; 8 * byte < width; ++byte) {
    from += 8;
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

// Of this lane and those before it. The shuffle itself tells whether there is a lane to take from.
__device__ inline u32 sums_up_to(u32 number) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2)
    asm volatile(
        "{ .reg .u32 other; .reg .pred there;\n"
        "  shfl.sync.up.b32 other|there, %0, %1, 0, 0xffffffff;\n"
        "  @there add.u32 %0, %0, other; }"
        : "+r"(number)
        : "r"(step));
  return number;
}

// Sums of 64-bit numbers below 2^54, in every lane.
__device__ inline u64 sum_of_lanes(u64 number) {
  constexpr u32 kPart = (1u << 27) - 1;
  const u64 low = __reduce_add_sync(kAllLanes, static_cast<u32>(number) & kPart);
  const u64 high = __reduce_add_sync(kAllLanes, static_cast<u32>(number >> 27));
  return low + (high << 27);
}

// ---- Bits closed up and spread out: bits_where() and bits_to() of block_math.hpp without their loops over
// bits. Bytes are closed up all at once, in three steps (Hacker's Delight, 7-4), and then moved together.

// Which bits of the bytes move down by 1, 2 and 4; `mask` ends up as where they come to be.
struct ByteMoves {
  u32 moves[3];

  __device__ explicit ByteMoves(u32& mask) {
    u32 holes = ~mask << 1 & 0xfefefefeu;  // bit k: of what is at or below k - 1 in its byte, is not in mask
#pragma unroll
    for (u32 i = 0; i < 3; ++i) {
      u32 odd = holes ^ (holes << 1 & 0xfefefefeu);
      odd ^= odd << 2 & 0xfcfcfcfcu;
      odd ^= odd << 4 & 0xf0f0f0f0u;
      moves[i] = odd & mask;
      mask = (mask ^ moves[i]) | moves[i] >> (1u << i);
      holes &= ~odd;
    }
  }
};

// The bits of `bits` that `mask` names, closed up.
__device__ inline u32 close_bits_up(u32 bits, u32 mask) {
  const u32 first = count_bits(mask & 0xff), second = count_bits(mask & 0xffff),
            third = count_bits(mask & 0xffffff);
  bits &= mask;
  const ByteMoves by(mask);
#pragma unroll
  for (u32 i = 0; i < 3; ++i) {
    const u32 moved = bits & by.moves[i];
    bits = (bits ^ moved) | moved >> (1u << i);
  }
  return (bits & 0xff) | (bits >> 8 & 0xff) << first | (bits >> 16 & 0xff) << second | bits >> 24 << third;
}

// The way back; what is behind the last bit that `mask` takes does not matter.
__device__ inline u32 spread_bits(u32 packed, u32 mask) {
  const u32 first = count_bits(mask & 0xff), second = count_bits(mask & 0xffff),
            third = count_bits(mask & 0xffffff);
  const u32 wanted = mask;
  const ByteMoves by(mask);
  const u32 low = __byte_perm(packed, packed >> first, 0x0040);
  u32 bits = __byte_perm(__byte_perm(low, packed >> second, 0x0410), packed >> third, 0x4210);
#pragma unroll
  for (u32 i = 3; i-- > 0;) bits = (bits & ~by.moves[i]) | (bits << (1u << i) & by.moves[i]);
  return bits & wanted;
}

// Bit k: byte k is not 0.
__device__ inline u32 bytes_in_use(u32 bits) {
  bits |= bits >> 4;
  bits |= bits >> 2;
  bits |= bits >> 1;
  return (bits & 0x01010101u) * 0x01020408u >> 24 & 15;
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
