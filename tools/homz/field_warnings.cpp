#include "tools/homz/field_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/bits.hpp"
#include "core/text.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/linear.hpp"
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

// The step among the options of a codec that can be computed with; 0 if there is none.
double step_asked(const CodecChoice& choice) {
  if (find_arithmetic(choice.codec->info().id) == nullptr) return 0;
  const Result<std::string> text = choice.codec->describe(choice.params);
  Result<Options> options = Options::parse(text.ok() ? *text : "");
  const Result<double> step = options.ok() ? options->take_positive("step", 0) : options.status();
  return step.ok() ? *step : 0;
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

std::optional<std::string> unsuitable_step(const CodecChoice& choice, double abs_error,
                                           const ValueRange& range, Representation representation) {
  constexpr double kRounding = 1 + 0x1p-22;  // a step is rounded to the type
  const double step = step_asked(choice);
  if (step == 0 || representation == Representation::constant) return std::nullopt;
  if (step > 2 * abs_error * kRounding)
    return fmt::format(
        "the step {} is more than twice the bound {}: values between quanta are stored exactly; give a "
        "shorter one",
        number_text(step), number_text(abs_error));
  const double largest = std::max(std::abs(range.min), std::abs(range.max));
  if (range.empty() || representation != Representation::stored || largest < kSumLimit * step)
    return std::nullopt;
  return fmt::format(
      "the step {} is too short: values beyond {} are stored exactly; give a longer one, of nearly twice the "
      "bound {}",
      number_text(step), number_text(kSumLimit * step), number_text(abs_error));
}

std::optional<std::string> flattened(const ErrorBound& bound, const ValueRange& range) {
  if (bound.mode != BoundMode::absolute || range.empty() || range.min == range.max) return std::nullopt;
  const double width = range.max - range.min;
  if (!(bound.value > width)) return std::nullopt;
  return fmt::format("the bound {} exceeds the value range {}: the field becomes flat", bound.value,
                     number_text(width));
}

}  // namespace homz::cli
