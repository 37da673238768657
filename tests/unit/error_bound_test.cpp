// Error bounds: their text, the range that relative ones refer to, and their resolution, which never exceeds
// what was asked in exact arithmetic.
#include "core/error_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/fp_state.hpp"
#include "tests/support/inputs.hpp"

namespace homz::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

ValueRange range(double low, double high) {
  ValueRange result;
  result.min = low;
  result.max = high;
  result.finite = 2;
  return result;
}

TEST(BoundText, IsParsedAndWrittenBack) {
  for (const std::string text :
       {"abs:0.001", "rel:1e-05", "psnr:60", "lossless", "abs:5e-324", "abs:1.7976931348623157e+308"}) {
    const auto bound = parse_error_bound(text);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(to_string(*bound), text);
  }
  EXPECT_EQ(parse_error_bound("abs:+1E-3")->value, 1e-3);
}

TEST(BoundText, ThatMeansNothingIsNamed) {
  for (const std::string text :
       {"",           "abs",        "abs:",       "abs:0",     "abs:-0.0",    "abs:-1",
        "abs:nan",    "abs:inf",    "abs:1e-400", "abs:1e400", "abs:1e-3abc", "abs: 1",
        "abs:1 ",     "abs:0x1p-3", "abs:1,5",    "rel:0",     "psnr:-3",     "lossless:1",
        "absolute:1", "1e-3",       "ABS:1",      "abs:++1",   "abs:1e",      "abs:1:2"}) {
    const auto bound = parse_error_bound(text);
    EXPECT_EQ(bound.status().code(), Code::invalid_argument) << text;
    EXPECT_FALSE(bound.status().message().empty());
  }
}

TEST(BoundText, IsTheSameInEveryFloatingPointEnvironment) {
  for (const FpState state : kFpStates) {
    double value = 0, small = 0;
    {
      const ForeignFp foreign(state);
      value = parse_error_bound("abs:0.001")->value;
      small = parse_error_bound("abs:1.2345678901234567e-5")->value;
    }
    EXPECT_EQ(value, 0.001) << to_string(state);
    EXPECT_EQ(small, 1.2345678901234567e-5) << to_string(state);
  }
}

TEST(Range, LeavesOutWhatIsNotFiniteAndFill) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Sample sample = make_sample("fill_blocks", dtype, {3000});
    const ValueRange found = value_range(sample.field, sample.bytes(), sample.fill_bits, host());
    EXPECT_LE(found.max, 4.0001);
    EXPECT_GE(found.min, -2.0001);
    EXPECT_EQ(found.fill, 900u);
    EXPECT_EQ(found.finite, 2100u);
    const ValueRange unmasked = value_range(sample.field, sample.bytes(), {}, host());
    EXPECT_GT(unmasked.max, 9e36);
    for (const std::string_view input : {"nan_all", "fill_all", "fill_nan"}) {
      const Sample empty = make_sample(input, dtype, {100});
      const ValueRange none = value_range(empty.field, empty.bytes(), empty.fill_bits, host());
      EXPECT_EQ(none.empty(), input != "fill_nan");
      EXPECT_EQ(none.fill + none.non_finite + none.finite, 100u);
    }
  }
}

TEST(Range, IsTheSameForAnyNumberOfThreads) {
  const Sample sample = make_sample("all_scales", Dtype::f32, {3000001});
  const ValueRange one = value_range(sample.field, sample.bytes(), {}, host());
  for (const unsigned threads : {2u, 7u}) {
    const ValueRange many = value_range(sample.field, sample.bytes(), {}, host(threads));
    EXPECT_EQ(many.min, one.min);
    EXPECT_EQ(many.max, one.max);
    EXPECT_EQ(many.finite, one.finite);
  }
}

// 128-bit floats hold every difference and product of these doubles exactly, or nearly so.
TEST(Resolve, NeverExceedsTheExactProduct) {
  std::mt19937_64 random(5);
  const auto draw = [&](int exponents) {
    return std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                      static_cast<int>(random() % exponents) - exponents / 2);
  };
  for (int i = 0; i < 20000; ++i) {
    const double low = (random() % 2 ? -1 : 1) * draw(40), high = low + draw(40), relative = draw(60);
    if (!(high > low)) continue;
    const auto found = resolve({BoundMode::relative, relative}, range(low, high));
    ASSERT_TRUE(found.ok());
    const __float128 exact = (static_cast<__float128>(high) - low) * relative;
    EXPECT_LE(static_cast<__float128>(*found), exact)
        << std::hexfloat << low << " " << high << " " << relative;
    EXPECT_GE(static_cast<__float128>(*found), exact * (1 - 0x1p-50));
  }
}

TEST(Resolve, DoesNotOverflow) {
  const auto found = resolve({BoundMode::relative, 1e-3}, range(-kLargest, kLargest));
  ASSERT_TRUE(found.ok());
  EXPECT_LE(*found, 2e-3 * kLargest);
  EXPECT_GE(*found, 1.99999999e-3 * kLargest);
  EXPECT_EQ(resolve({BoundMode::relative, 10}, range(-kLargest, kLargest)).status().code(),
            Code::invalid_argument);
}

TEST(Resolve, GivesZeroWhereThereIsNoRange) {
  for (const BoundMode mode : {BoundMode::relative, BoundMode::psnr}) {
    EXPECT_EQ(*resolve({mode, 60}, ValueRange()), 0);
    EXPECT_EQ(*resolve({mode, 60}, range(7, 7)), 0);
  }
  EXPECT_EQ(*resolve({BoundMode::lossless, 0}, range(0, 1)), 0);
  EXPECT_EQ(*resolve({BoundMode::absolute, 3}, ValueRange()), 3);
}

TEST(Resolve, OfDecibelsGuaranteesThem) {
  for (double decibels = 1; decibels < 200; decibels += 0.37) {
    const double error = *resolve({BoundMode::psnr, decibels}, range(-1, 2));
    EXPECT_GE(-20 * std::log10(static_cast<long double>(error) / 3), decibels);
    EXPECT_LE(-20 * std::log10(error / 3), decibels + 1e-9);
  }
}

// A host program's rounding mode, flushing or traps change no bound: streams would have other bytes.
TEST(Resolve, IsTheSameInEveryFloatingPointEnvironment) {
  const ValueRange ranges[] = {range(-0.1, 0.7), range(1e-300, 1.1e-300), range(-kLargest, kLargest),
                               range(0, 5e-324)};
  for (const ValueRange& values : ranges)
    for (const ErrorBound& bound :
         {ErrorBound{BoundMode::relative, 1e-3}, ErrorBound{BoundMode::psnr, 61.7}}) {
      const double expected = *resolve(bound, values);
      for (const FpState state : kFpStates) {
        double found = kInfinity;
        bool unchanged = false;
        {
          const ForeignFp foreign(state);
          found = *resolve(bound, values);
          unchanged = foreign.unchanged();
        }
        EXPECT_EQ(found, expected) << to_string(state) << ", " << to_string(bound);
        EXPECT_TRUE(unchanged) << to_string(state);
      }
    }
}

}  // namespace
}  // namespace homz::test
