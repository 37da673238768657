// A linear combination of streams, as their quanta know it.
#pragma once

#include <cstdint>
#include <span>

#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz {

inline constexpr std::int32_t kSumLimit = 1 << 30;  // |quantum| of a result is below it

// scale * (factors[0] x[0] + factors[1] x[1] + ... + shift). On quanta the scale is one of the step alone.
template <class T>
struct Linear {
  std::span<const std::int32_t> factors;  // the sum of their magnitudes is below 2^32
  std::int32_t shift;                     // in steps
  T shift_value;                          // for values without quanta
  T scale;                                // above 0
  T step;                                 // of the operands
  T scaled_step;                          // of the result
  bool has_fill;
  BitsOf<T> fill;
};

// Machines differ in the bits of a NaN that they compute: all are this one.
template <class T>
HOMZ_HD inline T any_nan_alike(T x) {
  if (x == x) return x;
  return value_of<T>(sizeof(T) == 4 ? static_cast<BitsOf<T>>(0x7fc00000u)
                                    : static_cast<BitsOf<T>>(0x7ff8000000000000u));
}

// What a sum of values that have no quanta becomes in the end.
template <class T>
T finished(const Linear<T>& linear, T sum) {
  return any_nan_alike(linear.scale * (linear.shift == 0 ? sum : sum + linear.shift_value));
}

}  // namespace homz
