// The order of values that extrema go by: NaN before all numbers, -0 below +0.
#pragma once

#include <cmath>

namespace homz {

// Whether y, and not x, is the lesser (or the greater) one; x where they are equal.
template <class T>
bool is_second(bool greatest, T x, T y) {
  if (x != x) return false;
  if (y != y) return true;
  if (x == y) return std::signbit(x) != std::signbit(y) && std::signbit(x) == greatest;
  return greatest ? y > x : y < x;
}

}  // namespace homz
