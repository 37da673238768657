// Wrong arguments of the library's functions: each is an error that names the thing, and nothing is written.
// Numbers P1 to P10, S2 to S6 and H8 are those of the list of faults that this project keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <locale>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_names(const Status& status, Code code, const std::string& thing) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(thing), std::string::npos) << status.message();
}

class Arguments : public testing::TestWithParam<std::string> {
 protected:
  Sample sample = make_sample("sine", Dtype::f32, {10, 100});
  Compression compression = compression_of(GetParam(), sample, 1e-3);
  bool lossless() const { return compression.choice.codec->info().lossless; }
};
INSTANTIATE_TEST_SUITE_P(Codecs, Arguments, testing::ValuesIn(default_choices()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(Arguments, P2BoundsThatBoundNothingAreRefused) {
  for (const double bad : {std::nan(""), kInfinity, -1e-3}) {
    compression.abs_error = bad;
    expect_names(footprint(compression, host()).status(), Code::invalid_argument, "bound");
  }
  for (const BoundMode mode : {BoundMode::absolute, BoundMode::relative, BoundMode::psnr})
    for (const double bad : {0.0, -0.0, std::nan(""), kInfinity, -kInfinity, -1e-3}) {
      const auto made = compress(compression.choice, sample.field, sample.bytes(), {mode, bad}, {}, host());
      expect_names(made.status(), Code::invalid_argument, "bound");
    }
}

// A bound above the range is valid, and the stream as small as the layout allows.
TEST_P(Arguments, P3BoundsAboveTheRangeMakeTheSmallestStream) {
  if (lossless()) GTEST_SKIP() << "bit for bit";
  const Sample large = make_sample("sine", Dtype::f32, {32768});
  EXPECT_LE(check_round_trip(GetParam(), large, 1e30).size(), large.data.size() / 60);
}

TEST_P(Arguments, P7NullPointersAreRefusedUnlessNothingIsThere) {
  const auto needs = *footprint(compression, host());
  std::vector<std::byte> stream(needs.stream_bytes), scratch(needs.scratch_bytes);
  std::uint64_t size = 0;
  const auto null = [](std::uint64_t bytes) { return Bytes(static_cast<std::byte*>(nullptr), bytes); };
  expect_names(encode_stream(compression, null(sample.data.size()), stream, scratch, &size, host()),
               Code::invalid_argument, "null");
  expect_names(encode_stream(compression, sample.bytes(), null(stream.size()), scratch, &size, host()),
               Code::invalid_argument, "null");
  if (!scratch.empty())
    expect_names(encode_stream(compression, sample.bytes(), stream, null(scratch.size()), &size, host()),
                 Code::invalid_argument, "null");
  compression.field = Field::flat(Dtype::f32, 0);
  EXPECT_TRUE(encode_stream(compression, {}, stream, scratch, &size, host()).ok());
}

TEST_P(Arguments, P8BuffersThatAreTooSmallAreRefusedUntouched) {
  const auto needs = *footprint(compression, host());
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, needs.stream_bytes - 1}) {
    Guarded stream(size, 0, std::byte{0x77}), scratch(needs.scratch_bytes, 0, std::byte{0x77});
    std::uint64_t written = 0;
    expect_names(
        encode_stream(compression, sample.bytes(), stream.bytes(), scratch.bytes(), &written, host()),
        Code::capacity, "stream buffer");
    EXPECT_TRUE(stream.intact());
    for (const std::byte b : stream.bytes()) EXPECT_EQ(b, std::byte{0x77});
  }
  if (needs.scratch_bytes == 0) return;
  for (const std::uint64_t size : {std::uint64_t{0}, needs.scratch_bytes - 1}) {
    Guarded stream(needs.stream_bytes, 0, std::byte{0x77}), scratch(size, 0, std::byte{0x77});
    std::uint64_t written = 0;
    expect_names(
        encode_stream(compression, sample.bytes(), stream.bytes(), scratch.bytes(), &written, host()),
        Code::capacity, "scratch buffer");
  }
}

TEST_P(Arguments, P10OverlappingBuffersAreRefused) {
  const auto needs = *footprint(compression, host());
  std::vector<std::byte> memory(sample.data.size() + needs.stream_bytes + needs.scratch_bytes);
  std::uint64_t size = 0;
  const Bytes all(memory), data = all.first(sample.data.size());
  std::vector<std::byte> apart(needs.stream_bytes + needs.scratch_bytes);
  const Bytes scratch = Bytes(apart).first(needs.scratch_bytes);
  expect_names(encode_stream(compression, data, all.first(needs.stream_bytes), scratch, &size, host()),
               Code::invalid_argument, "overlap");
  expect_names(encode_stream(compression, data, all.subspan(data.size() - 1, needs.stream_bytes), scratch,
                             &size, host()),
               Code::invalid_argument, "overlap");
}

