// What upstream gets wrong comes out right here, although the bytes of its part are the same; and what is
// ours: options, fill values, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/golden/coding.hpp"
#include "tests/golden/inputs.hpp"

namespace homz::golden {
namespace {

constexpr const char* kLineChoices[] = {"cuszp:stored=never", "cuszp2:mode=fixed,dim=1,stored=never",
                                        "cuszp2:mode=plain,dim=1,stored=never",
                                        "cuszp2:mode=outlier,dim=1,stored=never"};

template <class T>
std::vector<std::byte> expect_round_trip(const char* choice, const std::vector<std::uint64_t>& extents,
                                         double bound, const std::vector<T>& values,
                                         std::optional<std::uint64_t> fill_bits = {}) {
  SCOPED_TRACE(choice);
  const Encoding encoding = encoding_of<T>(extents, bound, choice, fill_bits);
  const std::vector<std::byte> payload = encode(encoding, choice, values);
  std::vector<T> restored;
  const Status status = decode(encoding, choice, payload, restored);
  EXPECT_TRUE(status.ok()) << status.message();
  expect_within(values, restored, bound);
  return payload;
}

template <class T>
void expect_round_trips(double bound, const std::vector<T>& values) {
  for (const char* choice : kLineChoices) expect_round_trip(choice, {values.size()}, bound, values);
}

TEST(Bound, IsKeptWhereUpstreamMissesIt) {
  const struct {
    float x;
    double bound;
  } cases[] = {{0.49999997f, 0.5},  {0.007f, 1e-3},      {15.575f, 1e-3},  {-62.324497f, 1e-4},
               {-876.53766f, 1e-4}, {-9363.9004f, 1e-4}, {8388609.0f, 0.5}};
  for (const auto& [x, bound] : cases) expect_round_trips<float>(bound, {x});
  expect_round_trips<double>(1e-3,
                             {0.0010000000473974512});  // inside the float nearest to 1e-3, outside 1e-3
}

TEST(Overflow, OfQuantaAndResidualsIsRepaired) {
  expect_round_trips<float>(0.5, {3e9f});
  expect_round_trips<float>(0.5, {-1e10f});
  expect_round_trips<float>(0.5, {-2147483648.0f});
  expect_round_trips<float>(0.5, {-1, 3e9f});  // the residual is -2^31, which 1D blocks drop
  expect_round_trips<float>(0.5, {-1, 3e9f, 5, 6, 7});
  expect_round_trips<double>(0.5, {-2147483648.0});
  expect_round_trips<double>(0.5, {1, -2147483648.0, 2});
}

TEST(Overflow, OfWidth32InOutlierModeKeepsTheOtherBlocks) {
  std::vector<float> values(8 * 8240);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
  values[0] = -1;
  values[1] = 3e9f;
  const auto payload = expect_round_trip("cuszp2:stored=never", {8, 8240}, 0.5, values);
  EXPECT_EQ(payload[0], std::byte{0x20});
  EXPECT_EQ(exception_part(payload).size(), 2 * 12 + 4 + 4u);  // 3e9 alone
}

TEST(SpecialValues, ReturnBitForBitAndSpareTheirNeighbours) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  expect_round_trips<float>(0.5, {nan, inf, -inf, 1});
  expect_round_trips<double>(0.5, {nan, inf, -inf, 1});
  expect_round_trips<float>(
      0.5, {value_of<float>(0x7fa12345), value_of<float>(0xffc54321), 2});  // payloads, signs
  expect_round_trips<double>(1e-320, {5e-324, -1e-310, 0});
}

TEST(SpecialValues, NegativeZeroMayLoseItsSign) {
  const Encoding encoding = encoding_of<float>({2}, 0.5, kLineChoices[0]);
  std::vector<float> restored;
  ASSERT_TRUE(
      decode(encoding, kLineChoices[0], encode<float>(encoding, kLineChoices[0], {-0.0f, 9}), restored).ok());
  EXPECT_EQ(bits_of(restored[0]), 0u);
}

TEST(TinyBounds, StoreWhatTheyMust) {
  for (const double bound : {1e-300, 1e-45, 1e-40}) {  // as f32: 0, a bound whose reciprocal is infinite
    expect_round_trips<float>(bound, {0, 1, -1, 5});
    const Encoding encoding = encoding_of<float>({1000}, bound, "cuszp");
    EXPECT_TRUE(encode(encoding, "cuszp", std::vector<float>(1000, 2.5f)).empty());
  }
  expect_round_trips<float>(1e300, {0, 1e38f, -1e38f});
  expect_round_trips<double>(1e308, {0, 1e308, -1.5e308});
}

TEST(Sizes, AreThoseOfTheWholeStream) {
  const std::vector<float> one{1};
  EXPECT_EQ(upstream_part(expect_round_trip("cuszp2:mode=plain,dim=1,stored=never", {1}, 0.5, one)).size(),
            1032u);
  std::vector<float> tiles(8 * 4136);  // 517 tiles: three bytes of padding
  for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] = static_cast<float>(i % 7);
  expect_round_trip("cuszp2:mode=plain", {8, 4136}, 0.5, tiles);
}

