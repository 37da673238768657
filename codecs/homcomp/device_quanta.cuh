// Values to quanta on the device, a block a thread; what has no quantum; and the step between quanta.
#pragma once

#include <limits>

#include "codecs/homcomp/device_bits.cuh"

namespace homz::homcomp::device {

// What has no quantum of its own in a block, and the bits of all |quanta| beside.
struct BlockMasks {
  u32 fill = 0, exact = 0, reach = 0;
};

template <class T>
struct FillValue {
  BitsOf<T> bits;
  u32 is_declared;
};

// Quanta in shared memory are numbers plus this: what rounding leaves, one instruction less. Differences
// cancel it.
template <class T>
inline constexpr u32 kBias = sizeof(T) == 4 ? 0x4b400000u : 0;  // the bits of 1.5 x 2^23

template <class T>
__device__ inline void store_quanta(u32* stage, u32 block, const u32 (&quanta)[kBlock]) {
#pragma unroll
  for (u32 i = 0; i < 8; ++i)
    *reinterpret_cast<uint4*>(stage + Stage<T>::piece(block, i)) =
        uint4{quanta[4 * i], quanta[4 * i + 1], quanta[4 * i + 2], quanta[4 * i + 3]};
}
template <class T>
__device__ inline void load_quanta(const u32* stage, u32 block, u32 (&quanta)[kBlock]) {
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    const uint4 piece = *reinterpret_cast<const uint4*>(stage + Stage<T>::piece(block, i));
    quanta[4 * i] = piece.x, quanta[4 * i + 1] = piece.y;
    quanta[4 * i + 2] = piece.z, quanta[4 * i + 3] = piece.w;
  }
}

// The nearest quanta of a block of f32, if all of them are below 2^22 and keep the bound: adding 1.5 x 2^23
// rounds to even and leaves the integer in the low bits.
__device__ inline bool quantise_fast(const u32* stage, u32 block, const Quantiser<float>& by,
                                     u32 (&quanta)[kBlock], u32& reach) {
  constexpr float kMagic = 0x1.8p23f;
  float largest = 0, worst = 0;
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    const uint4 piece = *reinterpret_cast<const uint4*>(stage + Stage<float>::piece(block, i));
    const u32 bits[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const float x = value_of<float>(bits[k]);
      const float rounded = x * by.reciprocal + kMagic;
      const float quantum = rounded - kMagic;
      worst = fmaxf(worst, fabsf(x - quantum * by.step));
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(largest) : "f"(fabsf(quantum)));  // a NaN stays
      quanta[4 * i + k] = bits_of(rounded);
    }
  }
  reach = static_cast<u32>(static_cast<i32>(largest));
  return largest < 0x1p22f && worst <= by.safe;
}

// Likewise for f64: adding 1.5 x 2^52 leaves 32 bits of the integer in the low word, and the high word tells
// whether they are all of it.
__device__ inline bool quantise_fast(const u32* stage, u32 block, const Quantiser<double>& by,
                                     u32 (&quanta)[kBlock], u32& reach) {
  constexpr double kMagic = 0x1.8p52;
  bool is_bad = false;
  u32 excess = 0;
  reach = 0;
#pragma unroll
  for (u32 i = 0; i < 16; ++i) {
    const double2 piece = *reinterpret_cast<const double2*>(stage + Stage<double>::piece(block, i));
    const double values[2] = {piece.x, piece.y};
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
      const double x = values[k];
      const double rounded = x * by.reciprocal + kMagic;
      is_bad |= !(fabs(x - (rounded - kMagic) * by.step) <= by.safe);
      const i32 quantum = __double2loint(rounded);
      excess |= static_cast<u32>(__double2hiint(rounded) ^ (0x43380000 + (quantum >> 31)));
      reach |= magnitude(quantum);
      quanta[2 * i + k] = static_cast<u32>(quantum);
    }
  }
  return !is_bad && excess == 0 && reach < static_cast<u32>(kQuantumLimit);
}

// A value whose nearest quantum does not do, or is too large for the fast way.
template <class T>
__device__ __noinline__ bool quantise_again(T x, Quantiser<T> by, u32& quantum) {
  i32 number = 0;
  const bool good = quantise(x, by, number);
  quantum = static_cast<u32>(number) + kBias<T>;
  return good;
}

