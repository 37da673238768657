// The sum of blocks as bit planes in a thread's registers: ripple-carry adders, 32 values at a time. As
// plane_sum.hpp: numbers are two's complement modulo 2^32 while they are added.
#pragma once

#include "homomorphic/homcomp/device_block.cuh"

namespace homz::homcomp::device {

// A block of the result.
struct SumBlock {
  u32 planes[kBlock];  // of the magnitudes
  u32 most;            // planes of the warp's widest block: what is above is of no meaning
  u32 width, signs, fill, exact;

  // From residuals.
  __device__ void take(u32 (&v)[kBlock]) {
    signs = 0;
    u32 bits = 0;
#pragma unroll
    for (unsigned i = kBlock; i-- > 0;) {
      signs = __funnelshift_l(v[i], signs, 1);
      v[i] = magnitude(static_cast<i32>(v[i]));
      bits |= v[i];
    }
    width = bit_width(bits);
    most = bit_width(__reduce_or_sync(kAllLanes, bits));
#pragma unroll
    for (u32 byte = 0; byte < 4; ++byte) {
      u32 rows[8];
      pack_bytes(v, byte, rows);
#pragma unroll
      for (u32 p = 0; p < 8; ++p) planes[8 * byte + p] = rows[p];
    }
  }
};

// Loops over planes know the number of each when they are compiled, so that planes stay in registers; their
// bounds are the same in all lanes.
class DevicePlaneSum {
 public:
  // `sum`: holds the planes meanwhile.
  __device__ explicit DevicePlaneSum(SumBlock& sum) : sum_(sum) { sum.fill = sum.exact = 0; }

  // `flip`: all ones to subtract, else 0.
  __device__ void add(const CodedBlock& term, u32 flip) {
    sum_.fill |= term.fill();
    const u32 widest = __reduce_max_sync(kAllLanes, term.width());
    if (widest == 0) return;
    reach_ += u64{1} << widest;
    const u32 needed = 65 - static_cast<u32>(__clzll(static_cast<long long>(reach_ - 1)));
    const u32 width = needed < kBlock ? needed : kBlock, sign = term.signs() ^ flip;
    u32 carry = sign, top = 0;
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) {
      if (k >= width) break;
      const u32 own = k < width_ ? sum_.planes[k] : top_, other = term.plane(k) ^ sign;
      top = own ^ other ^ carry;
      carry = (own & other) | (carry & (own ^ other));
      sum_.planes[k] = top;
    }
    top_ = top;
    width_ = width;
  }

  // Magnitudes and signs in their place.
  __device__ void finish() {
    sum_.signs = top_;
    sum_.width = 0;
    u32 carry = top_;
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) {
      if (k >= width_) break;
      const u32 bits = sum_.planes[k] ^ top_;
      sum_.planes[k] = bits ^ carry;
      carry &= bits;
      if (sum_.planes[k] != 0) sum_.width = k + 1;
    }
    sum_.most = __reduce_max_sync(kAllLanes, sum_.width);
  }

 private:
  SumBlock& sum_;
  u32 width_ = 0, top_ = 0;  // planes; all planes above them are `top_`, the signs
  u64 reach_ = 0;            // all sums are below it
};

}  // namespace homz::homcomp::device
