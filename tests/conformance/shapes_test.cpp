// Every codec takes every size and shape: each number of values up to a few blocks, one more and one less
// than every unit in which codecs cut fields, extents of 1 in any place, odd rows, and shapes drawn at
// random.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

class Shapes : public testing::TestWithParam<std::string> {
 protected:
  void check(std::string_view input, Dtype dtype, const std::vector<std::uint64_t>& extents) {
    const Sample sample = make_sample(input, dtype, extents);
    for (const double bound : common_bounds_for(sample)) check_round_trip(GetParam(), sample, bound);
  }
};
INSTANTIATE_TEST_SUITE_P(Codecs, Shapes, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64};

TEST_P(Shapes, EverySizeUpToAFewBlocks) {
  for (std::uint64_t count = 0; count <= 200 && !HasFailure(); ++count)
    for (const Dtype dtype : kDtypes)
      for (const std::string_view input : {"sine", "nan_tenth", "random_bits"}) check(input, dtype, {count});
}

TEST_P(Shapes, OneMoreAndOneLessThanEveryUnit) {
  for (const std::uint64_t unit : {1024, 4096, 32768, 65536, 131072})
    for (const std::uint64_t count : {unit - 1, unit, unit + 1})
      for (const Dtype dtype : kDtypes)
        for (const std::string_view input : {"walk", "fill_blocks"}) {
          if (kSanitized && (unit > 65536 || dtype == Dtype::f64)) continue;
          check(input, dtype, {count});
          if (HasFailure()) return;
        }
}

TEST_P(Shapes, UnitExtentsOddRowsAndLessThanATile) {
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {1},          {1, 1},       {1, 7},       {7, 1},        {3, 1, 5},    {2, 2, 2, 2}, {1, 1, 1, 1},
      {5, 1, 1, 9}, {2, 3},       {3, 3, 3},    {4, 4, 4},     {5, 5, 5},    {8, 8},       {9, 7},
      {8, 1},       {1, 8, 8},    {7, 9, 1},    {33, 1},       {1, 33},      {37, 41},     {6, 37, 40},
      {24, 1, 144}, {24, 73, 1},  {1, 73, 144}, {2, 3, 67, 5}, {129, 3},     {3, 129},     {65, 63},
      {17, 9, 4},   {3, 2, 1026}, {513, 2},     {2, 2, 513},   {1, 2, 3, 4}, {4, 3, 2, 1}, {64, 1, 64},
      {16, 16, 16}, {15, 17, 13}};
  for (const auto& extents : shapes)
    for (const Dtype dtype : kDtypes)
      for (const std::string_view input : {"sine", "nan_tenth", "fill_blocks", "random_bits"}) {
        check(input, dtype, extents);
        if (HasFailure()) return;
      }
}

TEST_P(Shapes, FieldsWithoutValues) {
  for (const auto& extents :
       std::vector<std::vector<std::uint64_t>>{{0}, {0, 10}, {10, 0}, {5, 0, 7}, {0, 0, 0, 0}})
    for (const Dtype dtype : kDtypes) {
      const auto stream = check_round_trip(GetParam(), make_sample("zeros", dtype, extents), 1e-3);
      EXPECT_EQ(stream.size(), StreamHeader::kBytes);
    }
}

TEST_P(Shapes, DrawnAtRandom) {
  std::mt19937_64 random(20);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto names = input_names();
  for (int round = 0; round < (kSanitized ? 60 : 400) && !HasFailure(); ++round) {
    std::vector<std::uint64_t> extents(1 + below(4));
    for (auto& extent : extents)
      extent = 1 + below(extents.size() == 1 ? 5000 : extents.size() == 2 ? 90 : 17);
    const Sample sample =
        make_sample(names[below(names.size())], below(2) ? Dtype::f32 : Dtype::f64, extents);
    const auto bounds = bounds_for(sample);
    const double bound =
        bounds[below(bounds.size())] * std::ldexp(1.0 + static_cast<double>(below(1000)) / 1000, -1);
    if (bound > 0) check_round_trip(GetParam(), sample, bound, {static_cast<unsigned>(1 + below(3))});
  }
}

}  // namespace
}  // namespace homz::test
