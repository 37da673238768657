// What arithmetic on streams is tested with: linear combinations, and fields made of quanta.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "homomorphic/codec_arithmetic.hpp"
#include "tests/support/inputs.hpp"

namespace homz::test {

struct Terms {
  std::vector<std::int32_t> factors;
  double shift = 0, scale = 1;

  Combination combination() const { return Combination{factors, shift, scale}; }
};

inline const std::vector<Terms> kTerms = {
    {{1, 1}},
    {{1, -1}},
    {{-1}},
    {{3}},
    {{0}},
    {{2, -5, 1}},
    {{1, 1, 1, 1, 1, 1, 1, 1}},
    {{1}, 12.5},
    {{1, 1}, 0, 0.5},
    {{-1, 1}, -3, 0.1},
    {{1 << 30, -(1 << 30), 5}},
    {{1 << 20, 1}},
};

// Quanta themselves, of every width, so that sums carry everywhere and leave the range.
template <class T>
Sample quanta_sample(const std::vector<std::uint64_t>& extents, unsigned width, unsigned seed) {
  std::mt19937_64 random(seed);
  Sample sample{"width " + std::to_string(width), *Field::make(dtype_of<T>(), extents), {}, std::nullopt};
  std::vector<T> values(sample.field.count());
  std::uint64_t i = 0;
  for (T& value : values) {
    const std::int64_t size = static_cast<std::int64_t>(random() >> 32 & ((std::uint64_t{1} << width) - 1));
    const unsigned kind = static_cast<unsigned>(i++ / 64 + seed) % 4;  // extremes, zeros and noise, by blocks
    const std::int64_t most = (std::int64_t{1} << width) - 1;
    const std::int64_t magnitude = kind == 0 ? most : kind == 1 ? (random() % 8 == 0) : size;
    value = static_cast<T>(random() % 2 == 0 ? magnitude : -magnitude);
  }
  const auto bytes = std::as_bytes(std::span(values));
  sample.data.assign(bytes.begin(), bytes.end());
  return sample;
}

// Fill values: whole blocks of them and single ones, and values without quanta.
inline std::vector<Sample> masked_samples(const std::vector<std::uint64_t>& extents) {
  std::vector<Sample> samples;
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    std::vector<float> values(Field::make(Dtype::f32, extents)->count());
    float walk = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      walk += static_cast<float>(static_cast<int>(random() % 100) - 50) * 1e-3f;
      const bool fill = i / 500 % 4 == seed || random() % 50 == 0;
      values[i] = fill ? 1e20f : random() % 1000 == 0 ? 1e30f : walk;
    }
    samples.push_back(sample_of("masked", values, extents, std::optional(1e20f)));
  }
  return samples;
}

}  // namespace homz::test
