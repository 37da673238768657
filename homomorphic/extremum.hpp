// The order of values that extrema go by: NaN before all numbers, -0 below +0.
#pragma once

#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz {

template <class T>
HOMZ_HD inline bool has_sign(T x) {
  return bits_of(x) >> (8 * sizeof(T) - 1) != 0;
}

// Whether y, and not x, is the lesser (or the greater) one; x where they are equal.
template <class T>
HOMZ_HD inline bool is_second(bool greatest, T x, T y) {
  if (x != x) return false;
  if (y != y) return true;
  if (x == y) return has_sign(x) != has_sign(y) && has_sign(x) == greatest;
  return greatest ? y > x : y < x;
}

}  // namespace homz
