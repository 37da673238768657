// Whether a decoded value may stand for an original: the one judgement that every lossy encoder makes.
// (core/metrics judges by code of its own, on purpose: the verifier shares nothing with the codecs.)
#pragma once

#include <limits>

#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz {

// Whether |x - y| <= bound in exact arithmetic; false wherever a NaN or an infinity is involved.
HOMZ_HD inline bool within_bound(double x, double y, double bound) {
  const double difference = x - y;
  const double size = difference < 0 ? -difference : difference;
  if (size != bound)
    return size < bound;  // rounding is monotonic: it cannot carry the difference across the bound
  // The rounding error of the difference (Knuth's TwoSum) tells on which side of the bound the exact one
  // lies.
  const double part = difference - x;
  const double error = (x - (difference - part)) - (y + part);
  return (difference < 0 ? -error : error) <= 0;
}

// The largest finite T that does not exceed `value` >= 0.
template <class T>
T largest_not_above(double value) {
  if (value >= std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
  const T nearest = static_cast<T>(value);
  return nearest > value ? value_of<T>(bits_of(nearest) - 1) : nearest;
}

}  // namespace homz
