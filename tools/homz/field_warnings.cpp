#include "tools/homz/field_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/bits.hpp"
#include "tools/hdf5/outliers.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr std::uint64_t kSample = 1 << 16;

template <class T>
std::vector<double> sample_of(ConstBytes data, std::optional<std::uint64_t> fill_bits) {
  const std::uint64_t count = data.size() / sizeof(T);
  const std::uint64_t step = std::max<std::uint64_t>(1, count / kSample) | 1;  // odd: misses no column
  std::vector<double> sample;
  for (std::uint64_t i = 0; i < count; i += step) {
    const T value = load_value<T>(data.data() + i * sizeof(T));
    if (std::isfinite(value) && bits_of(value) != fill_bits) sample.push_back(value);
  }
  return sample;
}

}  // namespace

std::optional<std::string> outliers_in(const Field& field, ConstBytes data,
                                       std::optional<std::uint64_t> fill_bits, const ErrorBound& bound,
                                       const ValueRange& range, double abs_error) {
  if (bound.mode != BoundMode::relative && bound.mode != BoundMode::psnr) return std::nullopt;
  std::vector<double> sample =
      with_dtype(field.dtype, [&](auto zero) { return sample_of<decltype(zero)>(data, fill_bits); });
  std::string warning = hdf5::outlier_warning(field.dtype, range, std::move(sample), abs_error);
  if (warning.empty()) return std::nullopt;
  return warning;
}

std::optional<std::string> coarse_step(double step, double abs_error) {
  constexpr double kRounding = 1 + 0x1p-22;  // a step is rounded to the type
  if (!(step > 2 * abs_error * kRounding)) return std::nullopt;
  return fmt::format("the step {} is more than twice the bound {}: values between quanta are stored exactly",
                     number_text(step), number_text(abs_error));
}

std::optional<std::string> flattened(const ErrorBound& bound, const ValueRange& range) {
  if (bound.mode != BoundMode::absolute || range.empty() || range.min == range.max) return std::nullopt;
  const double width = range.max - range.min;
  if (!(bound.value > width)) return std::nullopt;
  return fmt::format("the bound {} exceeds the value range {}: the field becomes flat", bound.value,
                     number_text(width));
}

}  // namespace homz::cli
