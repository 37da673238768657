// The independent judge: shares no code with any codec, allows no slack.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "core/field.hpp"
#include "core/memory.hpp"

namespace homz::test {

// |a - b| <= bound in exact arithmetic, for finite a and b: the rounded difference decides, and where it
// equals the bound the sign of its rounding error does (Knuth's two-sum). A difference that overflows exceeds
// every bound.
inline bool within(double a, double b, double bound) {
  const double difference = a - b;
  if (std::abs(difference) != bound) return std::abs(difference) < bound;
  const double b_part = a - difference, a_part = difference + b_part;
  const double error = (a - a_part) - (b - b_part);
  return difference >= 0 ? error <= 0 : error >= 0;
}

// Every value of `decoded` is what the contract allows: finite values within the bound (bit for bit if it is
// 0), all others, and fill values, bit for bit.
template <class T>
testing::AssertionResult judge_as(ConstBytes original, ConstBytes decoded, double bound,
                                  std::optional<std::uint64_t> fill_bits) {
  std::uint64_t wrong = 0, first = 0;
  for (std::uint64_t at = 0; at < original.size(); at += sizeof(T)) {
    if (std::memcmp(&original[at], &decoded[at], sizeof(T)) == 0) continue;
    T x, y;
    std::uint64_t bits = 0;
    std::memcpy(&x, &original[at], sizeof(T));
    std::memcpy(&y, &decoded[at], sizeof(T));
    std::memcpy(&bits, &original[at], sizeof(T));
    const bool exact = bound == 0 || !std::isfinite(x) || (fill_bits && bits == *fill_bits);
    if (!exact && std::isfinite(y) && within(x, y, bound)) continue;
    if (wrong++ == 0) first = at / sizeof(T);
  }
  if (wrong == 0) return testing::AssertionSuccess();
  T x, y;
  std::memcpy(&x, &original[first * sizeof(T)], sizeof(T));
  std::memcpy(&y, &decoded[first * sizeof(T)], sizeof(T));
  return testing::AssertionFailure() << wrong << " of " << original.size() / sizeof(T)
                                     << " values are wrong; the first, number " << first << ", is "
                                     << std::hexfloat << x << " and came back as " << y << ", bound " << bound
                                     << std::defaultfloat << " (" << x << ", " << y << ", " << bound << ")";
}

inline testing::AssertionResult judge(Dtype dtype, ConstBytes original, ConstBytes decoded, double bound,
                                      std::optional<std::uint64_t> fill_bits) {
  if (original.size() != decoded.size())
    return testing::AssertionFailure() << decoded.size() << " bytes instead of " << original.size();
  return with_dtype(dtype,
                    [&](auto zero) { return judge_as<decltype(zero)>(original, decoded, bound, fill_bits); });
}

}  // namespace homz::test
