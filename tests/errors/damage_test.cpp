// Damaged streams, as disks and networks make them: refused with a status, whatever the codec. Numbers D1 to
// D7 are those of the list of faults that this project keeps.
#include <gtest/gtest.h>

#include <cstring>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "core/compress.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"
#include "tests/support/surgery.hpp"

namespace homz::test {
namespace {

using Stream = std::vector<std::byte>;

class Damage : public testing::TestWithParam<std::string> {
 protected:
  // Small streams of every representation.
  std::vector<std::pair<Sample, Stream>> streams() const {
    std::vector<std::pair<Sample, Stream>> all;
    for (const std::string_view input : {"sine", "nan_tenth", "fill_blocks", "constant", "random_bits"}) {
      Sample sample = make_sample(input, Dtype::f32, {input == "fill_blocks" ? 700u : 70u});
      Stream stream = check_round_trip(GetParam(), sample, common_bounds_for(sample)[0]);
      if (!stream.empty()) all.emplace_back(std::move(sample), std::move(stream));
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Codecs, Damage, testing::ValuesIn(default_choices()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(Damage, D1EveryTruncationIsRefused) {
  for (const auto& [sample, stream] : streams())
    for (std::size_t size = 0; size < stream.size(); ++size) {
      const Outcome outcome = decode(ConstBytes(stream).first(size));
      ASSERT_EQ(outcome.status.code(), Code::corrupt_stream) << sample.name << ", first " << size << " bytes";
    }
}

TEST_P(Damage, D2EveryFlippedBitIsFound) {
  for (const auto& [sample, stream] : streams())
    for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
      Stream damaged = stream;
      damaged[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      ASSERT_FALSE(decode(damaged).status.ok()) << sample.name << ", bit " << bit;
    }
}

// Header and payload of different streams, each sound.
TEST_P(Damage, ThePayloadOfAnotherStreamIsRefused) {
  const auto stream_of = [](double offset) {
    Sample sample = make_sample("sine", Dtype::f32, {70});
    for (std::size_t at = 0; at < sample.data.size(); at += 4) {
      const auto bits = load_le<std::uint32_t>(&sample.data[at]);
      store_le(&sample.data[at], bits_of(static_cast<float>(value_of<float>(bits) + offset)));
    }
    return check_round_trip(GetParam(), sample, 1e-3);
  };
  const Stream a = stream_of(1), b = stream_of(2);
  ASSERT_FALSE(a.empty() || b.empty());
  if (a.size() != b.size()) GTEST_SKIP() << "the streams differ in length";
  Stream mixed = a;
  std::copy(b.begin() + kHeaderBytes, b.end(), mixed.begin() + kHeaderBytes);
  ASSERT_NE(mixed, a);
  EXPECT_EQ(decode(mixed).status.code(), Code::corrupt_stream);
}

TEST_P(Damage, D3AppendedBytesAreRefused) {
  for (auto& [sample, stream] : streams())
    for (int extra = 0; extra < 9; ++extra) {
      stream.push_back(std::byte{0});
      const Outcome outcome = decode(stream);
      ASSERT_EQ(outcome.status.code(), Code::corrupt_stream) << sample.name;
      EXPECT_NE(outcome.status.message().find("appended"), std::string::npos) << outcome.status.message();
    }
}

// Any two words exchanged, and any run of bytes zeroed: what the checksum must find beyond single bits.
TEST_P(Damage, ExchangedWordsAndLostBlocksAreFound) {
  for (const auto& [sample, stream] : streams()) {
    for (std::size_t i = kHeaderBytes; i + 4 <= stream.size(); i += 4)
      for (std::size_t j = i + 4; j + 4 <= stream.size(); j += 4) {
        Stream damaged = stream;
        std::swap_ranges(damaged.begin() + i, damaged.begin() + i + 4, damaged.begin() + j);
        if (damaged != stream) {
          ASSERT_FALSE(decode(damaged).status.ok()) << i << " " << j;
        }
      }
    for (std::size_t first = 0; first < stream.size(); ++first) {
      Stream damaged = stream;
      std::fill(damaged.begin() + first, damaged.end(), std::byte{0});
      if (damaged != stream) {
        ASSERT_FALSE(decode(damaged).status.ok()) << first;
      }
    }
  }
}

}  // namespace
}  // namespace homz::test
