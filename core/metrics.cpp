#include "core/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/bits.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// |x - y| for finite x and y, rounded up. The sum x + (-y) is split into its rounded value and the exact
// remainder (Knuth, TAOCP 2, 4.2.2, theorem B), which tells on which side of the rounded value the true one
// lies. So the result is at most a double b if and only if |x - y| <= b.
double distance(double x, double y) {
  const double sum = x - y;
  if (std::isinf(sum)) return kInfinity;  // more than the largest double, whatever the remainder
  const double back = sum - x;
  const double remainder = (x - (sum - back)) - (y + back);
  const double size = std::fabs(sum);
  const bool larger = sum > 0 ? remainder > 0 : remainder < 0;
  return larger ? std::nextafter(size, kInfinity) : size;
}

template <class T>
class Slab {
 public:
  Slab(const Comparison& comparison, const std::byte* original, const std::byte* decoded,
       std::uint64_t first_index, std::uint64_t count)
      : comparison_(comparison),
        original_(original),
        decoded_(decoded),
        first_index_(first_index),
        count_(count) {}

  ErrorStatistics run() {
    for (std::uint64_t i = 0; i < count_; ++i) judge(i);
    if (compared_ != 0) add_moments();
    return statistics_;
  }

 private:
  T x(std::uint64_t i) const { return load_value<T>(original_ + i * sizeof(T)); }
  T y(std::uint64_t i) const { return load_value<T>(decoded_ + i * sizeof(T)); }
  bool is_fill(T value) const { return comparison_.fill_bits && bits_of(value) == *comparison_.fill_bits; }
  bool counts(T value) const { return std::isfinite(value) && !is_fill(value); }

  void judge(std::uint64_t i) {
    const T original = x(i), decoded = y(i);
    const bool same = bits_of(original) == bits_of(decoded);
    if (counts(original)) return judge_value(i, original, decoded, same);
    ++(is_fill(original) ? statistics_.fill : statistics_.non_finite);
    if (!same) mismatch(i, original, decoded);
  }

  void judge_value(std::uint64_t i, double original, double decoded, bool same) {
    ErrorStatistics& s = statistics_;
    ++s.values;
    s.min = std::min(s.min, original);
    s.max = std::max(s.max, original);
    if (!std::isfinite(decoded)) {
      s.squared_errors = kInfinity;
      raise_maximum(i, kInfinity);
      return mismatch(i, original, decoded);
    }
    ++compared_;
    sum_original_ += original;
    sum_decoded_ += decoded;
    if (same) return;
    const long double difference = static_cast<long double>(original) - decoded;
    s.squared_errors += difference * difference;
    const double error = distance(original, decoded);
    raise_maximum(i, error);
    if (!comparison_.bound) return;
    if (*comparison_.bound == 0) return mismatch(i, original, decoded);
    if (error > *comparison_.bound) violation(i, original, decoded);
  }

  void raise_maximum(std::uint64_t i, double error) {
    if (error <= statistics_.max_abs_error) return;
    statistics_.max_abs_error = error;
    statistics_.max_error_index = first_index_ + i;
  }

  void violation(std::uint64_t i, double original, double decoded) {
    ++statistics_.violations;
    if (!statistics_.first_violation)
      statistics_.first_violation = ValuePair{first_index_ + i, original, decoded};
  }

  void mismatch(std::uint64_t i, double original, double decoded) {
    ++statistics_.mismatches;
    violation(i, original, decoded);
  }

  // A second pass, about the means: large offsets in the data must not cancel the digits of the moments.
  void add_moments() {
    ErrorStatistics& s = statistics_;
    s.mean_original = sum_original_ / static_cast<long double>(compared_);
    s.mean_decoded = sum_decoded_ / static_cast<long double>(compared_);
    for (std::uint64_t i = 0; i < count_; ++i) {
      const T original = x(i), decoded = y(i);
      if (!counts(original) || !std::isfinite(decoded)) continue;
      const long double a = original - s.mean_original, b = decoded - s.mean_decoded;
      s.moment_original += a * a;
      s.moment_decoded += b * b;
      s.moment_mixed += a * b;
    }
  }

  const Comparison& comparison_;
  const std::byte* original_;
  const std::byte* decoded_;
  std::uint64_t first_index_, count_;
  std::uint64_t compared_ = 0;  // values that count and came back finite
  long double sum_original_ = 0, sum_decoded_ = 0;
  ErrorStatistics statistics_;
};

std::optional<double> decibel(long double factor, long double ratio) {
  return static_cast<double>(factor * std::log10(ratio));
}

}  // namespace

