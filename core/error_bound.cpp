#include "core/error_bound.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <mutex>

#include "core/bits.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/value_range.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

constexpr std::array<std::string_view, 4> kModeNames = {"lossless", "abs", "rel", "psnr"};

template <class T>
ValueRange range_of(const std::byte* data, std::uint64_t count, std::optional<std::uint64_t> fill_bits) {
  ValueRange range;
  T low = std::numeric_limits<T>::infinity();
  T high = -low;
  for (std::uint64_t i = 0; i < count; ++i) {
    const T x = load_value<T>(data + i * sizeof(T));
    if (fill_bits && bits_of(x) == *fill_bits) {
      ++range.fill;
    } else if (!std::isfinite(x)) {
      ++range.non_finite;
    } else {
      ++range.finite;
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
  }
  range.min = low;
  range.max = high;
  return range;
}

double toward_zero(double value) {
  return value > 0 ? value_of<double>(bits_of(value) - 1) : value;
}

// a * b rounded toward zero; a, b >= 0. std::fma gives the sign of the rounding error exactly, except near
// underflow.
double multiply_down(double a, double b) {
  constexpr double kErrorMayUnderflow = 0x1p-960;
  const double product = a * b;
  if (product < kErrorMayUnderflow) return toward_zero(product);
  return std::fma(a, b, -product) < 0 ? toward_zero(product) : product;
}

// max - min rounded toward zero, as the product of a power of two (1 or 2) and a finite double: the
// difference of two doubles can exceed the largest double.
struct Span {
  double scale, value;
};

Span span_of(const ValueRange& range) {
  const double difference = range.max - range.min;
  if (!std::isfinite(difference)) return {2, toward_zero(range.max / 2 - range.min / 2)};
  const bool exact = range.max - difference == range.min && range.min + difference == range.max;
  return {1, exact ? difference : toward_zero(difference)};
}

}  // namespace

void ValueRange::merge(const ValueRange& other) noexcept {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  finite += other.finite;
  non_finite += other.non_finite;
  fill += other.fill;
}

ValueRange value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                       Exec exec) {
  constexpr std::uint64_t kSlice = 1 << 20;  // values a task
  const std::uint64_t count = field.count();
  std::mutex guard;
  ValueRange total;
  parallel_for(ceil_div(count, kSlice), exec.threads, [&](std::uint64_t task) {
    const std::uint64_t first = task * kSlice;
    const std::uint64_t length = std::min(kSlice, count - first);
    const ValueRange part = with_dtype(field.dtype, [&](auto zero) {
      return range_of<decltype(zero)>(data.data() + first * sizeof(zero), length, fill_bits);
    });
    const std::lock_guard lock(guard);
    total.merge(part);  // minimum, maximum and counts: the order of the tasks does not matter
  });
  return total;
}

Result<ErrorBound> parse_error_bound(std::string_view text) {
  if (text == kModeNames[0]) return ErrorBound{BoundMode::lossless, 0};
  const std::size_t colon = text.find(':');
  for (std::size_t mode = 1; mode < kModeNames.size(); ++mode) {
    if (text.substr(0, colon) != kModeNames[mode] || colon == std::string_view::npos) continue;
    HOMZ_ASSIGN(const double value, parse_double(text.substr(colon + 1)));
    const ErrorBound bound{static_cast<BoundMode>(mode), value};
    HOMZ_TRY(validate(bound));
    return bound;
  }
  return Status(Code::invalid_argument,
                fmt::format("'{}' is not an error bound: give abs:E, rel:R, psnr:D or lossless", text));
}

std::string to_string(const ErrorBound& bound) {
  const std::string_view name = kModeNames[static_cast<std::size_t>(bound.mode)];
  return bound.mode == BoundMode::lossless ? std::string(name) : fmt::format("{}:{}", name, bound.value);
}

Status validate(const ErrorBound& bound) {
  const FpEnvironment environment;  // comparing a signalling NaN must not trap
  if (bound.mode == BoundMode::lossless) return Status();
  if (bound.mode > BoundMode::psnr) return Status(Code::invalid_argument, "unknown mode of error bound");
  if (std::isfinite(bound.value) && bound.value > 0) return Status();
  return Status(
      Code::invalid_argument,
      fmt::format("error bound {}: must be finite and greater than 0; for exact values use a lossless "
                  "codec such as zstd",
                  to_string(bound)));
}

Result<double> resolve(const ErrorBound& bound, const ValueRange& range) {
  const FpEnvironment environment;  // the bound is part of the stream
  HOMZ_TRY(validate(bound));
  if (bound.mode == BoundMode::lossless) return 0.0;
  if (bound.mode == BoundMode::absolute) return bound.value;
  if (range.empty() || range.min == range.max) return 0.0;
  // A part in 2^40 covers the errors of pow and of its argument, whatever the number of decibels.
  const double factor =
      bound.mode == BoundMode::psnr ? std::pow(10.0, -bound.value / 20) * (1 - 0x1p-40) : bound.value;
  const Span span = span_of(range);
  const double absolute = span.scale * multiply_down(span.value, factor);
  if (!std::isfinite(absolute))
    return Status(Code::invalid_argument,
                  fmt::format("error bound {} of the value range {} .. {} exceeds the "
                              "largest double; give an absolute bound",
                              to_string(bound), range.min, range.max));
  return absolute;
}

Result<double> resolve_over(const Field& field, ConstBytes data, const ErrorBound& bound,
                            std::optional<std::uint64_t> fill_bits, Exec exec) {
  const bool needs_range = bound.mode == BoundMode::relative || bound.mode == BoundMode::psnr;
  if (needs_range && exec.space == Space::device) {
    HOMZ_ASSIGN(const ValueRange range, gpu::value_range(field, data, fill_bits, exec));
    return resolve(bound, range);
  }
  return resolve(bound, needs_range ? value_range(field, data, fill_bits, exec) : ValueRange());
}

}  // namespace homz
