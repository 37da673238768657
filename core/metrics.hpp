// What compression did to the data, measured by code that shares nothing with the codecs.
//
// Values count where the original is finite and not fill; all others must return bit for bit. Whether a value
// is within the bound is decided in exact arithmetic, without slack.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/field.hpp"
#include "core/memory.hpp"

namespace homz {

// One value, before and after.
struct ValuePair {
  std::uint64_t index = 0;
  double original = 0, decoded = 0;
};

struct ErrorStatistics {
  std::uint64_t values = 0;      // that count
  std::uint64_t non_finite = 0;  // NaN and infinities of the original
  std::uint64_t fill = 0;        // fill values of the original
  std::uint64_t mismatches = 0;  // values that had to return bit for bit, or finite, and did not
  std::uint64_t violations = 0;  // values that break the bound; mismatches are among them
  std::optional<ValuePair> first_violation;

  double min = std::numeric_limits<double>::infinity();  // of the original
  double max = -std::numeric_limits<double>::infinity();
  // The largest |original - decoded|, rounded up: not above a bound if and only if no value exceeds that
  // bound.
  double max_abs_error = 0;
  std::uint64_t max_error_index = 0;

  // Sums over the values that count: means, second moments about the means, and the squared errors.
  long double mean_original = 0, mean_decoded = 0;
  long double moment_original = 0, moment_decoded = 0, moment_mixed = 0;
  long double squared_errors = 0;

  // Takes in the statistics of the values that follow. The result depends on the order of merges, not on
  // threads.
  void merge(const ErrorStatistics& later);

  bool exact() const { return max_abs_error == 0 && mismatches == 0; }
  // The figures below have no value where there is nothing to compare or where it would be 0 / 0.
  std::optional<double> value_range() const;  // max - min
  std::optional<double> max_error_over_range() const;
  std::optional<double> mse() const;
  std::optional<double> rmse() const;
  std::optional<double> nrmse() const;    // RMSE / value range
  std::optional<double> psnr() const;     // 20 log10(value range / RMSE) in dB; infinite if RMSE is 0
  std::optional<double> snr() const;      // 10 log10(variance of the original / MSE) in dB; likewise
  std::optional<double> pearson() const;  // correlation of original and decoded values; 1 if RMSE is 0
};

struct Comparison {
  Dtype dtype = Dtype::f32;
  std::optional<double> bound;  // none: only what is not finite or fill is judged; 0: bit for bit
  std::optional<std::uint64_t> fill_bits;
};

inline constexpr std::uint64_t kMetricsSlab = 1 << 16;  // values

// Compares two arrays of the same size in bytes. Larger ones can come in pieces, each but the last of a
// multiple of kMetricsSlab values: merged in order they give the same bits as one call. `first_index` is that
// of the piece.
ErrorStatistics compare(const Comparison& comparison, ConstBytes original, ConstBytes decoded,
                        std::uint64_t first_index, unsigned threads);

}  // namespace homz
