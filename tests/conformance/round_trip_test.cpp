// What every codec promises, whatever its options, for every kind of number: the bound, the exact return of
// what is no finite number or is fill, and a size that never exceeds the data by more than a small constant.
#include "tests/support/round_trip.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

class RoundTrip : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, RoundTrip, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64};

bool is_lossless(const std::string& choice) {
  return choice_of(choice).codec->info().lossless;
}

// More than one block, tile and row of tiles in every direction, and odd.
const std::vector<std::vector<std::uint64_t>> kExtents =
    kSanitized ? std::vector<std::vector<std::uint64_t>>{{67, 41}}
               : std::vector<std::vector<std::uint64_t>>{{40013}, {133, 301}, {11, 41, 89}};

TEST_P(RoundTrip, KeepsEveryBoundForEveryInput) {
  for (const std::string_view input : input_names())
    for (const Dtype dtype : kDtypes)
      for (const auto& extents : kExtents) {
        const Sample sample = make_sample(input, dtype, extents);
        for (const double bound : is_lossless(GetParam()) ? std::vector{1e-3} : bounds_for(sample)) {
          check_round_trip(GetParam(), sample, bound);
          if (HasFailure()) return;
        }
      }
}

// Options may ask for a shape; one in three dimensions satisfies all.
TEST_P(RoundTrip, TakesThreeDimensions) {
  EXPECT_FALSE(check_round_trip(GetParam(), make_sample("sine", Dtype::f32, {9, 10, 11}), 1e-3).empty());
}

TEST_P(RoundTrip, ReturnsEveryBitForBoundZero) {
  for (const std::string_view input : input_names())
    for (const Dtype dtype : kDtypes) {
      check_round_trip(GetParam(), make_sample(input, dtype, {1000}), 0);
      if (HasFailure()) return;
    }
}

// A field of one value costs a header and that value, with and without a mask, in any codec.
TEST_P(RoundTrip, ConstantFieldsCostNextToNothing) {
  for (const std::string_view input : {"zeros", "constant", "constant_subnormal", "nan_all", "fill_all"})
    for (const Dtype dtype : kDtypes) {
      const auto stream = check_round_trip(GetParam(), make_sample(input, dtype, {64, 64}), 1e-3);
      EXPECT_LE(stream.size(), StreamHeader::kBytes + 8) << input;
    }
}

// A declared fill value does not spoil the rest: masked blocks cost next to nothing.
TEST_P(RoundTrip, MasksCostLittle) {
  if (is_lossless(GetParam())) GTEST_SKIP() << "bit for bit";
  const Sample masked = make_sample("coast", Dtype::f32, {180, 360});
  Sample smooth = masked;
  for (std::size_t at = 0; at < smooth.data.size(); at += 4)
    if (std::memcmp(&smooth.data[at], &*masked.fill_bits, 4) == 0) std::memset(&smooth.data[at], 0, 4);
  smooth.fill_bits.reset();
  const auto with_mask = check_round_trip(GetParam(), masked, 0.032),
             without = check_round_trip(GetParam(), smooth, 0.032);
  EXPECT_LE(with_mask.size(), without.size() + without.size() / 10 + 180 * 8);
}

// The finest detail of the contract: bounds exactly at, and one unit in the last place around, a value's own
// error.
TEST_P(RoundTrip, KeepsBoundsOfOneUnitInTheLastPlace) {
  if (is_lossless(GetParam())) GTEST_SKIP() << "bit for bit";
  for (const Dtype dtype : kDtypes) {
    const Sample sample = make_sample("normal", dtype, {3001});
    const double ulp = dtype == Dtype::f32 ? 0x1p-23 : 0x1p-52;
    for (const double factor : {0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0}) {
      check_round_trip(GetParam(), sample, factor * ulp);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace homz::test
