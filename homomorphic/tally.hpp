// What adds up to numbers. Sums of quanta are integers of 128 bits: exact, so they depend on no order, and
// devices count them, too. Values that are stored exactly add up in double precision, in the order of the
// parts of a payload, on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.hpp"
#include "homomorphic/moments.hpp"

namespace homz {

__extension__ typedef __int128 Int128;

// A value of a stream: fill, or exact, or a quantum.
struct AnyValue {
  bool is_fill, is_exact;
  std::int32_t quantum;
  double exact;
};

// Count, mean and sum of squared deviations of values, joined as by Chan, Golub and LeVeque (1983).
struct Spread {
  double count = 0, mean = 0, squares = 0;

  void add(double x) { join({1, x, 0}); }
  void join(const Spread& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double all = count + other.count, distance = other.mean - mean;
    squares += other.squares + distance * distance * (count / all * other.count);
    mean += distance * (other.count / all);
    count = all;
  }
};

// What is known of quanta.
struct QuantaTally {
  std::uint64_t quanta = 0, fill = 0;
  Int128 sum = 0, squares = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();

  HOMZ_HD void add_quantum(std::int32_t quantum) {
    ++quanta;
    sum += quantum;
    squares += std::int64_t{quantum} * quantum;
    reach(quantum, quantum);
  }
  HOMZ_HD void reach(std::int32_t low, std::int32_t high) {
    least = low < least ? low : least;
    most = high > most ? high : most;
  }
  HOMZ_HD void join(const QuantaTally& other) {
    quanta += other.quanta;
    fill += other.fill;
    sum += other.sum;
    squares += other.squares;
    reach(other.least, other.most);
  }
};

// What is known of some of the values.
struct Tally : QuantaTally {
  std::uint64_t exact = 0;
  Spread spread;  // of exact values
  double exact_sum = 0, exact_norm = 0;
  double exact_least = 0, exact_most = 0;

  void add(const AnyValue& value) {
    if (value.is_fill)
      ++fill;
    else if (value.is_exact)
      add_exact(value.exact);
    else
      add_quantum(value.quantum);
  }
  void add_exact(double x) {
    Tally one;
    one.exact = 1;
    one.exact_sum = one.exact_least = one.exact_most = x;
    one.exact_norm = std::abs(x);
    one.spread.add(x);
    join(one);
  }
  using QuantaTally::join;
  void join(const Tally& other) {
    if (other.exact != 0) {
      exact_least = exact == 0 ? other.exact_least : lesser(exact_least, other.exact_least);
      exact_most = exact == 0 ? other.exact_most : -lesser(-exact_most, -other.exact_most);
    }
    QuantaTally::join(other);
    exact += other.exact;
    spread.join(other.spread);
    exact_sum += other.exact_sum;
    if (other.exact != 0) exact_norm = std::hypot(exact_norm, other.exact_norm);
  }

  static double lesser(double a, double b) { return a != a ? a : b != b ? b : b < a ? b : a; }
};

// The quanta's spread, in steps, without cancellation: deviations from an integer close to the mean are
// exact.
inline Spread spread_of_quanta(const Tally& tally) {
  const auto count = static_cast<double>(tally.quanta);
  if (tally.quanta == 0) return Spread{};
  const Int128 n = tally.quanta, near = tally.sum / n;
  const Int128 squares = tally.squares - 2 * near * tally.sum + n * near * near;
  const auto rest = static_cast<double>(tally.sum - near * n);  // of the mean
  const double deviations = static_cast<double>(squares) - rest * (rest / count);
  return Spread{count, static_cast<double>(tally.sum) / count, deviations};
}

template <class T>
Moments moments_of(const Tally& tally, T step_as_value) {
  const auto step = static_cast<double>(step_as_value);
  Moments moments;
  moments.count = tally.quanta + tally.exact;
  moments.fill = tally.fill;
  if (moments.count == 0) return moments;
  const Spread in_steps = spread_of_quanta(tally);
  Spread spread{in_steps.count, in_steps.mean * step, in_steps.squares * step * step};
  spread.join(tally.spread);
  moments.sum = static_cast<double>(tally.sum) * step + tally.exact_sum;
  moments.mean = tally.exact == 0 ? spread.mean : moments.sum / static_cast<double>(moments.count);
  moments.variance = spread.squares / spread.count;
  moments.deviation =
      tally.exact == 0 ? std::sqrt(in_steps.squares / in_steps.count) * step : std::sqrt(moments.variance);
  moments.norm = std::hypot(std::sqrt(static_cast<double>(tally.squares)) * step, tally.exact_norm);
  moments.min = static_cast<double>(static_cast<T>(tally.least) * step_as_value);
  moments.max = static_cast<double>(static_cast<T>(tally.most) * step_as_value);
  if (tally.quanta == 0) moments.min = tally.exact_least, moments.max = tally.exact_most;
  if (tally.exact != 0) {
    moments.min = Tally::lesser(moments.min, tally.exact_least);
    moments.max = -Tally::lesser(-moments.max, -tally.exact_most);
  }
  return moments;
}

struct QuantaProducts {
  Int128 quanta = 0;

  HOMZ_HD void add_quanta(std::int32_t x, std::int32_t y) { quanta += std::int64_t{x} * y; }
  HOMZ_HD void join(const QuantaProducts& other) { quanta += other.quanta; }
};

// Products of quanta, and of values of which one has no quantum.
struct Products : QuantaProducts {
  double exact = 0;

  void add(const AnyValue& x, const AnyValue& y, const double (&steps)[2]) {
    if (x.is_fill || y.is_fill) return;
    if (!x.is_exact && !y.is_exact)
      add_quanta(x.quantum, y.quantum);
    else
      exact += (x.is_exact ? x.exact : x.quantum * steps[0]) * (y.is_exact ? y.exact : y.quantum * steps[1]);
  }
  using QuantaProducts::join;
  void join(const Products& other) {
    QuantaProducts::join(other);
    exact += other.exact;
  }
  double sum(const double (&steps)[2]) const {
    return static_cast<double>(quanta) * steps[0] * steps[1] + exact;
  }
};

}  // namespace homz
