// The mathematics of one block: quanta that keep the bound, planes that come back, codes that say what they
// mean.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codecs/homcomp/block_math.hpp"
#include "codecs/homcomp/step.hpp"
#include "tests/support/bound_check.hpp"

namespace homz::homcomp {
namespace {

TEST(Block, PlanesOfEveryWidthComeBack) {
  std::mt19937 random(1);
  for (unsigned width = 0; width <= 32; ++width)
    for (int round = 0; round < 20; ++round) {
      std::int32_t residuals[kBlock], back[kBlock];
      std::uint32_t all = 0;
      for (std::int32_t& residual : residuals) {
        const std::uint32_t size = width == 0 ? 0 : static_cast<std::uint32_t>(random()) >> (32 - width);
        residual = with_sign(std::min(size, 1u << 31), random() & 1);
        all |= magnitude(residual);
      }
      const Planes planes = slice(residuals);
      EXPECT_EQ(planes.width, bit_width(all));
      join(planes, back);
      for (unsigned i = 0; i < kBlock; ++i) EXPECT_EQ(back[i], residuals[i]) << "width " << width;
    }
}

TEST(Block, TheLargestMagnitudeHas32Bits) {
  EXPECT_EQ(magnitude(INT32_MIN), 0x80000000u);
  EXPECT_EQ(with_sign(0x80000000u, true), INT32_MIN);
}

TEST(Block, CodesMeanWhatTheSpecificationSays) {
  unsigned valid = 0;
  for (unsigned i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    const unsigned form = i & 63;
    const bool expected = form <= 15 || (form >= 18 && form <= 48) || i == 63;
    EXPECT_EQ(is_code(code), expected) << i;
    if (!expected) continue;
    ++valid;
    const unsigned masks = i == 63 ? 0 : (i >> 6 & 1) + (i >> 7 & 1);
    EXPECT_EQ(words_of(code), masks + (form >= 18 && form <= 48 ? form - 16 + 1 : 0)) << i;
    EXPECT_EQ(width_of(code), form == 0 || i == 63 ? 0 : form <= 15 ? 1 : form - 16) << i;
  }
  EXPECT_EQ(valid, 4 * (16u + 31u) + 1);
}

TEST(Block, SparseCodesNameTheBytesOfThePlane) {
  EXPECT_EQ(sparse_code(0x00ff0001), 5);
  EXPECT_EQ(sparse_bytes_mask(5), 0x00ff00ffu);
  EXPECT_EQ(sparse_bytes_mask(15), 0xffffffffu);
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const auto mask = static_cast<std::uint32_t>(random()), bits = static_cast<std::uint32_t>(random());
    EXPECT_EQ(bits_to(bits_where(bits, mask), mask), bits & mask);
  }
}

template <class T>
void check_quanta(double bound, T step, T x) {
  const Quantiser<T> by = quantiser_of(step, bound);
  std::int32_t quantum = 0;
  if (!quantise(x, by, quantum)) return;
  EXPECT_LT(std::abs(static_cast<double>(quantum)), 0x1p30);
  EXPECT_TRUE(test::within(x, restore(quantum, step), bound)) << std::hexfloat << x << " " << bound;
}

TEST(Block, QuantaKeepTheBoundOnEveryBitPattern) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200000; ++round) {
    const double bound =
        std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 80) - 40);
    check_quanta<float>(bound, largest_not_above<float>(2 * bound),
                        value_of<float>(static_cast<std::uint32_t>(random())));
    check_quanta<double>(bound, 2 * bound, value_of<double>(random()));
    const double near = std::ldexp(static_cast<double>(random() % 65536) + 0.5, 0) * 2 * bound;
    check_quanta<float>(bound, largest_not_above<float>(2 * bound), static_cast<float>(near));
    check_quanta<double>(bound, 2 * bound, near);
  }
}

TEST(Block, TheNeighbourSavesWhatTheNearestMisses) {
  // With a step of exactly twice the bound, values half a step from a quantum miss it by their rounding.
  const Quantiser<float> by = quantiser_of(0.002f, 0.001f);
  int neighbours = 0;
  for (int i = 0; i < 100000; ++i) {
    const float x = (static_cast<float>(i) + 0.5f) * 0.002f;
    std::int32_t quantum = 0;
    if (!quantise(x, by, quantum)) continue;
    neighbours += quantum != round_to_even(x * by.reciprocal);
  }
  EXPECT_GT(neighbours, 100);
}

TEST(Block, RoundsToEven) {
  EXPECT_EQ(round_to_even(0.5), 0);
  EXPECT_EQ(round_to_even(1.5), 2);
  EXPECT_EQ(round_to_even(-2.5), -2);
  EXPECT_EQ(round_to_even(-1073741823.5), -1073741824);
}

TEST(Step, LeavesRoomForTheRoundingOfTheLargestValues) {
  const std::vector<float> values(10000, 1000.0f);
  const auto data = std::as_bytes(std::span(values));
  EXPECT_EQ(choose_step<float>(1e-3, false, data, {}), largest_not_above<float>(2e-3));
  EXPECT_EQ(choose_step<float>(1e-3, true, data, {}), largest_not_above<float>(2 * (1e-3 - 0x1p-15)));
  // Values that are too large to be quantised, and the fill value, do not count.
  const std::vector<float> huge(10000, 1e30f);
  EXPECT_EQ(choose_step<float>(1e-3, true, std::as_bytes(std::span(huge)), {}),
            largest_not_above<float>(2e-3 - 0));
  EXPECT_EQ(choose_step<float>(1e-3, true, data, bits_of(1000.0f)), largest_not_above<float>(2e-3));
  EXPECT_GT(choose_step<float>(0x1p-1000, true, data, {}), 0);
}

}  // namespace
}  // namespace homz::homcomp
