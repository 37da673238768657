// The order of values that extrema go by: NaN before all numbers, -0 below +0.
#pragma once

#include <cmath>

#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

// Whether y, and not x, is the extremum; x where they are equal.
template <class T>
bool is_second(Extremum which, T x, T y) {
  const bool greatest = which == Extremum::greatest;
  if (x != x) return false;
  if (y != y) return true;
  if (x == y) return std::signbit(x) != std::signbit(y) && std::signbit(x) == greatest;
  return greatest ? y > x : y < x;
}

}  // namespace homz
