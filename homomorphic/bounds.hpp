// Bounds of results: sums and products that are rounded up, where they are rounded. The same numbers on the
// host and on a device.
#pragma once

#include <cmath>

#include "core/bits.hpp"
#include "core/hd.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

HOMZ_HD inline double fused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

// `error`: what the rounded result, which is not negative, lacks.
HOMZ_HD inline double rounded_up(double rounded, double error) {
  return error > 0 ? value_of<double>(bits_of(rounded) + 1) : rounded;
}
HOMZ_HD inline double add_up(double a, double b) {
  const double sum = a + b, part = sum - a;
  return rounded_up(sum, (a - (sum - part)) + (b - part));
}
HOMZ_HD inline double multiply_up(double a, double b) {
  const double product = a * b;
  // Close to subnormal products what they lack is below all numbers.
  if (product < 0x1p-900 && a != 0 && b != 0 && a != 1 && b != 1) return rounded_up(product, 1);
  return rounded_up(product, fused(a, b, -product));
}

// How far the shift is from a number of steps.
HOMZ_HD inline double missed_by(double shift, double steps, double step) {
  const double missed = fused(-steps, step, shift);  // rounded once
  const double size = missed < 0 ? -missed : missed;
  return size == 0 ? 0 : rounded_up(size, 1);
}

inline double bound_of_sum(const Combination& combination, std::span<const OpenStream> operands) {
  double bound = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const double factor = std::abs(static_cast<double>(combination.factors[i]));
    bound = add_up(bound, multiply_up(factor, operands[i].header.abs_error));
  }
  return bound;
}

}  // namespace homz
