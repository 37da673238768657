// An attacker's tools: change a stream and make its checksums right again. Written from docs/stream_format.md
// alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/memory.hpp"

namespace homz::test {

// Byte offsets of the header.
inline constexpr std::size_t kFormatAt = 4, kCodecAt = 6, kCodecVersionAt = 8, kDtypeAt = 9, kRankAt = 10,
                             kRepresentationAt = 11, kRequiredAt = 12, kIgnorableAt = 14, kExtentsAt = 16,
                             kAbsErrorAt = 48, kRequestedAt = 56, kBoundModeAt = 64, kReservedAt = 65,
                             kFillAt = 72, kParamsAt = 80, kPayloadBytesAt = 104, kPayloadChecksumAt = 112,
                             kHeaderChecksumAt = 120, kHeaderBytes = 128;

template <class T>
void put(std::vector<std::byte>& stream, std::size_t at, T value) {
  std::memcpy(stream.data() + at, &value, sizeof(value));
}

template <class T>
T get(const std::vector<std::byte>& stream, std::size_t at) {
  T value;
  std::memcpy(&value, stream.data() + at, sizeof(value));
  return value;
}

inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline std::uint64_t checksum_of(ConstBytes bytes) {
  std::uint64_t sum = 0, weighted = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t part = std::to_integer<std::uint64_t>(bytes[i]) << (8 * (i % 4));
    sum += part;
    weighted += (i / 4 + 1) * part;
  }
  return mix(mix(sum) + weighted + bytes.size());
}

inline void fix_header_checksum(std::vector<std::byte>& stream) {
  put(stream, kHeaderChecksumAt, checksum_of(ConstBytes(stream).first(kHeaderChecksumAt)));
}

// Makes length and both checksums of a changed stream right.
inline void fix_checksums(std::vector<std::byte>& stream) {
  const ConstBytes payload = ConstBytes(stream).subspan(kHeaderBytes);
  put<std::uint64_t>(stream, kPayloadBytesAt, payload.size());
  put(stream, kPayloadChecksumAt, checksum_of(payload));
  fix_header_checksum(stream);
}

}  // namespace homz::test
