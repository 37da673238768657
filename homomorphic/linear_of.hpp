// From what is asked for to what it is on quanta.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/linear.hpp"

namespace homz {

inline Status check_step(double step, double first) {
  if (step == first) return Status();
  return Status(
      Code::invalid_argument,
      fmt::format("the quanta of one stream are multiples of {}, those of another of {}: compress both with "
                  "one step, or let coded_alike() requantise them",
                  first, step));
}

// The quantum nearest to the shift.
inline Result<std::int32_t> quantum_of_shift(double shift, double step) {
  const double quanta = shift / step;
  if (!(std::abs(quanta) < kSumLimit))
    return Status(Code::unsupported,
                  fmt::format("a shift of {} is more than 2^30 steps of {}: give one below {}", shift, step,
                              kSumLimit * step));
  return static_cast<std::int32_t>(std::nearbyint(quanta));
}

// Scaled steps below `least` would lose digits.
template <class T>
Result<Linear<T>> linear_of(const Encoding& encoding, const Combination& combination, double step,
                            T least = std::numeric_limits<T>::min()) {
  const T scaled_step = static_cast<T>(step * combination.scale);
  const bool is_sound = combination.scale == 1 || scaled_step >= least;
  constexpr T kMost = std::numeric_limits<T>::max();
  if (!is_sound || scaled_step > kMost)
    return Status(Code::unsupported,
                  fmt::format("{} times the step {} is no normal number of type {}: give a scale from about "
                              "{:.2g} to {:.2g}",
                              combination.scale, step, to_string(encoding.field.dtype), least / step,
                              std::min<double>(kMost, kMost / step)));
  HOMZ_ASSIGN(const std::int32_t shift, quantum_of_shift(combination.shift, step));
  return Linear<T>{combination.factors,
                   shift,
                   static_cast<T>(combination.shift),
                   static_cast<T>(combination.scale),
                   static_cast<T>(step),
                   scaled_step,
                   encoding.fill_bits.has_value(),
                   static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0))};
}

}  // namespace homz
