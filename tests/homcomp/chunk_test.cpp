// Chunks that no encoder of ours makes but a decoder must read: every code, order, mask and base at random,
// and what it must refuse.
#include <gtest/gtest.h>

#include <random>

#include "codecs/homcomp/layout.hpp"
#include "tests/homcomp/coding.hpp"
#include "tests/homcomp/reference.hpp"

namespace homz::test {
namespace {

using homcomp::available_kernels;

// Makes payloads from blocks, with the oracle of block_math.hpp.
class ChunkMaker {
 public:
  explicit ChunkMaker(std::uint64_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  bool has_masks = true;

  // A chunk of `count` values, eight bytes each.
  std::vector<std::byte> chunk(unsigned count, unsigned flags) {
    const unsigned blocks = (count + 31) / 32;
    std::vector<std::byte> bitmaps, codes, words, values, magnitudes, chunk;
    std::vector<bool> signs;
    unsigned top = 0;
    for (unsigned first = 0; first < blocks; first += 8) {
      unsigned coded = below(4) == 0 ? 0 : below(256) | below(256);
      if (blocks - first < 8) coded &= (1u << (blocks - first)) - 1;
      if (coded == 0) continue;
      top |= 1u << first / 8;
      bitmaps.push_back(static_cast<std::byte>(coded));
      for (unsigned i = 0; i < 8; ++i)
        if ((coded >> i & 1) != 0)
          codes.push_back(static_cast<std::byte>(
              block(std::min(32u, count - 32 * (first + i)), words, values, magnitudes, signs)));
    }
    chunk = {static_cast<std::byte>(flags), std::byte{30}, static_cast<std::byte>(top),
             static_cast<std::byte>(top >> 8)};
    if ((flags & 16) != 0) put(chunk, static_cast<std::uint32_t>(random_()));
    for (const auto* part : {&bitmaps, &codes}) chunk.insert(chunk.end(), part->begin(), part->end());
    chunk.resize((chunk.size() + 3) / 4 * 4);
    for (const auto* part : {&words, &magnitudes}) chunk.insert(chunk.end(), part->begin(), part->end());
    for (std::size_t bit = 0; bit < signs.size(); ++bit) {
      if (bit % 8 == 0) chunk.push_back(std::byte{0});
      if (signs[bit]) chunk.back() |= static_cast<std::byte>(1 << bit % 8);
    }
    chunk.resize((chunk.size() + 3) / 4 * 4);
    chunk.insert(chunk.end(), values.begin(), values.end());
    return chunk;
  }

 private:
  template <class T>
  static void put(std::vector<std::byte>& to, T value) {
    to.resize(to.size() + sizeof(T));
    store_le(to.data() + to.size() - sizeof(T), value);
  }

  std::uint8_t block(unsigned count, std::vector<std::byte>& words, std::vector<std::byte>& values,
                     std::vector<std::byte>& magnitudes, std::vector<bool>& signs) {
    if (has_masks && below(12) == 0) return homcomp::kAllFill;
    const std::uint32_t valid = count == 32 ? ~0u : (1u << count) - 1;
    std::uint8_t code = 0;
    std::uint32_t fill = 0;
    if (has_masks && below(6) == 0) {
      code |= homcomp::kFillMask;
      put(words, fill = static_cast<std::uint32_t>(random_()) & valid);
    }
    if (has_masks && below(6) == 0) {
      code |= homcomp::kExactMask;
      const std::uint32_t exact = static_cast<std::uint32_t>(random_() & random_()) & valid & ~fill;
      put(words, exact);
      for (std::uint32_t bits = exact; bits != 0; bits &= bits - 1) put(values, std::uint64_t{random_()});
    }
    const unsigned width = below(33);
    if (width == 1) {
      const auto plane = static_cast<std::uint32_t>(random_() & random_() & random_()) | 1;
      const std::uint8_t form = homcomp::sparse_code(plane);
      for (unsigned byte = 0; byte < 4; ++byte)
        if ((form >> byte & 1) != 0) magnitudes.push_back(static_cast<std::byte>(plane >> 8 * byte & 0xff));
      for (unsigned bit = 0; bit < homcomp::count_bits(plane); ++bit) signs.push_back(below(2) != 0);
      return code | form;
    }
    if (width == 0) return code;
    for (unsigned i = 0; i < width + 1; ++i) put(words, static_cast<std::uint32_t>(random_()));
    return code | static_cast<std::uint8_t>(16 + width);
  }

  std::mt19937_64 random_;
};

struct Made {
  Field field;
  std::vector<std::byte> payload;
};

// One chunk that covers a field of f64.
Made payload_of(const std::vector<std::uint64_t>& extents, const std::vector<std::byte>& chunk) {
  std::vector<std::byte> payload(40);
  store_le(payload.data(), bits_of(0.5));
  store_le(payload.data() + 32, static_cast<std::uint16_t>(chunk.size() / 4));
  payload.insert(payload.end(), chunk.begin(), chunk.end());
  const Field field = *Field::make(Dtype::f64, extents);
  if (chunk.size() % 4 == 0) fix_homcomp_payload(field, plan_for(field).dim, payload);
  return {field, payload};
}

Status decode(const Made& made, const homcomp::Kernels& kernels, std::vector<std::byte>& data,
              std::optional<std::uint64_t> fill = bits_of(-9999.0)) {
  data.assign(made.field.bytes(), std::byte{0x77});
  const Encoding encoding{made.field, 0.25, fill, {}};
  return homcomp::decode(encoding, plan_for(made.field), kernels, made.payload, data, nullptr, 1);
}

TEST(Chunk, EveryCodeOrderAndMask) {
  ChunkMaker maker(5);
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {4096},       {4000},         {33},          {7},           {64, 64},     {50, 33},    {64, 48},
      {16, 16, 16}, {13, 11, 10},   {3, 16, 16},   {256, 16},     {255, 16},    {4, 64, 16}, {15, 16, 16},
      {2, 2048},    {16, 4, 3, 16}, {8, 2, 2, 64}, {7, 3, 2, 48}, {2, 2, 2, 16}};
  for (int round = 0; round < 600; ++round)
    for (const auto& extents : shapes) {
      maker.has_masks = round % 2 == 0;  // without any there are faster ways
      const unsigned flags = maker.below(3) | maker.below(maker.has_masks ? 16 : 8) << 2;
      const Field field = *Field::make(Dtype::f64, extents);
      const Made made = payload_of(extents, maker.chunk(static_cast<unsigned>(field.count()), flags));
      const bool too_large = made.payload.size() - 40 > made.field.bytes();
      HomcompReference reference(made.field, plan_for(field).dim, bits_of(-9999.0));
      const std::vector<std::byte> expected = reference.decode(made.payload);
      for (const homcomp::Kernels* kernels : available_kernels()) {
        std::vector<std::byte> data;
        const Status status = decode(made, *kernels, data);
        if (too_large) {
          ASSERT_EQ(status.code(), Code::corrupt_stream);
          continue;
        }
        ASSERT_TRUE(status.ok()) << kernels->name << ": " << status.message();
        ASSERT_TRUE(data == expected) << kernels->name << ", " << field.shape_text() << ", flags " << flags;
      }
    }
}

TEST(Chunk, LengthsThatDoNotFitAreRefused) {
  ChunkMaker maker(6);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> chunk = maker.chunk(4096, maker.below(3) | maker.below(16) << 2);
    const std::vector<std::byte> sound = chunk;
    if (round % 2 == 0) chunk.resize(chunk.size() + 4);
    if (round % 2 == 1) chunk.resize(chunk.size() - 4);
    if (chunk.empty()) continue;
    for (const homcomp::Kernels* kernels : available_kernels()) {
      std::vector<std::byte> data;
      EXPECT_EQ(decode(payload_of({4096}, chunk), *kernels, data).code(), Code::corrupt_stream)
          << kernels->name;
    }
  }
}

TEST(Chunk, WhatHasNoMeaningIsRefused) {
  const auto expect_refused = [](std::initializer_list<unsigned> bytes, std::optional<std::uint64_t> fill) {
    std::vector<std::byte> chunk, data;
    for (const unsigned byte : bytes) chunk.push_back(static_cast<std::byte>(byte));
    for (const homcomp::Kernels* kernels : available_kernels())
      EXPECT_EQ(decode(payload_of({40}, chunk), *kernels, data, fill).code(), Code::corrupt_stream)
          << kernels->name;
  };
  const std::optional<std::uint64_t> fill = bits_of(-9999.0);
  expect_refused({3, 0, 0, 0}, fill);                                   // order 3
  expect_refused({64, 0, 0, 0}, fill);                                  // a reserved flag
  expect_refused({128, 0, 0, 0}, fill);                                 //
  expect_refused({0, 31, 0, 0}, fill);                                  // a range beyond the limit
  expect_refused({0, 0, 2, 0}, fill);                                   // a bitmap behind the last block
  expect_refused({0, 0, 1, 0, 0, 0, 0, 0}, fill);                       // an empty bitmap
  expect_refused({0, 0, 1, 0, 4, 0, 0, 0}, fill);                       // a code behind the last block
  expect_refused({0, 0, 1, 0, 1, 16, 0, 0}, fill);                      // a reserved code
  expect_refused({0, 0, 1, 0, 1, 127, 0, 0}, fill);                     // all fill, and a mask
  expect_refused({0, 0, 1, 0, 1, 63, 0, 1}, fill);                      // padding that is not 0
  expect_refused({0, 0, 1, 0, 1, 63, 0, 0}, std::nullopt);              // fill, but none declared
  expect_refused({32, 0, 0, 0}, std::nullopt);                          //
  expect_refused({0, 0, 1, 0, 1, 64, 0, 0, 1, 0, 0, 0}, std::nullopt);  //
  expect_refused({0, 0, 1, 0, 2, 64, 0, 0, 0, 1, 0, 0}, fill);  // a mask with positions behind the end
  expect_refused({0, 0, 1, 0, 1, 192, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                 fill);                                        // fill and exact
  expect_refused({0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0}, fill);  // padding behind sparse parts
  expect_refused({0, 0, 1, 0, 1, 1, 0, 0, 1, 2, 0, 0}, fill);  // a sign too many
  expect_refused({0, 0, 1, 0, 1, 15, 0, 0, 255, 255, 255, 255, 0, 0, 0}, fill);  // no multiple of 4
}

TEST(Chunk, TablesThatDoNotFitAreRefused) {
  const Sample sample = make_sample("walk", Dtype::f32, {70 * 4096 + 5});
  const homcomp::Plan plan = plan_for(sample.field);
  const Payload sound = make_payload(sample, 1e-3, plan, homcomp::kernels());
  const Encoding encoding{sample.field, 1e-3, {}, {}};
  const auto refused = [&](const Payload& payload) {
    std::vector<std::byte> data(sample.data.size());
    return homcomp::decode(encoding, plan, homcomp::kernels(), payload, data, nullptr, 1).code() ==
           Code::corrupt_stream;
  };
  EXPECT_FALSE(refused(sound));
  for (const std::size_t at : {0, 16, 23, 32, 39, 48, 48 + 2 * 63, 48 + 2 * 64, 48 + 2 * 70, 48 + 2 * 71})
    for (const unsigned value : {0x01, 0x80, 0xff}) {
      Payload payload = sound;
      payload[at] ^= static_cast<std::byte>(value);
      fix_homcomp_payload(sample.field, plan.dim, payload);
      const bool is_refused = refused(payload);
      EXPECT_TRUE(is_refused || at < 8) << at;  // another step may be a step
    }
  for (const double step : {0.0, -1.0, 0.1, 1e300, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    Payload payload = sound;
    store_le(payload.data(), bits_of(step));
    fix_homcomp_payload(sample.field, plan.dim, payload);
    EXPECT_TRUE(refused(payload)) << step;
  }
  for (std::size_t size = 0; size < sound.size(); size += 1 + size / 3)
    EXPECT_TRUE(refused(Payload(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size))));
}

}  // namespace
}  // namespace homz::test
