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

// Planes come in groups, so that a group is loaded before it is needed. Loops know the number of each plane
// when they are compiled, so that planes stay in registers; their bounds are the same in all lanes.
class DevicePlaneSum {
 public:
  // `sum`: holds the planes meanwhile.
  __device__ explicit DevicePlaneSum(SumBlock& sum) : sum_(sum) {
    sum.fill = sum.exact = 0;
#pragma unroll
    for (u32& plane : sum.planes) plane = 0;
  }

  // `flip`: all ones to subtract, else 0.
  __device__ void add(const CodedBlock& term, u32 flip) {
    sum_.fill |= term.fill();
    const u32 widest = __reduce_max_sync(kAllLanes, term.width());
    if (widest == 0) return;
    reach_ += u64{1} << widest;
    const u32 needed = 65 - static_cast<u32>(__clzll(static_cast<long long>(reach_ - 1)));
    const u32 width = needed < kBlock ? needed : kBlock, sign = term.signs() ^ flip;
    u32 carry = sign;
#pragma unroll
    for (u32 first = 0; first < kBlock; first += kGroup) {
      if (first >= width) break;
      u32 others[kGroup];
#pragma unroll
      for (u32 k = 0; k < kGroup; ++k) others[k] = term.plane(first + k);
      const bool is_new = first >= width_;
#pragma unroll
      for (u32 k = 0; k < kGroup; ++k) {
        const u32 own = is_new ? top_ : sum_.planes[first + k], other = others[k] ^ sign;
        sum_.planes[first + k] = own ^ other ^ carry;
        carry = (own & other) | (carry & (own ^ other));
      }
      next_top_ = sum_.planes[first + kGroup - 1];
    }
    top_ = next_top_;
    width_ = width;
  }

  // Magnitudes and signs in their place.
  __device__ void finish() {
    sum_.signs = top_;
    sum_.width = 0;
    u32 carry = top_;
#pragma unroll
    for (u32 first = 0; first < kBlock; first += kGroup) {
      if (first >= width_) break;
#pragma unroll
      for (u32 k = first; k < first + kGroup; ++k) {
        const u32 bits = sum_.planes[k] ^ top_;
        sum_.planes[k] = bits ^ carry;
        carry &= bits;
        if (sum_.planes[k] != 0) sum_.width = k + 1;
      }
    }
    sum_.most = __reduce_max_sync(kAllLanes, sum_.width);
  }

 private:
  static constexpr u32 kGroup = 4;

  SumBlock& sum_;
  u32 width_ = 0;               // planes that matter; the others of their group, and all above, are the signs
  u32 top_ = 0, next_top_ = 0;  // signs
  u64 reach_ = 0;               // all sums are below it
};

}  // namespace homz::homcomp::device
