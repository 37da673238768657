// The 64-bit checksum of stream headers and payloads: a position-weighted sum of 32-bit words, in the manner
// of Fletcher (IEEE Trans. Comm. 30, 1982) with 64-bit sums, finished by a mixing step.
//
// With the words w[i] little-endian, the last one padded with zeros, and all modulo 2^64:
//
//   sum      = w[0] + w[1] + ...
//   weighted = 1 w[0] + 2 w[1] + ...
//   checksum = mix(mix(sum) + weighted + byte count)
//
// Chosen over XXH3 and CRC-32C because integer sums can be taken in any order and by any number of threads or
// GPU blocks, while the bytes are still on the chip, and joined afterwards. A change escapes with a
// probability of 2^-64.
#pragma once

#include <cstdint>

#include "core/hd.hpp"
#include "core/memory.hpp"

namespace homz {

struct ChecksumState {
  std::uint64_t sum = 0;
  std::uint64_t weighted = 0;

  // Takes in the `index`-th 32-bit word of the data.
  HOMZ_HD void add(std::uint64_t index, std::uint32_t word) {
    sum += word;
    weighted += (index + 1) * word;
  }
  // Joins the state of a part whose words were numbered from 0 but stand from word `offset` on.
  HOMZ_HD void join(const ChecksumState& part, std::uint64_t offset) {
    sum += part.sum;
    weighted += part.weighted + offset * part.sum;
  }
  HOMZ_HD std::uint64_t finish(std::uint64_t bytes) const { return mix(mix(sum) + weighted + bytes); }

 private:
  // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  HOMZ_HD static std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

ChecksumState sums_of(ConstBytes bytes, unsigned threads = 1);
std::uint64_t checksum(ConstBytes bytes, unsigned threads = 1);

// The state of `count` whole words at any alignment, numbered from 0, for checksums of several parts.
ChecksumState sum_words(const std::byte* words, std::uint64_t count);

}  // namespace homz