__device__ inline float size_of_value(float value) {
  return fabsf(value);
}
__device__ inline double size_of_value(double value) {
  return fabs(value);
}

__device__ inline bool is_small(float, float quantum) {
  return fabsf(quantum) < 0x1p22f;
}
__device__ inline bool is_small(double rounded, double) {
  const i32 quantum = __double2loint(rounded);
  return __double2hiint(rounded) == 0x43380000 + (quantum >> 31) &&
         magnitude(quantum) < static_cast<u32>(kQuantumLimit);
}
__device__ inline u32 low_word(float rounded) {
  return bits_of(rounded);
}
__device__ inline u32 low_word(double rounded) {
  return static_cast<u32>(__double2loint(rounded));
}

// Any block. Values that need quantise_again() are told apart.
struct MaskedBlock {
  BlockMasks masks;
  u32 again;
};
template <class T>
__device__ __noinline__ MaskedBlock quantise_masked(u32* stage, u32 block, u32 valid, Quantiser<T> by,
                                                    FillValue<T> fill) {
  constexpr T kMagic = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52), kLimit = static_cast<T>(kQuantumLimit);
  constexpr u32 kPiece = Stage<T>::kPiece;
  BlockMasks masks;
  u32 good = 0, in_range = 0, quanta[kBlock];
#pragma unroll
  for (u32 i = 0; i < kBlock / kPiece; ++i) {
    alignas(16) T values[kPiece];
    *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(stage + Stage<T>::piece(block, i));
#pragma unroll
    for (u32 k = 0; k < kPiece; ++k) {
      const T x = values[k], scaled = x * by.reciprocal, rounded = scaled + kMagic,
              quantum = rounded - kMagic;
      const T difference = x - quantum * by.step;
      const u32 bit = 1u << (kPiece * i + k);
      if (size_of_value(scaled) <= kLimit) in_range |= bit;
      const bool is_fill = fill.is_declared && bits_of(x) == fill.bits;
      if (is_fill) masks.fill |= bit;
      quanta[kPiece * i + k] = low_word(rounded);
      if (size_of_value(difference) <= by.safe && is_small(rounded, quantum) && !is_fill) {
        good |= bit;
        masks.reach |= magnitude(static_cast<i32>(low_word(rounded) - kBias<T>));
      }
    }
  }
  masks.fill &= valid;
  const u32 bad = valid & ~(good | masks.fill);
  masks.exact = bad & ~in_range;
  store_quanta<T>(stage, block, quanta);
  return {masks, bad & in_range};
}

// Which values of a block are the fill value.
template <class T>
__device__ inline u32 find_fill(const u32* stage, u32 block, FillValue<T> fill) {
  constexpr u32 kPiece = Stage<T>::kPiece;
  u32 found = 0;
#pragma unroll
  for (u32 i = 0; i < kBlock / kPiece; ++i) {
    alignas(16) BitsOf<T> bits[kPiece];
    *reinterpret_cast<uint4*>(bits) = *reinterpret_cast<const uint4*>(stage + Stage<T>::piece(block, i));
#pragma unroll
    for (u32 k = 0; k < kPiece; ++k)
      if (bits[k] == fill.bits) found |= 1u << (kPiece * i + k);
  }
  return found;
}

// `value(i)` reads a value of the block once more.
template <class T, class Value>
__device__ inline BlockMasks quantise_all(u32* stage, u32 block, u32 valid, const Quantiser<T>& by,
                                          FillValue<T> fill, Value&& value) {
  auto [masks, again] = quantise_masked(stage, block, valid, by, fill);
  for (u32 bits = again; bits != 0; bits &= bits - 1) {
    const u32 i = static_cast<u32>(__ffs(static_cast<int>(bits)) - 1);
    u32 quantum;
    if (!quantise_again(value(i), by, quantum))
      masks.exact |= 1u << i;
    else
      masks.reach |= magnitude(static_cast<i32>(quantum - kBias<T>));
    stage[Stage<T>::quantum(kBlock * block + i)] = quantum;
  }
  return masks;
}

