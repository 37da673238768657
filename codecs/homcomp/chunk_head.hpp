// The head of a chunk: writes it from the codes of its blocks, and tells what they say. To be included in
// front of what is compiled for one instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "codecs/homcomp/layout.hpp"

namespace homz::homcomp {

// A code a block, and room for reading eight at once.
struct BlockCodes {
  std::byte codes[kBlocks + ChunkHead::kCodeGroup];

  std::byte& operator[](unsigned block) { return codes[block]; }

  // The code that blocks without one have; kAllFill where most of those that need not have one are all fill.
  std::uint8_t of_most(unsigned blocks) const {
    const auto* const all = reinterpret_cast<const std::uint8_t*>(codes);
    const auto all_fill = std::count(all, all + blocks, kAllFill);
    return all_fill > std::count(all, all + blocks, kZero) ? kAllFill : kZero;
  }
};

// Bit i: byte i of `bytes` is not `byte`.
inline unsigned differing_bytes(std::uint64_t bytes, std::uint8_t byte) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u, kLow = 0x7f * kOnes;
  const std::uint64_t other = bytes ^ byte * kOnes;
  const std::uint64_t tops = (((other & kLow) + kLow) | other) >> 7 & kOnes;
  return static_cast<unsigned>(tops * 0x0102040810204080u >> 56);
}

// `otherwise`: the code that blocks without one have. Returns the end, padded.
inline std::byte* write_head(const Orders& orders, unsigned range, BlockCodes& of, unsigned blocks,
                             std::uint8_t otherwise, std::byte* to) {
  std::byte* at = to + ChunkHead::kBytes;
  auto flags = static_cast<std::uint8_t>(orders.x | (orders.y != 0 ? ChunkHead::kOrderY : 0) |
                                         (orders.z != 0 ? ChunkHead::kOrderZ : 0));
  if (otherwise == kAllFill) flags |= ChunkHead::kElseFill;
  if (orders.base != 0) {
    flags |= ChunkHead::kHasBase;
    store_le(at, static_cast<std::uint32_t>(orders.base));
    at += 4;
  }
  std::byte codes[kBlocks + ChunkHead::kCodeGroup];
  unsigned used = 0, top = 0;
  std::memset(of.codes + blocks, otherwise, ChunkHead::kCodeGroup);
  for (unsigned group = 0; group * ChunkHead::kCodeGroup < blocks; ++group) {
    const auto eight = load_le<std::uint64_t>(of.codes + group * ChunkHead::kCodeGroup);
    const unsigned coded = differing_bytes(eight, otherwise);
    if (coded == 0) continue;
    top |= 1u << group;
    *at++ = static_cast<std::byte>(coded);
    if (coded == 0xff) {
      store_le(codes + used, eight);
      used += 8;
    } else {
      for (unsigned bits = coded; bits != 0; bits &= bits - 1)
        codes[used++] = static_cast<std::byte>(eight >> 8 * std::countr_zero(bits) & 0xff);
    }
  }
  to[0] = static_cast<std::byte>(flags);
  to[1] = static_cast<std::byte>(range);
  store_le(to + 2, static_cast<std::uint16_t>(top));
  std::memcpy(at, codes, used);
  at += used;
  while ((at - to) % 4 != 0) *at++ = std::byte{0};
  return at;
}

// What a code says of its block, in fields that add up over those of a chunk: words, bytes of sparse
// magnitudes, whether all is fill, whether it is no code.
struct CodeSums {
  static constexpr unsigned kMagnitudesAt = 16, kAllFillAt = 32, kNoCodeAt = 48;
  std::uint64_t fields = 0;

  unsigned words() const { return static_cast<std::uint16_t>(fields); }
  unsigned magnitude_bytes() const { return static_cast<std::uint16_t>(fields >> kMagnitudesAt); }
  bool any_all_fill() const { return static_cast<std::uint16_t>(fields >> kAllFillAt) != 0; }
  bool any_no_code() const { return fields >> kNoCodeAt != 0; }
};
inline constexpr std::array<CodeSums, 256> kSumsOfCode = [] {
  std::array<CodeSums, 256> all{};
  for (unsigned i = 0; i < all.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    std::uint64_t& fields = all[i].fields;
    if (!is_code(code)) {
      fields = std::uint64_t{1} << CodeSums::kNoCodeAt;
      continue;
    }
    fields = words_of(code);
    if (is_sparse(code))
      fields |= static_cast<std::uint64_t>(std::popcount(i & 15)) << CodeSums::kMagnitudesAt;
    if (code == kAllFill) fields |= std::uint64_t{1} << CodeSums::kAllFillAt;
  }
  return all;
}();

}  // namespace homz::homcomp