void ErrorStatistics::merge(const ErrorStatistics& later) {
  if (later.values != 0) {  // Chan, Golub, LeVeque: updating formulae for pairs of samples (1979)
    const auto n = static_cast<long double>(values), m = static_cast<long double>(later.values), all = n + m;
    const long double step_original = later.mean_original - mean_original;
    const long double step_decoded = later.mean_decoded - mean_decoded;
    moment_original += later.moment_original + step_original * step_original * (n * m / all);
    moment_decoded += later.moment_decoded + step_decoded * step_decoded * (n * m / all);
    moment_mixed += later.moment_mixed + step_original * step_decoded * (n * m / all);
    mean_original += step_original * (m / all);
    mean_decoded += step_decoded * (m / all);
  }
  values += later.values;
  non_finite += later.non_finite;
  fill += later.fill;
  mismatches += later.mismatches;
  violations += later.violations;
  if (!first_violation) first_violation = later.first_violation;
  min = std::min(min, later.min);
  max = std::max(max, later.max);
  if (later.max_abs_error > max_abs_error) {
    max_abs_error = later.max_abs_error;
    max_error_index = later.max_error_index;
  }
  squared_errors += later.squared_errors;
}

std::optional<double> ErrorStatistics::value_range() const {
  if (values == 0) return std::nullopt;
  return max - min;
}

std::optional<double> ErrorStatistics::max_error_over_range() const {
  if (values == 0) return std::nullopt;
  if (max_abs_error == 0) return 0.0;
  if (max == min) return std::nullopt;
  return static_cast<double>(max_abs_error / (static_cast<long double>(max) - min));
}

std::optional<double> ErrorStatistics::mse() const {
  if (values == 0) return std::nullopt;
  return static_cast<double>(squared_errors / static_cast<long double>(values));
}

std::optional<double> ErrorStatistics::rmse() const {
  if (values == 0) return std::nullopt;
  return static_cast<double>(std::sqrt(squared_errors / static_cast<long double>(values)));
}

std::optional<double> ErrorStatistics::nrmse() const {
  if (values == 0) return std::nullopt;
  if (squared_errors == 0) return 0.0;
  if (max == min) return std::nullopt;
  return static_cast<double>(std::sqrt(squared_errors / static_cast<long double>(values)) /
                             (static_cast<long double>(max) - min));
}

std::optional<double> ErrorStatistics::psnr() const {
  if (values == 0) return std::nullopt;
  if (squared_errors == 0) return kInfinity;
  if (max == min) return std::nullopt;
  const long double range = static_cast<long double>(max) - min;
  return decibel(20, range / std::sqrt(squared_errors / static_cast<long double>(values)));
}

std::optional<double> ErrorStatistics::snr() const {
  if (values == 0) return std::nullopt;
  if (squared_errors == 0) return kInfinity;
  if (moment_original == 0) return std::nullopt;
  return decibel(10, moment_original / squared_errors);
}

std::optional<double> ErrorStatistics::pearson() const {
  if (values == 0 || std::isinf(squared_errors)) return std::nullopt;
  if (squared_errors == 0) return 1.0;
  if (moment_original == 0 || moment_decoded == 0) return std::nullopt;
  // Rounding can carry it past 1 in the last place.
  const long double r = moment_mixed / (std::sqrt(moment_original) * std::sqrt(moment_decoded));
  return static_cast<double>(std::clamp(r, -1.0L, 1.0L));
}

ErrorStatistics compare(const Comparison& comparison, ConstBytes original, ConstBytes decoded,
                        std::uint64_t first_index, unsigned threads) {
  constexpr std::uint64_t kBatch = 1024;  // slabs whose statistics are held at a time
  const std::uint64_t size = size_of(comparison.dtype),
                      count = std::min(original.size(), decoded.size()) / size;
  const std::uint64_t slabs = ceil_div(count, kMetricsSlab);
  const auto parts = std::make_unique<ErrorStatistics[]>(std::min(slabs, kBatch));
  ErrorStatistics total;
  for (std::uint64_t batch = 0; batch < slabs; batch += kBatch) {
    const std::uint64_t here = std::min(kBatch, slabs - batch);
    parallel_for(here, threads, [&](std::uint64_t task) {
      const std::uint64_t first = (batch + task) * kMetricsSlab,
                          length = std::min(kMetricsSlab, count - first);
      parts[task] = with_dtype(comparison.dtype, [&](auto zero) {
        return Slab<decltype(zero)>(comparison, original.data() + first * size, decoded.data() + first * size,
                                    first_index + first, length)
            .run();
      });
    });
    for (std::uint64_t task = 0; task < here; ++task) total.merge(parts[task]);
  }
  return total;
}

}  // namespace homz
