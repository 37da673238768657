// Faults that users of other compressors of this kind reported, as tests of every codec. Where the cases are
// tested:
//
//   1 hair above the bound      here          9 integers                     tests/hdf5, tests/cli
//   2 NaN and infinities        here         10 repacking whole files        tests/hdf5
//   3 land masks                here         11 arrays without elements      here, tests/hdf5, tests/cli
//   4 handful of values         here         12 wrong type or dimensions     errors/arguments_test, tests/cli
//   5 extents of 1              here         13 the bound is not rounded     here, tests/cli, tests/hdf5
//   6 identical values          here         14 ramps                        here
//   7 larger than the input     here         15 what "relative" means        here; plugin path: tests/hdf5
//   8 big-endian data           tests/hdf5 (a stream holds values of the machine's order)
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

class Cases : public testing::TestWithParam<std::string> {
 protected:
  // Compresses with the bound as a user states it; the judge uses the absolute bound that the header tells.
  StreamHeader check(const Sample& sample, const ErrorBound& bound) {
    SCOPED_TRACE(describe(GetParam(), sample, bound.value));
    const CodecChoice choice = choice_of(GetParam());
    const auto made = compress(choice, sample.field, sample.bytes(), bound, sample.fill_bits, host(2));
    if (made.status().code() == Code::invalid_argument) return {};  // options that do not suit the field
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return {};
    const auto back = decompress(registry(), made->stream(), host(2));
    EXPECT_TRUE(back.ok()) << back.status().message();
    if (!back.ok()) return {};
    EXPECT_EQ(back->header.requested, bound);
    EXPECT_TRUE(judge(sample.field.dtype, sample.bytes(), back->data.bytes(), back->header.abs_error,
                      sample.fill_bits));
    EXPECT_LE(made->bytes, size_limit(compression_of(GetParam(), sample, back->header.abs_error)));
    stream_bytes = made->bytes;
    return back->header;
  }
  bool lossless() const { return choice_of(GetParam()).codec->info().lossless; }
  bool suits(const Sample& sample) const {
    return footprint(compression_of(GetParam(), sample, 1e-3), host()).ok();
  }

  std::uint64_t stream_bytes = 0;
};
INSTANTIATE_TEST_SUITE_P(Codecs, Cases, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

template <class T, class F>
std::vector<T> tabulate(std::uint64_t count, F f) {
  std::vector<T> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<T>(f(static_cast<double>(i)));
  return values;
}

ErrorBound absolute(double value) {
  return {BoundMode::absolute, value};
}
ErrorBound relative(double value) {
  return {BoundMode::relative, value};
}

TEST_P(Cases, C01NoValueIsAHairAboveTheBound) {
  const auto f = [](double i) {
    return 116.3225 + 0.37 * std::sin(0.013 * i) + 1e-5 * std::fmod(i * 7919, 1009);
  };
  for (const double bound : {1e-3, 1e-5, 1e-6, 0x1p-17}) {
    check(sample_of("temperature", tabulate<float>(171840, f)), absolute(bound));
    check(sample_of("temperature", tabulate<double>(171840, f)), absolute(bound));
  }
}

TEST_P(Cases, C02NonFiniteValuesReturnAndTheRangeLeavesThemOut) {
  std::vector<float> values(64 * 64);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      values[64 * i + j] = static_cast<float>(std::sin(i / 9.0) + std::cos(j / 7.0));
  values[3 * 64 + 3] = values[0] = std::numeric_limits<float>::quiet_NaN();
  for (int j = 0; j < 64; ++j) values[17 * 64 + j] = std::numeric_limits<float>::quiet_NaN();
  values[40 * 64 + 1] = std::numeric_limits<float>::infinity();
  values[40 * 64 + 2] = -std::numeric_limits<float>::infinity();
  const Sample sample = sample_of("waves", values, {64, 64});
  check(sample, absolute(1e-3));
  const StreamHeader header = check(sample, relative(1e-3));
  if (!lossless()) {
    EXPECT_LE(header.abs_error, 1e-3 * 4);
  }
}

TEST_P(Cases, C03LandMasksStayExactAndOutOfTheRange) {
  for (const float mask : {1e35f, -1e10f, 9.96921e36f, -9999.0f}) {
    Sample sample = make_sample("coast", Dtype::f32, {180, 360});
    const float old = 1e35f;
    for (std::size_t at = 0; at < sample.data.size(); at += 4)
      if (std::memcmp(&sample.data[at], &old, 4) == 0) std::memcpy(&sample.data[at], &mask, 4);
    sample.fill_bits = __builtin_bit_cast(std::uint32_t, mask);
    const StreamHeader header = check(sample, relative(1e-3));
    if (!lossless() && suits(sample)) {
      EXPECT_LE(header.abs_error, 0.0321);
      EXPECT_GT(header.abs_error, 0.02);
      EXPECT_LE(stream_bytes, sample.data.size() / 3);
    }
  }
}

TEST_P(Cases, C04AHandfulOfValues) {
  check(sample_of("four", std::vector{-364.5, 335.0, 468.9, -279.0}), absolute(1));
  const auto f = [](double i) { return 400 * std::sin(i * i); };
  std::vector<std::uint64_t> counts(70);
  std::iota(counts.begin(), counts.end(), 1);
  counts.insert(counts.end(), {1023, 1024, 1025});
  for (const std::uint64_t count : counts) {
    check(sample_of("few", tabulate<float>(count, f)), absolute(1));
    check(sample_of("few", tabulate<double>(count, f)), absolute(1));
  }
  for (const auto& extents :
       std::vector<std::vector<std::uint64_t>>{{1, 1}, {1, 7}, {7, 1}, {3, 1, 5}, {2, 2, 2, 2}})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      check(make_sample("sine", dtype, extents), absolute(1e-3));
}

TEST_P(Cases, C05ExtentsOfOneAreNoReasonToCodeWorse) {
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{
           {24, 73, 144}, {1, 73, 144}, {24, 1, 144}, {24, 73, 1}, {6, 37, 40}})
    check(make_sample("walk", Dtype::f32, extents), relative(1e-3));
  check(make_sample("coast", Dtype::f32, {73, 144}), relative(1e-3));
  const std::uint64_t flat = stream_bytes;
  check(make_sample("coast", Dtype::f32, {1, 73, 144, 1}), relative(1e-3));
  EXPECT_EQ(stream_bytes, flat);
}

