// Fields: which shapes there are, and what counts as the same shape.
#include "core/field.hpp"

#include <gtest/gtest.h>

#include "core/region.hpp"
#include "core/stream_header.hpp"

namespace homz::test {
namespace {

Result<Field> make(std::vector<std::uint64_t> extents) {
  return Field::make(Dtype::f32, extents);
}

TEST(Field, HasOneToFourExtents) {
  EXPECT_EQ(make({}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make({1, 2, 3, 4, 5}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make({2, 3, 4, 5})->count(), 120u);
  EXPECT_EQ(make({2, 3, 4, 5})->shape_text(), "2x3x4x5");
}

TEST(Field, HasLessThanTwoToThe63Bytes) {
  EXPECT_TRUE(make({1ull << 60}).ok());
  EXPECT_FALSE(make({1ull << 61}).ok());
  EXPECT_FALSE(make({1ull << 32, 1ull << 32}).ok());
  EXPECT_FALSE(make({~0ull, ~0ull, ~0ull, ~0ull}).ok());
  EXPECT_NE(make({~0ull}).status().message().find("18446744073709551615"), std::string::npos);
}

TEST(Field, MayHaveNoValuesWhateverTheOtherExtents) {
  EXPECT_EQ(make({0})->count(), 0u);
  EXPECT_EQ(make({~0ull, ~0ull, 0})->bytes(), 0u);
}

TEST(Field, WithoutUnitExtentsKeepsTheOrder) {
  EXPECT_EQ(make({1, 7, 1, 5})->without_unit_extents(), *make({7, 5}));
  EXPECT_EQ(make({1, 1})->without_unit_extents(), *make({1}));
  EXPECT_EQ(make({4, 3})->without_unit_extents(), *make({4, 3}));
  EXPECT_EQ(make({1, 0, 1})->without_unit_extents(), *make({0}));
}

TEST(StreamHeader, ReturnsFromItsBytes) {
  StreamHeader header;
  header.codec = static_cast<CodecId>(77);
  header.codec_version = 3;
  header.representation = Representation::constant;
  header.field = *Field::make(Dtype::f64, std::vector<std::uint64_t>{3, 0, 9});
  header.abs_error = 0x1.23456789abcdep-77;
  header.requested = {BoundMode::psnr, 61.25};
  header.fill_bits = 0x7ff8000000000001u;
  header.big_endian_origin = true;
  header.params[23] = std::byte{9};
  header.payload_bytes = 1234;
  header.payload_checksum = 5678;
  std::array<std::byte, StreamHeader::kBytes> bytes;
  store(header, bytes);
  const auto read = load(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->codec, header.codec);
  EXPECT_EQ(read->codec_version, header.codec_version);
  EXPECT_EQ(read->representation, header.representation);
  EXPECT_EQ(read->field, header.field);
  EXPECT_EQ(read->abs_error, header.abs_error);
  EXPECT_EQ(read->requested, header.requested);
  EXPECT_EQ(read->fill_bits, header.fill_bits);
  EXPECT_EQ(read->big_endian_origin, header.big_endian_origin);
  EXPECT_EQ(read->params, header.params);
  EXPECT_EQ(read->payload_bytes, header.payload_bytes);
  EXPECT_EQ(read->payload_checksum, header.payload_checksum);
}

TEST(Region, IsReadFromText) {
  const Field field = *Field::make(Dtype::f32, std::vector<std::uint64_t>{10, 20, 30});
  const auto expect = [&](std::string_view text, std::array<std::uint64_t, 6> wanted) {
    const auto region = parse_region(text, field);
    ASSERT_TRUE(region.ok()) << text << ": " << region.status().message();
    for (unsigned axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(region->first[axis], wanted[2 * axis]) << text;
      EXPECT_EQ(region->extents[axis], wanted[2 * axis + 1]) << text;
    }
    EXPECT_TRUE(field_of(*region, field).ok());
  };
  expect("0:10,5:15,:", {0, 10, 5, 10, 0, 30});
  expect(":,:,:", {0, 10, 0, 20, 0, 30});
  expect("9,19,29", {9, 1, 19, 1, 29, 1});
  expect(":3,7:,29:30", {0, 3, 7, 13, 29, 1});
  for (const std::string_view text : {"", ":", ":,:", ":,:,:,:", "0:11,:,:", "5:5,:,:", "6:5,:,:", "10,:,:",
                                      "-1,:,:", "1:-1,:,:", "a,:,:", " 1,:,:", "1:2:3,:,:", ",,", ":,:,",
                                      "18446744073709551615,:,:", "0:18446744073709551616,:,:", "1.0,:,:"}) {
    const auto region = parse_region(text, field);
    ASSERT_FALSE(region.ok()) << text;
    EXPECT_EQ(region.status().code(), Code::invalid_argument);
    EXPECT_NE(region.status().message().find("0:10,5:50,:"), std::string::npos);
  }
}

}  // namespace
}  // namespace homz::test
