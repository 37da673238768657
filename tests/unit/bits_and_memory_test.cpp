// Integers in streams, the arena, buffers, the checksum.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "core/bits.hpp"
#include "core/buffer.hpp"
#include "core/canary.hpp"
#include "core/checksum.hpp"
#include "core/memory.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/surgery.hpp"

namespace homz::test {
namespace {

TEST(Bits, CeilDivDoesNotOverflow) {
  EXPECT_EQ(ceil_div<std::uint64_t>(0, 7), 0u);
  EXPECT_EQ(ceil_div<std::uint64_t>(1, 7), 1u);
  EXPECT_EQ(ceil_div<std::uint64_t>(7, 7), 1u);
  EXPECT_EQ(ceil_div<std::uint64_t>(8, 7), 2u);
  EXPECT_EQ(ceil_div(~std::uint64_t{0}, std::uint64_t{2}), std::uint64_t{1} << 63);
}

TEST(Bits, IntegersAreLittleEndianAtAnyAlignment) {
  std::byte bytes[11] = {};
  store_le<std::uint32_t>(bytes + 1, 0x04030201u);
  EXPECT_EQ(std::to_integer<int>(bytes[1]), 1);
  EXPECT_EQ(std::to_integer<int>(bytes[4]), 4);
  store_le<std::uint64_t>(bytes + 3, 0x8877665544332211u);
  EXPECT_EQ(load_le<std::uint64_t>(bytes + 3), 0x8877665544332211u);
  EXPECT_EQ(load_le<std::uint16_t>(bytes + 9), 0x8877u);
}

TEST(Bits, WidthIsTheNumberOfBinaryDigits) {
  EXPECT_EQ(bit_width(0), 0u);
  EXPECT_EQ(bit_width(1), 1u);
  EXPECT_EQ(bit_width(0x80000000u), 32u);
}

// One function takes its arrays: counting tells what carving needs, whatever the alignment of the storage.
TEST(Arena, CountingTellsWhatCarvingNeeds) {
  const auto take_all = [](Arena& arena) {
    return std::array<void*, 3>{arena.take<char>(1), arena.take<double>(100), arena.take<std::uint16_t>(7)};
  };
  Arena counting;
  for (void* pointer : take_all(counting)) EXPECT_EQ(pointer, nullptr);
  std::vector<std::byte> storage(counting.needed() + 300);
  for (std::size_t offset = 0; offset < 300; ++offset) {
    Arena carving(Bytes(storage).subspan(offset, counting.needed()));
    for (void* pointer : take_all(carving)) {
      ASSERT_NE(pointer, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0u);
    }
    EXPECT_TRUE(carving.fits());
    Arena too_small(Bytes(storage).subspan(offset, counting.needed() / 2));
    take_all(too_small);
    EXPECT_FALSE(too_small.fits());
  }
}

TEST(Arena, OfNothingNeedsNothing) {
  Arena arena;
  arena.take<double>(0);
  EXPECT_EQ(arena.needed(), 0u);
  EXPECT_TRUE(arena.fits());
}

TEST(Buffer, HasTheSizeThatWasAsked) {
  for (const std::uint64_t size : {0, 1, 4095, 4096, 4097, (2 << 20) - 1, 2 << 20, (2 << 20) + 1}) {
    auto buffer = Buffer::make(size);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), size);
    std::ranges::fill(buffer->bytes(), std::byte{1});
  }
}

TEST(Buffer, WhatCannotBeHadIsAnError) {
  for (const std::uint64_t size : {~std::uint64_t{0}, ~std::uint64_t{0} - 4096, std::uint64_t{1} << 62}) {
    if (kSanitized && size >> 63 == 0) continue;  // sanitizers abort where an allocator returns nothing
    const auto buffer = Buffer::make(size);
    EXPECT_EQ(buffer.status().code(), Code::out_of_memory);
    EXPECT_NE(buffer.status().message().find(std::to_string(size)), std::string::npos);
  }
}

TEST(Buffer, GrowsAndNeverShrinks) {
  Buffer buffer;
  ASSERT_TRUE(buffer.reserve(100).ok());
  ASSERT_TRUE(buffer.reserve(50).ok());
  EXPECT_EQ(buffer.size(), 100u);
  ASSERT_TRUE(buffer.reserve(5000).ok());
  EXPECT_EQ(buffer.size(), 5000u);
}

// The definition in the format document, evaluated byte by byte.
TEST(Checksum, IsTheDocumentedSum) {
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    EXPECT_EQ(checksum(bytes), checksum_of(bytes)) << size;
  }
}

TEST(Checksum, OfPartsJoined) {
  std::vector<std::uint32_t> words(100);
  std::iota(words.begin(), words.end(), 7u);
  ChecksumState whole, joined;
  for (std::size_t i = 0; i < 100; ++i) whole.add(i, words[i]);
  for (const std::size_t first : {60u, 0u, 30u}) {  // in any order
    ChecksumState part;
    const std::size_t length = first == 60 ? 40 : 30;
    for (std::size_t i = 0; i < length; ++i) part.add(i, words[first + i]);
    joined.join(part, first);
  }
  EXPECT_EQ(whole.finish(400), joined.finish(400));
}

// A payload that lost zeros at its end, or gained some, has another checksum.
TEST(Checksum, KnowsTheLength) {
  const std::vector<std::byte> zeros(64);
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    seen.insert(checksum(ConstBytes(zeros).first(size)));
  EXPECT_EQ(seen.size(), zeros.size() + 1);
}

TEST(Canary, ThisBuildKeepsTheBound) {
  EXPECT_TRUE(check_arithmetic().ok()) << check_arithmetic().message();
}

}  // namespace
}  // namespace homz::test