TEST(Sizes, LargerThanTheDataAreReportedOrAccepted) {
  std::vector<float> values(65536);
  Lcg lcg(7);
  for (float& value : values) value = static_cast<float>(lcg.next_signed(31));
  for (const std::string codec : {"cuszp", "cuszp2:mode=plain"}) {
    EXPECT_TRUE(encode(encoding_of<float>({65536}, 0.5, codec), codec, values).empty());
    const std::string never = codec + (codec == "cuszp" ? ":stored=never" : ",stored=never");
    EXPECT_GT(expect_round_trip(never.c_str(), {65536}, 0.5, values).size(), 4 * values.size());
  }
}

TEST(Rows, OfAnyLengthLoseNothingAndWriteNothingBehindTheArray) {
  const std::vector<std::vector<std::uint64_t>> shapes = {{2, 3}, {3, 7},    {3, 11},   {2, 5},    {2, 2},
                                                          {9, 9}, {2, 2, 3}, {5, 6, 7}, {3, 3, 18}};
  for (const auto& extents : shapes) {
    const Encoding encoding = encoding_of<float>(extents, 0.25, "cuszp2:stored=never");
    SCOPED_TRACE(encoding.field.shape_text());
    std::vector<float> values(encoding.field.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
    const auto payload = expect_round_trip("cuszp2:stored=never", extents, 0.25, values);
    std::vector<float> guarded(values.size() + 16, -7);
    const auto needs = registry().find("cuszp2")->footprint(encoding, host());
    std::vector<std::byte> scratch(needs->decode_scratch);
    ASSERT_TRUE(registry()
                    .find("cuszp2")
                    ->decode(encoding, payload,
                             std::as_writable_bytes(std::span(guarded).first(values.size())), scratch, host())
                    .ok());
    EXPECT_TRUE(std::all_of(guarded.end() - 16, guarded.end(), [](float v) { return v == -7; }));
  }
}

TEST(Zeros, AreWritten) {
  for (const char* choice : kLineChoices) {
    const auto payload = expect_round_trip(choice, {100}, 0.5, std::vector<float>(100));
    EXPECT_TRUE(exception_part(payload).empty());
  }
}

TEST(Fill, CostsNextToNothingAndSparesItsNeighbours) {
  std::vector<float> sea(4 * 100 * 100);
  for (std::size_t i = 0; i < sea.size(); ++i) sea[i] = 280 + static_cast<float>(i % 1000) / 64;
  std::vector<float> values = sea;
  for (std::size_t i = 0; i < values.size(); ++i)  // an island, the same at all four depths
    if (i / 100 % 100 / 30 == 1 && i % 100 >= 35) values[i] = 1e20f;
  for (const char* choice :
       {"cuszp", "cuszp2:mode=fixed,dim=1", "cuszp2:mode=outlier,dim=1", "cuszp2:dim=2", "cuszp2:dim=3"}) {
    const auto plain = expect_round_trip(choice, {4, 100, 100}, 0.01, sea);
    const auto masked = expect_round_trip(choice, {4, 100, 100}, 0.01, values, bits_of(1e20f));
    EXPECT_LE(masked.size(), plain.size()) << choice;
  }
}

TEST(Fill, MayBeEverythingOrNaN) {
  const float nan = value_of<float>(0x7fc01234);
  for (const char* choice : kLineChoices) {
    expect_round_trip(choice, {70000}, 0.5, std::vector<float>(70000, -9999.0f), bits_of(-9999.0f));
    expect_round_trip(choice, {4}, 0.5, std::vector<float>{nan, 1, value_of<float>(0x7fc01235), nan},
                      bits_of(nan));
  }
}

TEST(Damage, IsRefusedOrDecodesToSomething) {
  for (const char* choice : {"cuszp", "cuszp2:dim=1", "cuszp2:mode=fixed,dim=2", "cuszp2:dim=3"}) {
    const Encoding encoding = encoding_of<float>({5, 90, 151}, 0.01, choice, bits_of(1e20f));
    std::vector<float> values(encoding.field.count()), restored;
    Lcg lcg(11);
    for (float& value : values)
      value = lcg.next(6) == 0 ? 1e20f : lcg.next(10) == 0 ? 3e9f : static_cast<float>(lcg.next(8)) / 32;
    const std::vector<std::byte> good = encode(encoding, choice, values);
    ASSERT_FALSE(good.empty());
    for (int round = 0; round < 400; ++round) {
      std::vector<std::byte> bad = good;
      for (auto flips = lcg.next(2) + 1; flips != 0; --flips) {
        const std::size_t tail = std::min<std::size_t>(bad.size(), lcg.next(1) != 0 ? 64 : bad.size());
        bad[bad.size() - 1 - lcg.next(32) % tail] ^= static_cast<std::byte>(1u << lcg.next(3));
      }
      if (lcg.next(3) == 0) bad.resize(lcg.next(32) % bad.size());
      const Status status = decode(encoding, choice, bad, restored);
      EXPECT_TRUE(status.ok() || status.code() == Code::corrupt_stream) << status.message();
    }
  }
}

TEST(Damage, FillValuesWithoutADeclarationAreRefused) {
  std::vector<float> values(1000, 3.0f);
  values[500] = 1e20f;
  Encoding encoding = encoding_of<float>({1000}, 0.5, "cuszp", bits_of(1e20f));
  const auto payload = encode(encoding, "cuszp", values);
  encoding.fill_bits.reset();
  std::vector<float> restored;
  EXPECT_EQ(decode(encoding, "cuszp", payload, restored).code(), Code::corrupt_stream);
}

TEST(Options, AreNamedInErrorsAndDescribed) {
  const auto refused = [](const char* choice) { return registry().choose(choice).status().message(); };
  EXPECT_NE(refused("cuszp:mode=plain").find("stored=auto|never"), std::string::npos);
  EXPECT_NE(refused("cuszp2:mode=best").find("fixed, plain, outlier"), std::string::npos);
  EXPECT_NE(refused("cuszp2:dim=4").find("auto, 1, 2, 3"), std::string::npos);
  for (const char* options : {"mode=fixed,dim=2,stored=never", "mode=outlier,dim=auto,stored=auto"}) {
    const auto choice = registry().choose(std::string("cuszp2:") + options);
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(*choice->codec->describe(choice->params), options);
  }
}

TEST(Options, OfNoMeaningAreRefusedInParams) {
  for (const char* name : {"cuszp", "cuszp2"})
    for (std::size_t i = 0; i < CodecParams{}.size(); ++i) {
      if (i >= 8 && i < 16) continue;  // the step
      Encoding encoding{Field::flat(Dtype::f32, 10), 0.5, {}, {}};
      encoding.params[i] = std::byte{9};
      EXPECT_FALSE(registry().find(name)->describe(encoding.params).ok());
      EXPECT_FALSE(registry().find(name)->footprint(encoding, host()).ok());
    }
}

TEST(Options, StepsAreFiniteAndNotNegative) {
  for (const char* name : {"cuszp", "cuszp2"}) {
    CodecParams params = registry().choose(std::string(name) + ":step=0.25")->params;
    EXPECT_TRUE(registry().find(name)->describe(params)->ends_with(",step=0.25"));
    for (const double step : {-0.0, -1.0, kInfinity, kNaN}) {
      store_le(params.data() + 8, bits_of(step));
      EXPECT_FALSE(registry().find(name)->describe(params).ok()) << step;
    }
    EXPECT_FALSE(registry().choose(std::string(name) + ":step=0").ok());
  }
}

// Quanta are multiples of the step; values that it leaves beyond the bound are exact.
TEST(Options, AStepOfItsOwn) {
  const std::vector<float> values = {0, 0.25f, 0.5f, 1.1f, 1e9f};
  for (const char* choice : {"cuszp:stored=never,step=0.5", "cuszp2:stored=never,step=0.5"}) {
    const auto encoding = encoding_of<float>({5}, 0.125, choice);
    std::vector<float> decoded;
    ASSERT_TRUE(decode(encoding, choice, encode(encoding, choice, values), decoded).ok());
    EXPECT_EQ(decoded, (std::vector<float>{0, 0.25f, 0.5f, 1.0f, 1e9f}));
  }
}

TEST(Options, DimMustSuitTheField) {
  const Encoding encoding = encoding_of<float>({10, 1, 20}, 0.5, "cuszp2:dim=3");
  const auto needs = registry().find("cuszp2")->footprint(encoding, host());
  ASSERT_FALSE(needs.ok());
  EXPECT_EQ(needs.status().code(), Code::invalid_argument);
  EXPECT_NE(needs.status().message().find("dim=3"), std::string::npos);
  EXPECT_NE(needs.status().message().find("10x1x20"), std::string::npos);
}

}  // namespace
}  // namespace homz::golden
