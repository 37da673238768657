// Synthetic fields: the same for any number of threads, and of the distribution that their names promise.
#include "data/synthetic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace homz::test {
namespace {

template <class T>
std::vector<T> values(Synthetic kind, std::uint64_t count, unsigned threads) {
  std::vector<T> data(count);
  generate(kind, dtype_of<T>(), count, std::as_writable_bytes(std::span(data)), threads);
  return data;
}

TEST(Synthetic, NamesReturn) {
  for (const Synthetic kind : kSynthetics) EXPECT_EQ(*parse_synthetic(to_string(kind)), kind);
  EXPECT_NE(parse_synthetic("noise").status().message().find("longwalk"), std::string::npos);
}

TEST(Synthetic, DoesNotDependOnThreads) {
  for (const Synthetic kind : kSynthetics)
    for (const std::uint64_t count : {0, 1, 2, 65537, 200001}) {
      EXPECT_EQ(values<float>(kind, count, 1), values<float>(kind, count, 7)) << to_string(kind);
      EXPECT_EQ(values<double>(kind, count, 1), values<double>(kind, count, 2)) << to_string(kind);
    }
}

// A longer field begins with the shorter one, except on the cube, whose waves fit its side.
TEST(Synthetic, IsAPrefixOfLongerOnes) {
  for (const Synthetic kind : {Synthetic::normal, Synthetic::walk, Synthetic::longwalk, Synthetic::smooth}) {
    auto longer = values<float>(kind, 150000, 1);
    longer.resize(70001);
    EXPECT_EQ(longer, values<float>(kind, 70001, 1)) << to_string(kind);
  }
}

TEST(Synthetic, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  for (const double x : values<double>(Synthetic::normal, 1 << 20, 2)) {
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / (1 << 20), 0, 5e-3);
  EXPECT_NEAR(squares / (1 << 20), 1, 1e-2);
}

TEST(Synthetic, WalkStepsHaveDeviationOneHundredth) {
  for (const Synthetic kind : {Synthetic::walk, Synthetic::longwalk}) {
    const auto data = values<double>(kind, 1 << 18, 2);
    double squares = 0, largest = 0;
    for (std::size_t i = 1; i < data.size(); ++i) {
      if (i % 1024 == 0) continue;
      squares += (data[i] - data[i - 1]) * (data[i] - data[i - 1]);
      largest = std::max(largest, std::abs(data[i] - data[i - 1]));
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(data.size())), 0.01, 2e-4) << to_string(kind);
    EXPECT_LT(largest, 0.07);
  }
}

TEST(Synthetic, NaturalShapesHoldNoMoreThanTheCount) {
  for (const Synthetic kind : kSynthetics)
    for (const std::uint64_t count : {1, 2, 7, 8, 9, 644, 645, 700, 416024, 416025, 1000000, 1 << 28}) {
      const Field field = natural_field(kind, Dtype::f32, count);
      EXPECT_LE(field.count(), count);
      EXPECT_GT(field.count(), count / 10) << to_string(kind) << " " << count;
    }
  EXPECT_EQ(natural_field(Synthetic::smooth, Dtype::f32, 1 << 28).shape_text(), "645x645x645");
  EXPECT_EQ(natural_field(Synthetic::waves, Dtype::f32, 400 * 400 * 400).shape_text(), "400x400x400");
}

}  // namespace
}  // namespace homz::test
