// Every instruction set, any number of threads and the decoder written from the specification agree on every
// byte.
#include <gtest/gtest.h>

#include <random>

#include "tests/homcomp/coding.hpp"
#include "tests/homcomp/reference.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

using homcomp::available_kernels;
using homcomp::Kernels;
using homcomp::Plan;

// Encodes and decodes by all; true if the payload is smaller than the data.
bool check_all(const Sample& sample, double bound, const Plan& plan) {
  SCOPED_TRACE(testing::Message() << sample.name << " " << to_string(sample.field.dtype) << " "
                                  << sample.field.shape_text() << ", bound " << bound << ", dim "
                                  << plan.dim);
  const Payload payload = make_payload(sample, bound, plan, *available_kernels().front());
  for (const Kernels* kernels : available_kernels())
    for (const unsigned threads : {1u, 3u})
      EXPECT_TRUE(make_payload(sample, bound, plan, *kernels, threads) == payload)
          << kernels->name << ", " << threads << " threads";
  if (payload.empty()) return false;
  HomcompReference reference(sample.field, plan.dim, sample.fill_bits);
  const std::vector<std::byte> expected = reference.decode(payload);
  EXPECT_TRUE(judge(sample.field.dtype, sample.bytes(), expected, bound, sample.fill_bits));
  for (const Kernels* kernels : available_kernels())
    EXPECT_TRUE(read_payload(sample, bound, plan, *kernels, payload, 2) == expected) << kernels->name;
  return true;
}

TEST(Dispatch, ThereIsAlwaysAScalarOne) {
  ASSERT_FALSE(available_kernels().empty());
  EXPECT_EQ(available_kernels().front()->name, "scalar");
}

TEST(Dispatch, AllInputsAndBounds) {
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}}) {
        const Sample sample = make_sample(input, dtype, extents);
        const auto bounds = bounds_for(sample);
        for (std::size_t i = 0; i < bounds.size(); i += kSanitized ? 5 : 2) {
          check_all(sample, bounds[i], plan_for(sample.field));
          if (testing::Test::HasFailure()) return;
        }
      }
}

TEST(Dispatch, EverySizeOfALineAndEveryDimension) {
  for (std::uint64_t count = 1; count <= 5000; count += count < 200 ? 1 : 97)
    check_all(make_sample("walk", Dtype::f32, {count}), 1e-3, Plan{});
  for (const std::uint64_t count : {4095, 4096, 4097, 8192, 64 * 4096 - 1, 64 * 4096 + 33})
    check_all(make_sample("nan_tenth", Dtype::f64, {count}), 1e-3, Plan{});
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {64, 64},       {65, 63},       {3, 1000},     {1000, 3},     {2, 5000},      {5, 7, 11},
      {16, 16, 16},   {17, 15, 33},   {3, 50, 60},   {50, 3, 60},   {50, 60, 3},    {200, 2, 2},
      {2, 2, 2000},   {9, 5, 3, 2},   {3, 17, 9, 5}, {40, 3, 3, 3}, {2, 2, 40, 40}, {2, 33, 20, 31},
      {70, 70, 2, 2}, {1, 40, 1, 90}, {1000, 16},    {4, 100, 16},  {20, 4, 3, 16}, {70, 2, 2, 32}};
  for (const auto& extents : shapes)
    for (unsigned dim = 1; dim <= 3; ++dim)
      for (const std::string_view input : {"sine", "coast", "nan_tenth", "normal", "zeros"}) {
        const Sample sample = make_sample(input, dim == 2 ? Dtype::f64 : Dtype::f32, extents);
        if (dim > sample.field.without_unit_extents().rank) continue;
        check_all(sample, 1e-3, plan_for(sample.field, dim));
        if (testing::Test::HasFailure()) return;
      }
}

