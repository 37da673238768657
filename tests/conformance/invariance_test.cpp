// What must not show: the number of threads, the host program's floating-point environment, the alignment of
// memory and what it held before. In every codec the same data gives the same bytes, and a stream gives the
// same data.
#include <gtest/gtest.h>

#include <span>

#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

class Invariance : public testing::TestWithParam<std::string> {
 protected:
  // Encodes and decodes every sample both plainly and in each of the variations.
  void expect_no_difference(const std::vector<Variation>& variations,
                            const std::vector<std::uint64_t>& extents) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const std::string_view input : std::span(kInputs).first(kSanitized ? 3 : std::size(kInputs))) {
        const Sample sample = make_sample(input, dtype, extents);
        for (const double bound : common_bounds_for(sample)) {
          compare(sample, bound, variations);
          if (HasFailure()) return;
        }
      }
  }

 private:
  static constexpr std::string_view kInputs[] = {"walk",       "nan_tenth", "fill_blocks", "subnormals",
                                                 "all_scales", "extremes",  "infinities",  "random_bits"};

  void compare(const Sample& sample, double bound, const std::vector<Variation>& variations) {
    SCOPED_TRACE(describe(GetParam(), sample, bound));
    const Compression compression = compression_of(GetParam(), sample, bound);
    if (footprint(compression, host()).status().code() == Code::invalid_argument) return;
    const Outcome plain = encode(compression, sample.bytes());
    ASSERT_TRUE(plain.status.ok()) << plain.status.message();
    const Outcome plain_data = decode(plain.bytes);
    ASSERT_TRUE(plain_data.status.ok()) << plain_data.status.message();
    for (const Variation& how : variations) {
      SCOPED_TRACE(testing::Message()
                   << how.threads << " threads, misaligned by " << how.misalign << ", " << to_string(how.fp)
                   << ", poison " << std::to_integer<int>(how.poison));
      const Outcome varied = encode(compression, sample.bytes(), how);
      ASSERT_TRUE(varied.status.ok()) << varied.status.message();
      EXPECT_TRUE(varied.bytes == plain.bytes) << "other bytes";
      const Outcome data = decode(plain.bytes, how);
      ASSERT_TRUE(data.status.ok()) << data.status.message();
      EXPECT_TRUE(data.bytes == plain_data.bytes) << "other data";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Codecs, Invariance, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

const std::vector<std::uint64_t> kManySegments =
    kSanitized ? std::vector<std::uint64_t>{3, 150, 151} : std::vector<std::uint64_t>{3, 211, 223};

TEST_P(Invariance, ThreadsDoNotShow) {
  expect_no_difference({{.threads = 2}, {.threads = 7}, {.threads = 0}}, kManySegments);
  expect_no_difference({{.threads = 2}, {.threads = 7}}, {kManySegments[1] * kManySegments[2]});
}

TEST_P(Invariance, FloatingPointEnvironmentDoesNotShow) {
  std::vector<Variation> variations;
  for (const FpState state : kFpStates) {
    variations.push_back({.threads = 1, .fp = state});
    variations.push_back({.threads = 3, .fp = state});
  }
  expect_no_difference(variations, {5, 37, 41});
}

TEST_P(Invariance, AlignmentDoesNotShow) {
  expect_no_difference({{.misalign = 1}, {.misalign = 2}, {.misalign = 3}, {.misalign = 4}, {.misalign = 13}},
                       {5, 37, 40});
}

TEST_P(Invariance, FormerContentOfBuffersDoesNotShow) {
  expect_no_difference(
      {{.poison = std::byte{0x00}}, {.poison = std::byte{0xff}}, {.poison = std::byte{0x7f}}}, {19, 23, 9});
}

// No state is carried from call to call.
TEST_P(Invariance, EarlierCallsDoNotShow) {
  const Sample sample = make_sample("walk", Dtype::f32, {4000});
  const auto first = check_round_trip(GetParam(), sample, 1e-3);
  for (const std::string_view input : {"random_bits", "nan_tenth", "fill_blocks"})
    check_round_trip(GetParam(), make_sample(input, Dtype::f64, {5000}), 1e-3);
  EXPECT_EQ(check_round_trip(GetParam(), sample, 1e-3), first);
}

}  // namespace
}  // namespace homz::test