// A block by all lanes of a warp, a value each. `owner`: the lane whose block it is.
template <class T>
__device__ __noinline__ BlockMasks quantise_together(u32* stage, u32 owner, u32 valid, const Quantiser<T>& by,
                                                    FillValue<T> fill) {
  const u32 n = kBlock * ((threadIdx.x & ~31u) + owner) + lane_id();
  const T x = *reinterpret_cast<const T*>(stage + Stage<T>::value(n));
  const bool is_there = (__shfl_sync(kAllLanes, valid, static_cast<int>(owner)) >> lane_id() & 1) != 0;
  const bool is_fill = is_there && fill.is_declared && bits_of(x) == fill.bits;
  i32 quantum = 0;
  const bool is_good = quantise(x, by, quantum) || !is_there || is_fill;
  BlockMasks masks;
  masks.fill = __ballot_sync(kAllLanes, is_fill);
  masks.exact = __ballot_sync(kAllLanes, !is_good);
  masks.reach = __reduce_or_sync(kAllLanes, is_good && !is_fill ? magnitude(quantum) : 0);
  __syncwarp();
  stage[Stage<T>::quantum(n)] = static_cast<u32>(quantum) + kBias<T>;
  return masks;
}

// The values of the warp's blocks in `stage` to quanta in registers. Blocks that need more than the nearest
// quanta are rare or many, depending on the data: few are coded by all lanes together.
template <class T, class Value>
__device__ inline BlockMasks quantise_blocks(u32* stage, u32 valid, const Quantiser<T>& by, FillValue<T> fill,
                                             u32 (&quanta)[kBlock], Value&& value) {
  constexpr u32 kFew = 6;
  const u32 block = threadIdx.x;
  BlockMasks masks;
  if (fill.is_declared) masks.fill = find_fill(stage, block, fill) & valid;
  const bool is_all_fill = fill.is_declared && masks.fill == valid;  // any quanta: they are settled later
  const bool is_fast = quantise_fast(stage, block, by, quanta, masks.reach) && masks.fill == 0 && !is_all_fill;
  if (__all_sync(kAllLanes, is_fast)) return masks;
  if (is_all_fill) masks.reach = 0;
  if (is_fast) store_quanta<T>(stage, block, quanta);  // so that no registers are held meanwhile
  const u32 others = __ballot_sync(kAllLanes, !is_fast && !is_all_fill);
  if (count_bits(others) <= kFew) {
    for (u32 left = others; left != 0; left &= left - 1) {
      const u32 owner = static_cast<u32>(__ffs(static_cast<int>(left)) - 1);
      const BlockMasks found = quantise_together(stage, owner, valid, by, fill);
      if (lane_id() == owner) masks = found;
    }
    __syncwarp();
  } else if (!is_fast && !is_all_fill) {
    masks = quantise_all(stage, block, valid, by, fill, value);
  }
  load_quanta<T>(stage, block, quanta);
  return masks;
}

// ---- Positions without a quantum take that of the neighbour in front of them along the first axis that the
// orders name; chains of such positions end at one that has a quantum, or at the base. Those are not written,
// so all threads can follow their chains at once.

template <class T>
class Settler {
 public:
  // `vacant`: a mask a block. They are complete, and the quanta beside them, before settle() is called.
  // The base is that of the quanta as they are in shared memory.
  __device__ Settler(u32* quanta, const u32* vacant, const DeviceBox& box, const Orders& orders)
      : quanta_(quanta), vacant_(vacant), box_(box), orders_(orders) {}

  // In one row, what is in front of each block is found before any is changed; else settle() does all.
  __device__ bool is_along_row() const { return orders_.x != 0 && box_.is_row(); }

