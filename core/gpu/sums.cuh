// The checksum's sums taken by threads while the bytes are at hand. They are linear in the bytes: a word that
// is written in two parts is summed in two parts.
#pragma once

#include <cstdint>

#include "core/checksum.hpp"

namespace homz::gpu {

// Takes in `value`, whose bytes stand from byte `offset` of the payload on.
__device__ __forceinline__ void add_at(ChecksumState& sums, std::uint64_t offset, std::uint32_t value) {
  const unsigned shift = 8 * (static_cast<unsigned>(offset) & 3);
  const std::uint64_t word = offset / 4;
  sums.add(word, value << shift);
  if (shift != 0) sums.add(word + 1, value >> (32 - shift));
}

__device__ __forceinline__ std::uint64_t warp_sum(std::uint64_t value) {
  for (unsigned step = 16; step != 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// The same for values below 2^(24 * kLimbs), in fewer instructions: adds 24 bits at a time.
template <unsigned kLimbs>
__device__ __forceinline__ std::uint64_t warp_sum_below(std::uint64_t value) {
  std::uint64_t total = 0;
  for (unsigned limb = 0; limb < kLimbs; ++limb)
    total += std::uint64_t{__reduce_add_sync(~0u, static_cast<unsigned>(value >> 24 * limb) & 0xffffffu)}
             << 24 * limb;
  return total;
}

__device__ __forceinline__ void add_atomically(ChecksumState* to, const ChecksumState& part) {
  if ((part.sum | part.weighted) == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&to->sum), part.sum);
  atomicAdd(reinterpret_cast<unsigned long long*>(&to->weighted), part.weighted);
}

// Adds up what the threads of a block have, by one pair of atomics a warp. All threads call it.
__device__ __forceinline__ void add_from_block(ChecksumState* to, const ChecksumState& mine) {
  const ChecksumState warp{warp_sum(mine.sum), warp_sum(mine.weighted)};
  if (threadIdx.x % 32 == 0) add_atomically(to, warp);
}

// Words at any alignment. The aligned words around the bytes are read: payloads lie between a header and
// their own last bytes, or are read with `aligned`.
__device__ __forceinline__ std::uint32_t load_word(const std::byte* from) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  const unsigned shift = 8 * (static_cast<unsigned>(address) & 3);
  return shift == 0 ? words[0] : __funnelshift_r(words[0], words[1], shift);
}

__device__ __forceinline__ void store_word(std::byte* to, std::uint32_t word) {
  const unsigned phase = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(to)) & 3;
  if (phase == 0) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
  } else if (phase == 2) {
    reinterpret_cast<std::uint16_t*>(to)[0] = static_cast<std::uint16_t>(word);
    reinterpret_cast<std::uint16_t*>(to)[1] = static_cast<std::uint16_t>(word >> 16);
  } else {
    to[0] = static_cast<std::byte>(word & 0xff);
    *reinterpret_cast<std::uint16_t*>(to + 1) = static_cast<std::uint16_t>(word >> 8);
    to[3] = static_cast<std::byte>(word >> 24);
  }
}

__device__ __forceinline__ std::uint32_t load_bytes(const std::byte* from, unsigned count) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return value;
}

__device__ __forceinline__ void store_bytes(std::byte* to, std::uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i) to[i] = static_cast<std::byte>(value >> 8 * i & 0xff);
}

}  // namespace homz::gpu
