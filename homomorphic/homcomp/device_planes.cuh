// The sum of blocks as bit planes in a thread's registers: ripple-carry adders, 32 values at a time. As
// plane_sum.hpp: numbers are two's complement modulo 2^32 while they are added.
#pragma once

#include "homomorphic/homcomp/device_block.cuh"

namespace homz::homcomp::device {

// A block of the result, of as many planes at most.
template <u32 kPlanes>
struct SumBlock {
  u32 planes[kPlanes];  // of the magnitudes
  u32 most;             // planes of the warp's widest block: what is above is of no meaning
  u32 width, signs, fill, exact;

  // From residuals.
  __device__ void take(u32 (&v)[kBlock]) {
    static_assert(kPlanes == kBlock);
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
// when they are compiled, so that planes stay in registers; their bounds are the same in all threads.
template <u32 kPlanes>
class DevicePlaneSum {
 public:
  // `sum`: holds the planes meanwhile.
  __device__ explicit DevicePlaneSum(SumBlock<kPlanes>& sum) : sum_(sum) { sum.fill = sum.exact = 0; }

  // Whether there are planes enough to raise the sum so many times and to add a term of that width.
  __device__ bool has_room(u32 times, u32 widest) const {
    return kPlanes == kBlock || (reach_ << times) + (u64{1} << widest) <= u64{1} << (kPlanes - 1);
  }

  // `flip`: all ones to subtract, else 0.
  __device__ void add(const CodedBlock& term, u32 flip) {
    sum_.fill |= term.fill();
    reach_ += u64{1} << term.widest();
    const u32 sign = term.signs() ^ flip;
    add_planes(sign, [&](u32 k, u32) { return term.plane(k) ^ sign; });
  }

  // Differences along x, which are linear: of all that has been added, or of a term whose order is lower by 1
  // than that of the sum and which has been added as it is. `behind`: positions that have one in front in
  // their row. All threads of the CTA meet in both; `lasts`: shared, one a warp.
  __device__ void raise(u32 behind, u32* lasts) {
    const u32 before = value_before(last_of_sum(), lasts);
    reach_ *= 2;
    add_planes(~0u, [&](u32 k, u32 own) { return ~((own << 1 | (before >> k & 1)) & behind); });
  }
  __device__ void raise_term(const CodedBlock& term, u32 flip, u32 behind, u32* lasts) {
    const u32 sign = term.signs() ^ flip, before = value_before(last_of(term, sign), lasts);
    reach_ += u64{1} << term.widest();
    u32 carry = sign;
    add_planes(~0u, [&](u32 k, u32) {
      const u32 flipped = term.plane(k) ^ sign, plane = flipped ^ carry;
      carry &= flipped;
      return ~((plane << 1 | (before >> k & 1)) & behind);
    });
  }

  // Magnitudes and signs in their place.
  __device__ void finish() {
    sum_.signs = top_;
    sum_.width = 0;
    u32 carry = top_;
#pragma unroll
    for (u32 first = 0; first < kPlanes; first += kGroup) {
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

  // `other(k, own)`: plane k of what is added, in two's complement but for the first carry.
  template <class Other>
  __device__ void add_planes(u32 carry, Other&& other) {
    const u32 needed = 65 - static_cast<u32>(__clzll(static_cast<long long>(reach_ - 1)));
    const u32 width = needed < kPlanes ? needed : kPlanes;
#pragma unroll
    for (u32 first = 0; first < kPlanes; first += kGroup) {
      if (first >= width) break;
      const bool is_new = first >= width_;
      u32 owns[kGroup], others[kGroup];
#pragma unroll
      for (u32 k = 0; k < kGroup; ++k) {
        owns[k] = is_new ? top_ : sum_.planes[first + k];
        others[k] = other(first + k, owns[k]);
      }
#pragma unroll
      for (u32 k = 0; k < kGroup; ++k) {
        sum_.planes[first + k] = owns[k] ^ others[k] ^ carry;
        carry = (owns[k] & others[k]) | (carry & (owns[k] ^ others[k]));
      }
      next_top_ = sum_.planes[first + kGroup - 1];
    }
    top_ = next_top_;
    width_ = width;
  }

  // The value at the block's last position.
  __device__ u32 last_of_sum() const {
    u32 last = 0 - (top_ >> 31);
#pragma unroll
    for (u32 first = 0; first < kPlanes; first += kGroup) {
      if (first >= width_) break;
#pragma unroll
      for (u32 k = first; k < first + kGroup; ++k) last = (last & ~(1u << k)) | sum_.planes[k] >> 31 << k;
    }
    return last;
  }
  __device__ static u32 last_of(const CodedBlock& term, u32 sign) {
    u32 last = 0;
    for (u32 k = 0; k < term.width(); ++k) last |= term.plane(k) >> 31 << k;
    return sign >> 31 != 0 ? 0 - last : last;
  }
  __device__ static u32 value_before(u32 last, u32* lasts) {
    const u32 warp = threadIdx.x / 32;
    u32 before = __shfl_up_sync(kAllLanes, last, 1);
    if (lane_id() == 31) lasts[warp] = last;
    __syncthreads();
    if (lane_id() == 0) before = warp == 0 ? 0 : lasts[warp - 1];
    __syncthreads();
    return before;
  }
  SumBlock<kPlanes>& sum_;
  u32 width_ = 0;               // planes that matter; the others of their group, and all above, are the signs
  u32 top_ = 0, next_top_ = 0;  // signs
  u64 reach_ = 0;               // all sums of the chunk are below it
};

}  // namespace homz::homcomp::device