// Whole numbers with step 1: residuals of any width, constant, sloped and curved in every direction.
TEST(Dispatch, QuantaOfEveryWidth) {
  std::mt19937_64 random(4);
  for (unsigned width = 0; width <= 31; ++width)
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{8200}, {70, 130}, {17, 18, 40}})
      for (int kind = 0; kind < 4; ++kind) {
        const Field field = *Field::make(Dtype::f64, extents);
        std::vector<double> values(field.count());
        for (std::uint64_t i = 0; i < values.size(); ++i) {
          const auto noise =
              static_cast<double>(random() >> (63 - width)) - std::ldexp(1, static_cast<int>(width));
          const auto x = static_cast<double>(i % extents.back()), y = static_cast<double>(i / extents.back());
          values[i] = noise + (kind == 1   ? 1e6
                               : kind == 2 ? 1000 * x - 77 * y
                               : kind == 3 ? 11 * x * x - y * y
                                           : 0);
        }
        const Sample sample = sample_of("widths", values, extents);
        check_all(sample, 0.5, plan_for(field, 0, 1.0));
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Dispatch, QuantaAtTheLimit) {
  for (const double edge : {0x1p30 - 1, 0x1p30, 0x1p30 + 1, 0x1p31 - 1, 0x1p31, 0x1p32}) {
    std::vector<double> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] =
          (i % 2 ? -1 : 1) * (i % 100 < 3 ? edge + static_cast<double>(i % 3) - 1 : static_cast<double>(i));
    for (const double bound : {0.25, 0.5, 1.0})
      check_all(sample_of("limit", values), bound, Plan{1, true, 1.0});
  }
}

// Rows with one, and many, of a fill value of either sign, which is told by its bits, among zeros of the
// other.
TEST(Dispatch, ZeroIsAFillValueOfOneSign) {
  std::mt19937 random(5);
  for (const float fill : {0.0f, -0.0f})
    for (const auto& extents :
         std::vector<std::vector<std::uint64_t>>{{5000}, {70, 67}, {18, 19, 21}, {20, 17, 16}})
      for (const unsigned often : {2u, 300u}) {
        const Field field = *Field::make(Dtype::f32, extents);
        std::vector<float> values(field.count());
        for (float& value : values) {
          value = random() % often == 0 ? fill : static_cast<float>(random() % 7) - 3;
          if (value == 0 && random() % 3 == 0) value = -value;
        }
        check_all(sample_of<float>("signed zeros", values, extents, fill), 0.25, plan_for(field));
        if (testing::Test::HasFailure()) return;
      }
}

// Those whose reciprocal is infinite give no quanta.
TEST(Dispatch, StepsBelowTheNormalNumbers) {
  constexpr double kLeast = 0x1p-149;
  for (const double step : {kLeast, 1e-42, 0x1p-128, 0x1p-128 + kLeast, 0x1p-127, 0x1p-126 - kLeast})
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{5000}, {18, 19, 21}}) {
      const Field field = *Field::make(Dtype::f32, extents);
      std::vector<float> values(field.count());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(step * (static_cast<double>(i % 700) - 350));
      const Sample sample = sample_of("subnormal", values, extents);
      EXPECT_EQ(check_all(sample, step / 2, plan_for(field, 0, step)), step > 0x1p-128);
      check_all(sample, step, plan_for(field));
    }
}

// Rows of 16 in cubes have code of their own.
TEST(Dispatch, QuantaAtTheLimitBesideFillValuesInRowsOf16) {
  constexpr double kFill = -5e300, kLimit = 0x1p30;
  std::mt19937 random(6);
  for (const auto& extents :
       std::vector<std::vector<std::uint64_t>>{{16, 16, 16}, {17, 30, 48}, {3, 16, 16, 32}})
    for (const double edge : {kLimit - 2, kLimit - 1, kLimit, kLimit + 1}) {
      const Field field = *Field::make(Dtype::f64, extents);
      std::vector<double> values(field.count());
      for (double& value : values) {
        value = random() % 5 == 0 ? kFill : random() % 3 == 0 ? edge : static_cast<double>(random() % 9);
        if (value == edge && random() % 2 == 0) value = -edge;
      }
      EXPECT_TRUE(
          check_all(sample_of<double>("limit", values, extents, kFill), 0.5, plan_for(field, 3, 1.0)));
    }
}

}  // namespace
}  // namespace homz::test
