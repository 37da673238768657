// The cheap look at data: ratios near those of all the data, magnitudes of all finite values.
#include "collectives/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "data/synthetic.hpp"

namespace homz::test {
namespace {

CodecChoice codec_of(const char* text) {
  return *registry().choose(text);
}

double sampled(const CodecChoice& codec, Dtype dtype, double bound, ConstBytes data) {
  std::vector<std::byte> scratch(*sample_scratch(codec, dtype, bound));
  const Result<double> ratio = sampled_ratio(codec, dtype, bound, data, scratch);
  EXPECT_TRUE(ratio.ok()) << ratio.status().message();
  return ratio.ok() ? *ratio : 0;
}

TEST(Sampling, IsLittleOfMuch) {
  EXPECT_EQ(sampled_chunks(0), 0u);
  EXPECT_EQ(sampled_chunks(1), 1u);
  EXPECT_EQ(sampled_chunks(4096), 1u);
  EXPECT_EQ(sampled_chunks(4097), 2u);
  EXPECT_EQ(sampled_chunks(100 * 4096), 4u);
  EXPECT_EQ(sampled_chunks(4096 * 4096), 64u);
  EXPECT_EQ(sampled_chunks(std::uint64_t{1} << 60), 64u);
}

TEST(Sampling, ComesNearTheRatioOfAll) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const Synthetic kind : kSynthetics)
      for (const char* name : {"homcomp", "cuszp2", "zstd"})
        for (const std::uint64_t count : {10007u, 1u << 20}) {
          const Field field = natural_field(kind, dtype, count);
          std::vector<std::byte> data(field.bytes());
          generate(kind, dtype, field.count(), data, 1);
          Compression compression{codec_of(name),
                                  Field::flat(dtype, field.count()),
                                  1e-3,
                                  {BoundMode::absolute, 1e-3},
                                  std::nullopt};
          const Result<Compressed> stream = compress_resolved(compression, data, host());
          ASSERT_TRUE(stream.ok()) << stream.status().message();
          const double real = static_cast<double>(data.size()) / static_cast<double>(stream->bytes);
          const double guess = sampled(compression.choice, dtype, 1e-3, data);
          EXPECT_NEAR(guess / real, 1, 0.15) << name << " " << to_string(kind) << " " << count;
          EXPECT_EQ(guess, sampled(compression.choice, dtype, 1e-3, data));
        }
}

TEST(Sampling, OfNothingAndOfNoise) {
  EXPECT_EQ(sampled(codec_of("homcomp"), Dtype::f32, 1e-3, {}), 1);
  std::vector<std::uint32_t> bits(100000);
  for (std::uint32_t i = 0; i < bits.size(); ++i) bits[i] = (i * 2654435761u) ^ (i << 7);
  const double ratio = sampled(codec_of("homcomp"), Dtype::f32, 1e-30, std::as_bytes(std::span(bits)));
  EXPECT_GE(ratio, 0.98);
  EXPECT_LT(ratio, 1.1);
}

TEST(Sampling, RefusesTooLittleScratch) {
  std::vector<float> data(5000, 1);
  std::byte scratch[64];
  EXPECT_EQ(sampled_ratio(codec_of("homcomp"), Dtype::f32, 1e-3, std::as_bytes(std::span(data)), scratch)
                .status()
                .code(),
            Code::capacity);
}

template <class T>
void check_magnitudes() {
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::denorm_min();
  const Dtype dtype = dtype_of<T>();
  EXPECT_EQ(largest_magnitude(dtype, {}), 0);
  for (const std::size_t count : {1u, 2u, 15u, 16u, 17u, 33u, 100u})
    for (const std::size_t place : {std::size_t{0}, count / 2, count - 1})
      for (const T value : {T{-3}, T{7}, kMost, -kMost, kLeast, -kLeast}) {
        std::vector<T> values(count, T{0});
        for (std::size_t i = 0; i < count; ++i) values[i] = i % 3 == 0 ? kNan : i % 3 == 1 ? -kInf : kInf;
        values[place] = value;
        std::vector<std::byte> bytes(count * sizeof(T) + 1);
        std::memcpy(bytes.data() + 1, values.data(), count * sizeof(T));
        EXPECT_EQ(largest_magnitude(dtype, ConstBytes(bytes).subspan(1)),
                  std::abs(static_cast<double>(value)));
      }
  const std::vector<T> none(50, kNan);
  EXPECT_EQ(largest_magnitude(dtype, std::as_bytes(std::span(none))), 0);
}

TEST(Sampling, MagnitudesAreOfFiniteValues) {
  check_magnitudes<float>();
  check_magnitudes<double>();
}

}  // namespace
}  // namespace homz::test