TEST_P(Arguments, S2ShapesOutsideOneToFourExtentsAreRefused) {
  for (const std::uint8_t rank : {0, 5, 7, 255}) {
    compression.field.rank = rank;
    expect_names(footprint(compression, host()).status(), Code::invalid_argument, "extents");
  }
  compression.field = sample.field;
  compression.field.extents[3] = 2;  // past the rank: the header could not be read back
  expect_names(footprint(compression, host()).status(), Code::invalid_argument, "extent");
  compression.field = sample.field;
  compression.field.dtype = static_cast<Dtype>(9);
  expect_names(footprint(compression, host()).status(), Code::invalid_argument, "type");
}

TEST_P(Arguments, S3ShapesThatOverflowAreRefused) {
  for (const std::array<std::uint64_t, 4>& extents : std::vector<std::array<std::uint64_t, 4>>{
           {1ull << 32, 1ull << 32, 0, 0}, {1ull << 61, 1, 0, 0}, {~0ull, ~0ull, 0, 0}, {~0ull, 1, 0, 0}}) {
    compression.field = Field{Dtype::f32, 2, extents};
    expect_names(footprint(compression, host()).status(), Code::invalid_argument, "overflow");
  }
}

// Case 12 of the reported faults: doubles given as floats, wrong shapes.
TEST_P(Arguments, S5S6DataOfAnotherSizeThanTheShapeIsRefusedWithBothNumbers) {
  const auto compress_bytes = [&](std::uint64_t bytes) {
    return compress(compression.choice, sample.field, std::vector<std::byte>(bytes),
                    {BoundMode::absolute, 1e-3}, {}, host())
        .status();
  };
  for (const std::uint64_t bytes : {0, 3999, 4001, 8000, 2000}) {
    expect_names(compress_bytes(bytes), Code::invalid_argument, "4000");
    expect_names(compress_bytes(bytes), Code::invalid_argument, std::to_string(bytes));
  }
}

TEST_P(Arguments, OptionsThatDoNotExistAreNamed) {
  const std::string name = GetParam();
  expect_names(registry().choose(name + ":colour=red").status(), Code::invalid_argument, "colour");
  expect_names(registry().choose(name + ":colour").status(), Code::invalid_argument, "colour");
  expect_names(registry().choose(name + ":=3").status(), Code::invalid_argument, "=3");
  for (const std::string& text : choice_texts(*registry().find(std::string_view(name)))) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = text.substr(text.find(':') + 1, equals - text.find(':') - 1);
    for (const std::string value : {"", "-1", "99999999999999999999", "1x", "nan", "Plain"})
      expect_names(registry().choose(name + ":" + key + "=" + value).status(), Code::invalid_argument, key);
    expect_names(registry().choose(text + "," + text.substr(text.find(':') + 1)).status(),
                 Code::invalid_argument, key);
  }
}

TEST_P(Arguments, OptionsReturnFromTheirStoredForm) {
  const Codec& codec = *registry().find(std::string_view(GetParam()));
  for (const std::string& text : choice_texts(codec)) {
    const CodecParams params = choice_of(text).params;
    const auto described = codec.describe(params);
    ASSERT_TRUE(described.ok()) << text << ": " << described.status().message();
    const auto again = codec.parse(*described);
    ASSERT_TRUE(again.ok()) << *described;
    EXPECT_EQ(*again, params) << text;
  }
}

TEST(Choices, UnknownCodecsAreNamedWithTheKnownOnes) {
  for (const std::string name : {"", "lz4", "ZSTD", "zstd ", " zstd"}) {
    expect_names(registry().choose(name).status(), Code::invalid_argument, "'" + name + "'");
    expect_names(registry().choose(name).status(), Code::invalid_argument, "identity");
  }
}

TEST(Choices, WithoutACodecThereIsNoStream) {
  Compression compression;
  compression.field = Field::flat(Dtype::f32, 10);
  expect_names(footprint(compression, host()).status(), Code::invalid_argument, "codec");
}

TEST(Choices, ADeviceThatIsNotThereIsNamed) {
  const Sample sample = make_sample("sine", Dtype::f32, {10});
  const Exec device{Space::device, nullptr, 1};
  EXPECT_EQ(footprint(compression_of("identity", sample, 0), device).status().code(), Code::unsupported);
}

TEST(Choices, FillValuesAreOfTheFieldsType) {
  const Sample sample = make_sample("sine", Dtype::f32, {10});
  Compression compression = compression_of("identity", sample, 0);
  compression.fill_bits = 1ull << 32;
  expect_names(footprint(compression, host()).status(), Code::invalid_argument, "fill");
}

// A locale with a decimal comma, as scripting hosts set it.
class DecimalComma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Locale, H8NumbersAreTheSameInEveryLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  const char* const c_before = std::setlocale(LC_ALL, "de_DE.UTF-8");  // where the system has it
  EXPECT_EQ(parse_error_bound("abs:0.001")->value, 0.001);
  EXPECT_FALSE(parse_error_bound("abs:0,001").ok());
  EXPECT_EQ(to_string(ErrorBound{BoundMode::absolute, 1234.5}), "abs:1234.5");
  EXPECT_EQ(Field::flat(Dtype::f32, 1234567).shape_text(), "1234567");
  if (c_before != nullptr) std::setlocale(LC_ALL, "C");
  std::locale::global(before);
}

}  // namespace
}  // namespace homz::test
