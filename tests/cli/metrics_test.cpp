// Metrics against values computed by hand, and the exact decision about the bound.
#include "core/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/bits.hpp"

namespace homz {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
ErrorStatistics compared(const std::vector<T>& a, const std::vector<T>& b, std::optional<double> bound = {},
                         std::optional<std::uint64_t> fill_bits = {}, unsigned threads = 1) {
  return compare({dtype_of<T>(), bound, fill_bits}, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)),
                 0, threads);
}

TEST(Metrics, FiguresComputedByHand) {
  // Errors 0, 1, 0, -1: MSE 1/2. Range 6; mean 3, second moment 9 + 1 + 1 + 9 = 20, variance 5.
  const auto s = compared<double>({0, 2, 4, 6}, {0, 1, 4, 7});
  EXPECT_EQ(s.values, 4u);
  EXPECT_EQ(s.max_abs_error, 1);
  EXPECT_EQ(s.max_error_index, 1u);
  EXPECT_EQ(*s.value_range(), 6);
  EXPECT_EQ(*s.mse(), 0.5);
  EXPECT_DOUBLE_EQ(*s.rmse(), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(*s.nrmse(), std::sqrt(0.5) / 6);
  EXPECT_DOUBLE_EQ(*s.max_error_over_range(), 1.0 / 6);
  EXPECT_DOUBLE_EQ(*s.psnr(), 20 * std::log10(6 / std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(*s.snr(), 10 * std::log10(10.0));
  // Decoded: mean 3, deviations -3, -2, 1, 4: moment 30; mixed 9 + 2 + 1 + 12 = 24.
  EXPECT_DOUBLE_EQ(*s.pearson(), 24 / std::sqrt(20.0 * 30.0));
}

TEST(Metrics, NothingToCompareHasNoFigures) {
  for (const auto& s : {compared<float>({}, {}), compared<float>({kNan}, {kNan})}) {
    EXPECT_FALSE(s.psnr() || s.snr() || s.rmse() || s.pearson() || s.value_range());
    EXPECT_EQ(s.violations, 0u);
  }
}

TEST(Metrics, ExactDataIsInfinitelyGoodAndConstantDataWithErrorsUndefined) {
  const auto exact = compared<float>({1, 2}, {1, 2}, 0.0);
  EXPECT_TRUE(exact.exact());
  EXPECT_TRUE(std::isinf(*exact.psnr()));
  EXPECT_EQ(*exact.pearson(), 1);
  const auto constant = compared<float>({7, 7}, {7, 8});
  EXPECT_FALSE(constant.psnr() || constant.nrmse() || constant.snr() || constant.pearson());
  EXPECT_EQ(*constant.rmse(), std::sqrt(0.5));
}

TEST(Metrics, TheBoundIsDecidedExactly) {
  // 1 - 2^-60 in exact arithmetic; the difference of the doubles rounds to 1.
  const double tiny = 0x1p-60;
  EXPECT_EQ(compared<double>({1}, {tiny}, 1.0).violations, 0u);
  // 1 + 2^-60: rounds to 1, exceeds it.
  const auto above = compared<double>({1}, {-tiny}, 1.0);
  EXPECT_EQ(above.violations, 1u);
  EXPECT_GT(above.max_abs_error, 1.0);
  EXPECT_EQ(compared<double>({-1}, {tiny}, 1.0).violations, 1u);
  EXPECT_EQ(compared<double>({-1}, {-tiny}, 1.0).violations, 0u);
  // floats whose difference needs more digits than a double has
  EXPECT_EQ(compared<float>({0x1p30f}, {-0x1p-40f}, 0x1p30).violations, 1u);
  EXPECT_EQ(compared<float>({0x1p30f}, {0x1p-40f}, 0x1p30).violations, 0u);
}

TEST(Metrics, DifferencesBeyondTheLargestDoubleAreViolations) {
  const double most = std::numeric_limits<double>::max();
  const auto s = compared<double>({most}, {-most}, most);
  EXPECT_EQ(s.violations, 1u);
  EXPECT_TRUE(std::isinf(s.max_abs_error));
}

TEST(Metrics, SubnormalDifferencesCount) {
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(compared<double>({smallest}, {0}, smallest).violations, 0u);
  EXPECT_EQ(compared<double>({2 * smallest}, {0}, smallest).violations, 1u);
}

TEST(Metrics, NonFiniteAndFillValuesMustReturnBitForBit) {
  const std::uint64_t fill = bits_of(1e20f);
  const auto good = compared<float>({kNan, kInf, 1e20f, 1}, {kNan, kInf, 1e20f, 1.5f}, 1.0, fill);
  EXPECT_EQ(good.violations, 0u);
  EXPECT_EQ(good.non_finite, 2u);
  EXPECT_EQ(good.fill, 1u);
  EXPECT_EQ(good.values, 1u);
  EXPECT_EQ(good.max, 1);  // the fill value is no part of the range
  const auto bad = compared<float>({1, kNan, kInf, 1e20f}, {1, -kNan, -kInf, 1.0001e20f}, 1e30, fill);
  EXPECT_EQ(bad.mismatches, 3u);
  EXPECT_EQ(bad.violations, 3u);
  EXPECT_EQ(bad.first_violation->index, 1u);
  EXPECT_EQ(compared<float>({kNan}, {value_of<float>(0x7fc00001u)}).violations, 1u);
}

TEST(Metrics, FiniteValuesThatComeBackNonFiniteAreInfinitelyWrong) {
  const auto s = compared<float>({1, 2}, {1, kNan});
  EXPECT_EQ(s.violations, 1u);
  EXPECT_TRUE(std::isinf(s.max_abs_error));
  EXPECT_TRUE(std::isinf(*s.rmse()));
  EXPECT_FALSE(s.pearson());
}

TEST(Metrics, BoundZeroMeansBitForBit) {
  EXPECT_EQ(compared<float>({0.0f}, {-0.0f}, 0.0).violations, 1u);
  EXPECT_EQ(compared<float>({0.0f}, {-0.0f}, 1e-30).violations, 0u);
  EXPECT_EQ(compared<float>({0.0f}, {-0.0f}).violations, 0u);
}

TEST(Metrics, LargeOffsetsDoNotCancelTheMoments) {
  std::vector<double> a, b;
  for (int i = 0; i < 100000; ++i) {
    a.push_back(1e9 + (i % 2 == 0 ? 1 : -1));
    b.push_back(1e9 + (i % 4 < 2 ? 1 : -1));  // uncorrelated with a
  }
  EXPECT_NEAR(*compared(a, b).pearson(), 0, 1e-12);
  EXPECT_NEAR(static_cast<double>(compared(a, b).moment_original), 100000, 1e-6);
}

TEST(Metrics, PiecesAndThreadsGiveTheSameBits) {
  std::vector<float> a, b;
  for (std::size_t i = 0; i < 5 * kMetricsSlab + 17; ++i) {
    a.push_back(static_cast<float>(i * i % 1013) * 0.1f);
    b.push_back(a.back() + static_cast<float>(i % 7) * 0.001f);
  }
  const Comparison comparison{Dtype::f32, 0.005, std::nullopt};
  const ConstBytes x = std::as_bytes(std::span(a)), y = std::as_bytes(std::span(b));
  const ErrorStatistics whole = compare(comparison, x, y, 0, 1);
  const std::uint64_t cut = 2 * kMetricsSlab;
  for (const unsigned threads : {1u, 2u, 5u}) {
    ErrorStatistics merged = compare(comparison, x.first(cut * 4), y.first(cut * 4), 0, threads);
    for (std::uint64_t first = cut; first < a.size(); first += kMetricsSlab) {
      const std::uint64_t bytes = std::min<std::uint64_t>(kMetricsSlab, a.size() - first) * 4;
      merged.merge(
          compare(comparison, x.subspan(first * 4, bytes), y.subspan(first * 4, bytes), first, threads));
    }
    EXPECT_EQ(merged.squared_errors, whole.squared_errors);
    EXPECT_EQ(merged.moment_mixed, whole.moment_mixed);
    EXPECT_EQ(merged.mean_decoded, whole.mean_decoded);
    EXPECT_EQ(merged.violations, whole.violations);
    EXPECT_EQ(merged.first_violation->index, whole.first_violation->index);
    EXPECT_EQ(merged.max_error_index, whole.max_error_index);
  }
}

}  // namespace
}  // namespace homz
