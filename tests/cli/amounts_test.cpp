// Sizes and counts of command lines: units, limits, whole values.
#include "tools/amounts.hpp"

#include <gtest/gtest.h>

namespace homz::test {
namespace {

std::uint64_t bytes_of(std::string_view text) {
  const auto bytes = parse_bytes("--size", text);
  EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status().message();
  return bytes.ok() ? *bytes : 0;
}

TEST(Amounts, UnitsOfBytes) {
  constexpr std::uint64_t kOne = 1;
  const std::pair<const char*, std::uint64_t> table[] = {{"0", 0},
                                                         {"7", 7},
                                                         {"7B", 7},
                                                         {"3K", 3072},
                                                         {"3KiB", 3072},
                                                         {"3kB", 3000},
                                                         {"64M", 64 << 20},
                                                         {"64MiB", 64 << 20},
                                                         {"64MB", 64'000'000},
                                                         {"1G", kOne << 30},
                                                         {"1GiB", kOne << 30},
                                                         {"2GB", 2'000'000'000},
                                                         {"1T", kOne << 40},
                                                         {"1TiB", kOne << 40},
                                                         {"1TB", 1'000'000'000'000},
                                                         {"18446744073709551615", UINT64_MAX}};
  for (const auto& [text, bytes] : table) EXPECT_EQ(bytes_of(text), bytes) << text;
}

TEST(Amounts, WhatIsNone) {
  for (const char* const text : {"", "B", "KiB", "M", "-1", "1.5M", "1 MB", "1mb", "1k", "1Ki", "1iB", "1EiB",
                                 "0x10", "16777216TiB", "16777216T", "18446744073709551616"}) {
    const Status status = parse_bytes("--size", text).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << text;
    EXPECT_EQ(status.message().find("--size '" + std::string(text) + "'"), 0u) << status.message();
    EXPECT_NE(status.message().find("MiB"), std::string::npos) << status.message();
  }
}

TEST(Amounts, CountsAreNoBytes) {
  for (const auto& [text, count] :
       {std::pair("5", 5u), std::pair("64K", 65536u), std::pair("2M", 2u << 20)}) {
    const auto parsed = parse_count("--count", text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, count);
  }
  for (const char* const text : {"5B", "5MB", "5MiB", "5k", ""})
    EXPECT_EQ(parse_count("--count", text).status().code(), Code::invalid_argument) << text;
}

TEST(Amounts, SizesHaveALimit) {
  const auto most = parse_size("--size", "1TiB");
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(*most, std::uint64_t{1} << 40);
  const Status more = parse_size("--size", "1025GiB").status();
  EXPECT_NE(more.message().find("at most 1 TiB"), std::string::npos) << more.message();
}

TEST(Amounts, WholeValues) {
  for (const std::uint64_t bytes : {0, 8, 16}) EXPECT_TRUE(check_whole("--size", bytes, Dtype::f64).ok());
  EXPECT_TRUE(check_whole("--size", 4, Dtype::f32).ok());
  for (const auto& [bytes, next] : {std::pair(3, "give 0 or 8"), std::pair(12, "give 8 or 16")}) {
    const Status status = check_whole("--size", static_cast<std::uint64_t>(bytes), Dtype::f64);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    for (const char* const part : {"--size", "f64 has 8 bytes", next})
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace homz::test