TEST_P(Cases, C06IdenticalValuesReturnExactlyInAFewDozenBytes) {
  const auto few_bytes = [&](const Sample& sample) {
    for (const ErrorBound& bound : {absolute(1e-3), relative(1e-3), ErrorBound{BoundMode::psnr, 60}}) {
      check(sample, bound);
      EXPECT_LE(stream_bytes, 160u);
      const auto made = compress(choice_of(GetParam()), sample.field, sample.bytes(), bound, {}, host());
      if (made.ok()) {
        EXPECT_TRUE(
            std::ranges::equal(decompress(registry(), made->stream(), host())->data.bytes(), sample.bytes()));
      }
    }
  };
  for (const float value : {7.25f, 0.0f, -0.0f, 9.96921e36f})
    few_bytes(sample_of("identical", std::vector<float>(64 * 64, value), {64, 64}));
  few_bytes(sample_of("identical", std::vector<double>(64 * 64, 1e-310), {64, 64}));
}

TEST_P(Cases, C07NeverLargerThanTheInputAndAHeader) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    check(make_sample("normal", dtype, {1000}), relative(1e-3));
    check(make_sample("random_bits", dtype, {4096}), absolute(1e-30));
  }
}

TEST_P(Cases, C11ArraysWithoutElements) {
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{0}, {0, 10}, {10, 0}})
    for (const ErrorBound& bound : {absolute(1e-3), relative(1e-3), ErrorBound{BoundMode::psnr, 60}})
      EXPECT_EQ(check(make_sample("zeros", Dtype::f32, extents), bound).field.shape_text(),
                Field::make(Dtype::f32, extents)->shape_text());
}

TEST_P(Cases, C13TheBoundIsTheDoubleNearestToItsText) {
  for (const std::string text : {"0.001", "1e-10"}) {
    const auto bound = parse_error_bound("abs:" + text);
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ(bound->value, std::strtod(text.c_str(), nullptr));
    EXPECT_EQ(*parse_error_bound(to_string(*bound)), *bound);
    const Sample sample = make_sample("normal", Dtype::f64, {4, 25, 50});
    const StreamHeader header = check(sample, *bound);
    EXPECT_EQ(header.requested.value, bound->value);
    if (!lossless()) {
      EXPECT_EQ(header.abs_error, bound->value);
    }
  }
}

TEST_P(Cases, C14RampsStayRamps) {
  const auto ramp = [](double scale, double offset, std::uint64_t count) {
    return sample_of("ramp", tabulate<float>(count, [&](double i) { return offset + scale * (i + 1); }));
  };
  for (std::uint64_t round = 0; round < 20; ++round) check(ramp(1, 0, 100000 - 4999 * round), absolute(1e-2));
  check(ramp(1e6, 0, 100000), absolute(1e-2));
  check(ramp(1, 0x1p24, 100000), absolute(0.25));
}

TEST_P(Cases, C15RelativeMeansOfTheValueRange) {
  const Sample sample = make_sample("log_uniform", Dtype::f32, {20, 40, 25});
  const StreamHeader header = check(sample, relative(1e-2));
  const double range = magnitudes_of(sample).range;
  if (lossless()) return;
  EXPECT_LE(header.abs_error, 1e-2 * range);
  EXPECT_GT(header.abs_error, 0.9999e-2 * range);
}

}  // namespace
}  // namespace homz::test
