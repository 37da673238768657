// The tables that generate.py makes with an independent codec: upstream's bytes, from every mode and shape.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "core/checksum.hpp"
#include "core/stream.hpp"
#include "tests/golden/coding.hpp"
#include "tests/golden/inputs.hpp"

namespace homz::golden {
namespace {

struct Row {
  std::string text;  // of the whole row
  std::string codec, dtype, shape, input;
  std::uint64_t seed = 0;
  double bound = 0;
  std::vector<std::string> expected;  // what follows

  std::vector<std::uint64_t> extents() const {
    std::vector<std::uint64_t> extents;
    std::istringstream in(shape);
    for (std::string extent; std::getline(in, extent, 'x');) extents.push_back(std::stoull(extent));
    return extents;
  }
  // Upstream's layout at any size.
  std::string choice() const { return codec + (codec.find(':') == codec.npos ? ":" : ",") + "stored=never"; }
};

std::vector<Row> rows(const char* name) {
  std::vector<Row> rows;
  std::ifstream in(std::string(HOMZ_GOLDEN_DIR) + "/" + name);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    Row row{line, {}, {}, {}, {}, 0, 0, {}};
    std::istringstream fields(line);
    std::string bound;
    fields >> row.codec >> row.dtype >> row.shape >> row.input >> row.seed >> bound;
    row.bound = std::strtod(bound.c_str(), nullptr);
    for (std::string field; fields >> field;) row.expected.push_back(field);
    rows.push_back(row);
  }
  EXPECT_FALSE(rows.empty()) << name;
  return rows;
}

template <class T>
std::vector<T> values_of(const Row& row) {
  std::vector<T> values;
  for (const double value : family(row.input, row.extents(), row.seed))
    values.push_back(static_cast<T>(value));
  return values;
}

// "07 00*1023" to 1024 bytes.
std::vector<std::byte> bytes_of(const std::vector<std::string>& groups) {
  std::vector<std::byte> bytes;
  for (const std::string& group : groups) {
    const auto value = static_cast<std::byte>(std::stoul(group.substr(0, 2), nullptr, 16));
    bytes.insert(bytes.end(), group.size() > 2 ? std::stoul(group.substr(3)) : 1, value);
  }
  return bytes;
}

// Encodes with one and with three threads, decodes with both, and returns upstream's part.
template <class T>
std::vector<std::byte> code(const Row& row) {
  const std::vector<T> values = values_of<T>(row);
  const Encoding encoding = encoding_of<T>(row.extents(), row.bound, row.choice());
  const std::vector<std::byte> payload = encode(encoding, row.choice(), values);
  EXPECT_EQ(payload, encode(encoding, row.choice(), values, 3));
  for (const unsigned threads : {1u, 3u}) {
    std::vector<T> restored;
    const Status status = decode(encoding, row.choice(), payload, restored, threads);
    EXPECT_TRUE(status.ok()) << status.message();
    expect_within(values, restored, row.bound);
  }
  return upstream_part(payload);
}

std::vector<std::byte> code(const Row& row) {
  return row.dtype == "f32" ? code<float>(row) : code<double>(row);
}

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

void check_against_table(std::string_view codec) {
  for (const Row& row : rows("checksums.txt")) {
    if (row.codec.substr(0, row.codec.find(':')) != codec) continue;
    SCOPED_TRACE(row.text);
    const std::vector<std::byte> upstream = code(row);
    EXPECT_EQ(std::to_string(upstream.size()), row.expected.at(0));
    EXPECT_EQ(hexadecimal(checksum(upstream)), row.expected.at(1));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Golden, CuszpMakesUpstreamsBytes) {
  check_against_table("cuszp");
}
TEST(Golden, Cuszp2MakesUpstreamsBytes) {
  check_against_table("cuszp2");
}

TEST(Golden, SmallStreamsByteForByte) {
  for (const Row& row : rows("streams.txt")) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(code(row), bytes_of(row.expected));
  }
}

// Shows, too, that inputs.hpp and generate.py make the same inputs.
TEST(Golden, IdentityStoresTheValues) {
  for (const Row& row : rows("checksums.txt")) {
    if (row.codec != "identity") continue;
    SCOPED_TRACE(row.text);
    with_dtype(row.dtype == "f32" ? Dtype::f32 : Dtype::f64, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> values = values_of<T>(row);
      const Compression compression{*registry().choose("identity"),
                                    *Field::make(dtype_of<T>(), row.extents()),
                                    0,
                                    ErrorBound{BoundMode::lossless, 0},
                                    {},
                                    false};
      const auto needs = footprint(compression, host());
      ASSERT_TRUE(needs.ok()) << needs.status().message();
      std::vector<std::byte> stream(needs->stream_bytes), scratch(needs->scratch_bytes);
      std::uint64_t bytes = 0;
      const Status status =
          encode_stream(compression, std::as_bytes(std::span(values)), stream, scratch, &bytes, host());
      ASSERT_TRUE(status.ok()) << status.message();
      const ConstBytes payload = ConstBytes(stream).first(bytes).subspan(StreamHeader::kBytes);
      EXPECT_EQ(std::to_string(payload.size()), row.expected.at(0));
      EXPECT_EQ(hexadecimal(checksum(payload)), row.expected.at(1));
    });
  }
}

}  // namespace
}  // namespace homz::golden
