// Codecs called directly, as the tests of this folder need them: without a stream around the payload.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "core/registry.hpp"

namespace homz::golden {

template <class T>
Encoding encoding_of(std::vector<std::uint64_t> extents, double abs_error, std::string_view choice,
                     std::optional<std::uint64_t> fill_bits = {}) {
  return Encoding{*Field::make(dtype_of<T>(), extents), abs_error, fill_bits,
                  registry().choose(choice)->params};
}

// Empty if the codec finds the data incompressible.
template <class T>
std::vector<std::byte> encode(const Encoding& encoding, std::string_view choice, const std::vector<T>& values,
                              unsigned threads = 1) {
  const Codec& codec = *registry().choose(choice)->codec;
  const auto needs = codec.footprint(encoding, host(threads));
  EXPECT_TRUE(needs.ok()) << needs.status().message();
  std::vector<std::byte> payload(needs->max_payload), scratch(needs->encode_scratch);
  Encoded encoded;
  const Status status =
      codec.encode(encoding, std::as_bytes(std::span(values)), payload, scratch, &encoded, host(threads));
  EXPECT_TRUE(status.ok()) << status.message();
  if (encoded.bytes == Codec::kIncompressible) return {};
  EXPECT_GE(encoded.bytes, needs->min_payload);
  EXPECT_LE(encoded.bytes, needs->max_payload);
  payload.resize(encoded.bytes);
  if (codec.takes_sums()) {
    EXPECT_EQ(encoded.sums.finish(encoded.bytes), checksum(payload));
  }
  return payload;
}

template <class T>
Status decode(const Encoding& encoding, std::string_view choice, const std::vector<std::byte>& payload,
              std::vector<T>& values, unsigned threads = 1) {
  const Codec& codec = *registry().choose(choice)->codec;
  const auto needs = codec.footprint(encoding, host(threads));
  if (!needs.ok()) return needs.status();
  std::vector<std::byte> scratch(needs->decode_scratch);
  values.assign(encoding.field.count(), T(-12345));
  return codec.decode(encoding, payload, std::as_writable_bytes(std::span(values)), scratch, host(threads));
}

// Whether y may stand for x: the same bits, or finite values at most `bound` apart. Long double holds the
// difference of any two f32 that are close enough to matter, and of f64 with 11 bits to spare.
template <class T>
bool stands_for(T x, T y, double bound) {
  if (bits_of(x) == bits_of(y)) return true;
  const long double difference = static_cast<long double>(x) - static_cast<long double>(y);
  return difference <= bound && difference >= -static_cast<long double>(bound);
}

template <class T>
void expect_within(const std::vector<T>& sent, const std::vector<T>& received, double bound) {
  ASSERT_EQ(sent.size(), received.size());
  for (std::size_t i = 0; i < sent.size(); ++i)
    ASSERT_TRUE(stands_for(sent[i], received[i], bound))
        << "at " << i << ": " << sent[i] << " became " << received[i];
}

// The part of a payload that upstream would have written.
inline std::vector<std::byte> upstream_part(const std::vector<std::byte>& payload) {
  const auto bytes = load_le<std::uint64_t>(payload.data() + payload.size() - 8) & 0xffffffffffffff;
  return {payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

inline std::vector<std::byte> exception_part(const std::vector<std::byte>& payload) {
  const auto bytes = load_le<std::uint64_t>(payload.data() + payload.size() - 8) & 0xffffffffffffff;
  return {payload.begin() + static_cast<std::ptrdiff_t>(bytes), payload.end() - 8};
}

}  // namespace homz::golden
