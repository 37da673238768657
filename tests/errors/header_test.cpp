// Headers that no encoder of this version writes, with right checksums: each is refused with a message that
// says what is wrong. Numbers D4 to D13 are those of the list of faults that this project keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/round_trip.hpp"
#include "tests/support/surgery.hpp"

namespace homz::test {
namespace {

using Stream = std::vector<std::byte>;

Stream bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Stream(bytes.begin(), bytes.end());
}

class Header : public testing::Test {
 protected:
  // A coded stream of the first codec that keeps a bound, or of the last one there is.
  Header() {
    const auto lossy = lossy_choices();
    const Sample sample = make_sample("sine", Dtype::f32, {10, 100});
    stream = check_round_trip(lossy.empty() ? "zstd" : lossy.front(), sample, 1e-2);
  }

  // The stream with `value` at `at` and right checksums is refused like this.
  template <class T>
  void expect_refused(std::size_t at, T value, Code code, const std::string& message) {
    Stream changed = stream;
    put(changed, at, value);
    fix_header_checksum(changed);
    const auto open = open_stream(registry(), changed, host());
    EXPECT_EQ(open.status().code(), code) << "byte " << at << ": " << open.status().message();
    EXPECT_NE(open.status().message().find(message), std::string::npos) << open.status().message();
  }

  Stream stream;
};

TEST_F(Header, SurgeryLeavesASoundStreamSound) {
  Stream same = stream;
  fix_checksums(same);
  EXPECT_EQ(same, stream);
}

TEST_F(Header, D4SaysWhatTheBytesAreInstead) {
  const auto message_for = [](const Stream& bytes) {
    const auto open = open_stream(registry(), bytes, host());
    EXPECT_EQ(open.status().code(), Code::corrupt_stream);
    return open.status().message();
  };
  EXPECT_NE(message_for({}).find("empty"), std::string::npos);
  EXPECT_NE(message_for(bytes_of("\x89HDF\r\n\x1a\n and more")).find("HDF5"), std::string::npos);
  EXPECT_NE(message_for(bytes_of("time,temperature\n0,273.15\n")).find("text"), std::string::npos);
  Stream swapped = stream;
  for (std::size_t i = 0; i + 4 <= swapped.size(); i += 4)
    std::reverse(swapped.begin() + i, swapped.begin() + i + 4);
  EXPECT_NE(message_for(swapped).find("swapped"), std::string::npos);
  EXPECT_NE(message_for(Stream(500, std::byte{0xee})).find("not a homz stream"), std::string::npos);
}

TEST_F(Header, D5NewerVersionsAndUnknownFeaturesAreNamed) {
  expect_refused<std::uint16_t>(kFormatAt, 2, Code::unsupported, "format 2");
  expect_refused<std::uint16_t>(kRequiredAt, 0x8000, Code::unsupported, "0x8000");
  expect_refused<std::uint8_t>(kCodecVersionAt, 99, Code::unsupported, "version 99");
  expect_refused<std::uint16_t>(kCodecAt, 31337, Code::unsupported, "31337");
}

TEST_F(Header, D5UnknownIgnorableFeaturesAreSkipped) {
  Stream changed = stream;
  put<std::uint16_t>(changed, kIgnorableAt, 0x8001);
  fix_header_checksum(changed);
  EXPECT_TRUE(open_stream(registry(), changed, host()).ok());
}

TEST_F(Header, D6ReservedBytesMustBeZero) {
  for (std::size_t at = kReservedAt; at < kFillAt; ++at)
    expect_refused<std::uint8_t>(at, 1, Code::corrupt_stream, "reserved byte " + std::to_string(at));
}

TEST_F(Header, UnknownKindsAreRefused) {
  for (const std::uint8_t dtype : {0, 3, 255}) expect_refused(kDtypeAt, dtype, Code::corrupt_stream, "type");
  for (const std::uint8_t rank : {0, 5, 255}) expect_refused(kRankAt, rank, Code::corrupt_stream, "extents");
  for (const std::uint8_t mode : {4, 255}) expect_refused(kBoundModeAt, mode, Code::corrupt_stream, "bound");
  for (const std::uint8_t kind : {3, 255})
    expect_refused(kRepresentationAt, kind, Code::corrupt_stream, "representation");
  expect_refused<std::uint64_t>(kExtentsAt + 16, 7, Code::corrupt_stream, "extent");
}

TEST_F(Header, FillValuesAreOfTheFieldsType) {
  expect_refused<std::uint64_t>(kFillAt, 1, Code::corrupt_stream, "fill");  // although none is declared
  put<std::uint16_t>(stream, kRequiredAt, 1);
  expect_refused<std::uint64_t>(kFillAt, 1ull << 32, Code::corrupt_stream, "fill");
}

// A small stream that promises much is refused before memory is taken for it.
TEST_F(Header, D7DeclaredSizesAreHeldAgainstThePayload) {
  for (const std::string& choice : all_choices()) {
    SCOPED_TRACE(choice);
    stream = check_round_trip(choice, make_sample("sine", Dtype::f32, {10, 100}), 1e-2);
    if (stream.empty()) continue;
    expect_refused<std::uint64_t>(kExtentsAt, ~0ull, Code::corrupt_stream, "");
    expect_refused<std::uint64_t>(kExtentsAt, 1ull << 63, Code::corrupt_stream, "");
    expect_refused<std::uint64_t>(kExtentsAt, 1ull << 60, Code::corrupt_stream, "");
    expect_refused<std::uint64_t>(kExtentsAt, 1ull << 40, Code::corrupt_stream, "");
    expect_refused<std::uint64_t>(kExtentsAt, 1ull << 31, Code::corrupt_stream, "");
  }
}

TEST_F(Header, D7TheCallersLimitHoldsForConstantFields) {
  stream = check_round_trip("identity", make_sample("constant", Dtype::f32, {100}), 1e-2);
  put<std::uint64_t>(stream, kExtentsAt, 1ull << 40);
  fix_header_checksum(stream);
  const auto result = decompress(registry(), stream, host(), 1 << 20);
  EXPECT_EQ(result.status().code(), Code::capacity) << result.status().message();
}

TEST_F(Header, D12BoundsMustBeNumbersThatBound) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), kInfinity, -kInfinity, -1e-3, -0.0}) {
    expect_refused(kAbsErrorAt, bad, Code::corrupt_stream, "bound");
    expect_refused(kRequestedAt, bad, Code::corrupt_stream, "bound");
  }
  expect_refused(kRequestedAt, 0.0, Code::corrupt_stream, "bound");
  if (!lossy_choices().empty()) expect_refused(kAbsErrorAt, 0.0, Code::corrupt_stream, "bound");
}