  // `kept`: the blocks that have quanta of their own, a mask a warp.
  __device__ u32 in_front(u32 block, const u32* kept) const {
    u32 warp = block / 32, before = kept[warp] & ((1u << block % 32) - 1);
    while (before == 0 && warp != 0) before = kept[--warp];
    if (before == 0) return static_cast<u32>(orders_.base);
    const u32 nearest = 32 * warp + last_of(before);
    return get(kBlock * nearest + last_of(~vacant_[nearest]));
  }
  __device__ void settle_row(u32 block, u32 last) const {
    const u32 vacant = vacant_[block];
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      uint4& piece = *reinterpret_cast<uint4*>(quanta_ + Stage<T>::piece(block, i));
      uint4 four = piece;
      last = four.x = (vacant >> 4 * i & 1) != 0 ? last : four.x;
      last = four.y = (vacant >> (4 * i + 1) & 1) != 0 ? last : four.y;
      last = four.z = (vacant >> (4 * i + 2) & 1) != 0 ? last : four.z;
      last = four.w = (vacant >> (4 * i + 3) & 1) != 0 ? last : four.w;
      piece = four;
    }
  }

  __device__ void settle(u32 block) const {
    for (u32 bits = vacant_[block]; bits != 0; bits &= bits - 1) {
      const u32 n = kBlock * block + static_cast<u32>(__ffs(static_cast<int>(bits)) - 1);
      set(n, find(n));
    }
  }

 private:
  __device__ static u32 last_of(u32 mask) {
    return 31 - static_cast<u32>(__clz(static_cast<int>(mask)));
  }
  __device__ void set(u32 n, u32 quantum) const {
    quanta_[Stage<T>::quantum(n)] = quantum;
  }
  __device__ u32 get(u32 n) const {
    return quanta_[Stage<T>::quantum(n)];
  }
  __device__ bool is_vacant(u32 n) const {
    return (vacant_[n / 32] >> n % 32 & 1) != 0;
  }

  __device__ u32 find(u32 n) const {
    const auto at = box_.place(n);
    u32 x = orders_.x != 0 ? at.x : 0, y = orders_.y != 0 ? at.y : 0, z = orders_.z != 0 ? at.z : 0;
    while (is_vacant(n)) {
      if (x != 0)
        --x, --n;
      else if (y != 0)
        --y, n -= box_.row;
      else if (z != 0)
        --z, n -= box_.plane();
      else
        return static_cast<u32>(orders_.base);
    }
    return get(n);
  }

  u32* quanta_;
  const u32* vacant_;
  const DeviceBox& box_;
  const Orders orders_;
};

// ---- The step: choose_step() of step.hpp, by one CTA.

template <class T>
inline constexpr T kMost = std::numeric_limits<T>::max();
template <class T>
inline constexpr T kLeast = std::numeric_limits<T>::denorm_min();

template <class T>
__device__ inline T largest_number_not_above(double value) {
  if (value >= kMost<T>) return kMost<T>;
  const T nearest = static_cast<T>(value);
  return nearest > value ? value_of<T>(bits_of(nearest) - 1) : nearest;
}

template <class T>
struct StepRule {
  double abs_error;
  double given;  // if not 0, this one
  u32 use_magnitude;
};

// The largest magnitude of the sample that counts, of the values that this thread looks at.
template <class T>
__device__ inline T sampled_by_thread(const T* data, u64 count, FillValue<T> fill, double limit) {
  constexpr u64 kRuns = 64, kRun = 64;
  T largest = 0;
  const bool all = count <= kRuns * kRun;
#pragma unroll 4
  for (u64 i = threadIdx.x; i < (all ? count : kRuns * kRun); i += blockDim.x) {
    const T x = data[all ? i : (count - kRun) / (kRuns - 1) * (i / kRun) + i % kRun];
    const T size = x < 0 ? -x : x;
    if (size > largest && size <= limit && !(fill.is_declared && bits_of(x) == fill.bits)) largest = size;
  }
  return largest;
}

template <class T>
__device__ inline T step_for(const StepRule<T>& rule, T largest) {
  if (rule.given != 0) return largest_number_not_above<T>(rule.given);
  double half_unit = 0;
  if (rule.use_magnitude && largest < kMost<T>)
    half_unit = static_cast<double>(value_of<T>(bits_of(largest) + 1) - largest) / 2;
  const T step = largest_number_not_above<T>(2 * (rule.abs_error - half_unit));
  return step > 0 ? step : kLeast<T>;
}

template <class T>
__device__ inline Quantiser<T> quantiser_for(T step, double abs_error) {
  return Quantiser<T>{step, T(1) / step, largest_number_not_above<T>(abs_error), abs_error};
}

}  // namespace homz::homcomp::device
