// The step between quanta: it decides how many values must be stored exactly, and how large the quanta are.
#pragma once

#include <limits>
#include <optional>

#include "codecs/homcomp/block_math.hpp"
#include "core/memory.hpp"

namespace homz::homcomp {

// The largest magnitude up to `limit` in a sample of the data: 64 runs of 64 values, evenly spread.
template <class T>
T sampled_magnitude(ConstBytes data, std::optional<std::uint64_t> fill_bits, double limit) {
  constexpr std::uint64_t kRuns = 64, kRun = 64;
  const std::uint64_t count = data.size() / sizeof(T);
  const bool all = count <= kRuns * kRun;
  T largest = 0;
  for (std::uint64_t run = 0; run < (all ? 1 : kRuns); ++run) {
    const std::uint64_t first = all ? 0 : (count - kRun) / (kRuns - 1) * run;
    for (std::uint64_t i = first; i < (all ? count : first + kRun); ++i) {
      const T x = load_value<T>(data.data() + i * sizeof(T));
      const T size = x < 0 ? -x : x;
      if (size > largest && size <= limit && (!fill_bits || bits_of(x) != *fill_bits)) largest = size;
    }
  }
  return largest;
}

// Twice the bound; or twice what is left of it after the rounding of the largest values that come back, so
// that it is kept where they are rounded to the wrong side. Values whose rounding takes more than a quarter
// of the bound do not count: they would make the step too short for the others.
template <class T>
T choose_step(double abs_error, bool use_magnitude, ConstBytes data, std::optional<std::uint64_t> fill_bits) {
  double half_unit = 0;
  if (use_magnitude) {
    const double limit =
        abs_error * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 2));
    const T largest = sampled_magnitude<T>(data, fill_bits, limit);
    if (largest < std::numeric_limits<T>::max())
      half_unit = static_cast<double>(value_of<T>(bits_of(largest) + 1) - largest) / 2;
  }
  const T step = largest_not_above<T>(std::max(0.0, 2 * (abs_error - half_unit)));
  return step > 0 ? step : std::numeric_limits<T>::denorm_min();
}

template <class T>
Quantiser<T> quantiser_of(T step, double abs_error) {
  return Quantiser<T>{step, T(1) / step, largest_not_above<T>(abs_error), abs_error};
}

}  // namespace homz::homcomp