TEST_F(Header, D13TheBufferMustHaveTheSizeThatTheHeaderTells) {
  const auto open = open_stream(registry(), stream, host());
  ASSERT_TRUE(open.ok());
  std::vector<std::byte> scratch(open->scratch_bytes);
  const std::uint64_t right = open->header.field.bytes();
  for (const std::uint64_t size : {std::uint64_t{0}, right - 4, right - 1, right + 1, 2 * right}) {
    std::vector<std::byte> data(size, std::byte{0x55});
    const Status status = decode_stream(*open, data, scratch, host());
    EXPECT_EQ(status.code(), Code::invalid_argument) << size;
    EXPECT_NE(status.message().find(std::to_string(size)), std::string::npos) << status.message();
    EXPECT_EQ(data, std::vector<std::byte>(size, std::byte{0x55})) << "touched in spite of the error";
  }
}

// Only the codec is unknown: what was not coded can still be read.
TEST_F(Header, StoredAndConstantStreamsNeedNoCodec) {
  for (const std::string_view input : {"random_bits", "constant"}) {
    const Sample sample = make_sample(input, Dtype::f32, {100});
    stream = check_round_trip("identity", sample, 0);
    put<std::uint16_t>(stream, kCodecAt, 31337);
    fix_header_checksum(stream);
    const Outcome outcome = decode(stream);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.bytes, sample.data);
  }
}

TEST_F(Header, StoredPayloadsHaveTheSizeOfTheData) {
  stream = check_round_trip("identity", make_sample("random_bits", Dtype::f32, {100}), 0);
  expect_refused<std::uint64_t>(kExtentsAt, 99, Code::corrupt_stream, "size");
  expect_refused<std::uint64_t>(kExtentsAt, 101, Code::corrupt_stream, "size");
}

// What the header tells is what was asked for, with all 64 bits of every number.
TEST_F(Header, TellsAllThatWasAsked) {
  const Sample sample = make_sample("fill_blocks", Dtype::f64, {3, 5, 7, 11});
  Compression compression = compression_of("zstd", sample, 0);
  compression.requested = {BoundMode::relative, 0.001};
  compression.big_endian_origin = true;
  const Outcome made = encode(compression, sample.bytes());
  ASSERT_TRUE(made.status.ok());
  const auto header = load(made.bytes);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->field, sample.field);
  EXPECT_EQ(header->requested, compression.requested);
  EXPECT_EQ(header->fill_bits, sample.fill_bits);
  EXPECT_TRUE(header->big_endian_origin);
  EXPECT_EQ(header->abs_error, 0);
  EXPECT_EQ(header->payload_bytes, made.bytes.size() - kHeaderBytes);
}

}  // namespace
}  // namespace homz::test
