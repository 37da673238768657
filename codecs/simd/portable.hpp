// The vector primitives in plain C++, and thereby what each of them means: the other instruction sets have
// the same functions. A Vec holds kLanes residuals, quanta or magnitudes (two's complement, modulo 2^32); a
// mask has a bit a lane, lane 0 lowest; a block is kVectors Vecs.
#pragma once

#include <bit>
#include <cstdint>

#include "core/bits.hpp"

namespace homz::simd {

inline constexpr unsigned kBlock = 32;  // values

struct Portable {
  static constexpr unsigned kLanes = 4;
  using Vec = std::uint32_t __attribute__((vector_size(4 * kLanes)));
  static constexpr unsigned kVectors = kBlock / kLanes;
  static constexpr std::uint32_t kAll = (1u << kLanes) - 1;  // the mask of all lanes

  static Vec load(const std::uint32_t* from) {
    Vec value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
  }
  static void store(std::uint32_t* to, Vec value) { __builtin_memcpy(to, &value, sizeof(value)); }
  static Vec load_bytes(const std::uint8_t* from) {  // each to a lane
    Vec value;
    for (unsigned i = 0; i < kLanes; ++i) value[i] = from[i];
    return value;
  }
  static void store_bytes(std::byte* to, Vec value) {  // the lowest of each lane
    for (unsigned i = 0; i < kLanes; ++i) to[i] = static_cast<std::byte>(value[i] & 0xff);
  }
  static Vec above(Vec a, Vec b) {  // ones where a > b, signed
    for (unsigned i = 0; i < kLanes; ++i)
      a[i] = static_cast<std::int32_t>(a[i]) > static_cast<std::int32_t>(b[i]) ? ~0u : 0;
    return a;
  }
  static Vec where_not_zero(Vec condition, Vec value) {  // elsewhere 0
    for (unsigned i = 0; i < kLanes; ++i) value[i] = condition[i] != 0 ? value[i] : 0;
    return value;
  }
  // A word from each place.
  static Vec gather(const std::byte* const (&from)[kLanes]) {
    Vec value;
    for (unsigned i = 0; i < kLanes; ++i) value[i] = load_le<std::uint32_t>(from[i]);
    return value;
  }
  static Vec all(std::uint32_t value) { return Vec{} + value; }

  static Vec lesser(Vec a, Vec b) {  // of signed numbers
    for (unsigned i = 0; i < kLanes; ++i)
      if (static_cast<std::int32_t>(b[i]) < static_cast<std::int32_t>(a[i])) a[i] = b[i];
    return a;
  }
  static Vec greater(Vec a, Vec b) {
    for (unsigned i = 0; i < kLanes; ++i)
      if (static_cast<std::int32_t>(b[i]) > static_cast<std::int32_t>(a[i])) a[i] = b[i];
    return a;
  }
  static Vec magnitude(Vec value) {
    const Vec negative = 0 - (value >> 31);
    return (value ^ negative) - negative;
  }
  static Vec negate_where(std::uint32_t mask, Vec value) {
    for (unsigned i = 0; i < kLanes; ++i) value[i] = (mask >> i & 1) != 0 ? 0 - value[i] : value[i];
    return value;
  }
  static Vec select(std::uint32_t mask, Vec yes, Vec no) {
    for (unsigned i = 0; i < kLanes; ++i) no[i] = (mask >> i & 1) != 0 ? yes[i] : no[i];
    return no;
  }
  static std::uint32_t negative(Vec value) {  // mask
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < kLanes; ++i) mask |= value[i] >> 31 << i;
    return mask;
  }
  static std::uint32_t not_zero(Vec value) {  // mask
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < kLanes; ++i) mask |= static_cast<std::uint32_t>(value[i] != 0) << i;
    return mask;
  }
  static std::uint32_t union_of(Vec value) {  // of the bits of all lanes
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < kLanes; ++i) bits |= value[i];
    return bits;
  }
  static Vec prefix_sums(Vec value) {
    for (unsigned i = 1; i < kLanes; ++i) value[i] += value[i - 1];
    return value;
  }
  static Vec shift_in(Vec before, Vec value) {  // the last of `before`, then all but the last of `value`
    Vec shifted = all(before[kLanes - 1]);
    for (unsigned i = 1; i < kLanes; ++i) shifted[i] = value[i - 1];
    return shifted;
  }
  static Vec last(Vec value) { return all(value[kLanes - 1]); }  // in every lane

  static void transpose(Vec (&rows)[kLanes]) {  // lane i of row j becomes lane j of row i
    for (unsigned i = 0; i < kLanes; ++i)
      for (unsigned j = 0; j < i; ++j) {
        const std::uint32_t kept = rows[i][j];
        rows[i][j] = rows[j][i];
        rows[j][i] = kept;
      }
  }

  // A mask in the form that comparisons give it in; Doubts can be united by |.
  using Doubt = std::uint32_t;
  static bool is_any(Doubt doubt) { return doubt != 0; }
  static std::uint32_t mask_of(Doubt doubt) { return doubt; }

  template <class T>
  static void restore(Vec quanta, T step, std::byte* to) {
    for (unsigned i = 0; i < kLanes; ++i)
      store_value(to + i * sizeof(T), static_cast<T>(static_cast<std::int32_t>(quanta[i])) * step);
  }
  template <class T>
  static std::uint32_t equal(const std::byte* from, BitsOf<T> bits) {  // mask
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < kLanes; ++i)
      mask |= static_cast<std::uint32_t>(load_value<BitsOf<T>>(from + i * sizeof(T)) == bits) << i;
    return mask;
  }

  // The `width` planes of a block's magnitudes, as little-endian words; may write up to 32 words.
  static void planes(const Vec (&sizes)[kVectors], unsigned width, std::byte* to) {
    std::uint32_t values[kBlock];
    for (unsigned i = 0; i < kVectors; ++i) store(values + i * kLanes, sizes[i]);
    for (unsigned byte = 0; 8 * byte < width; ++byte)
      for (unsigned part = 0; part < 4; ++part) {
        std::uint64_t rows = 0;
        for (unsigned i = 0; i < 8; ++i)
          rows |= std::uint64_t{values[8 * part + i] >> 8 * byte & 0xff} << 8 * i;
        rows = transpose(rows);
        for (unsigned i = 0; i < 8; ++i)
          to[4 * (8 * byte + i) + part] = static_cast<std::byte>(rows >> 8 * i & 0xff);
      }
  }
  static void join_planes(const std::byte* from, unsigned width, Vec (&sizes)[kVectors]) {
    std::uint32_t values[kBlock] = {};
    for (unsigned byte = 0; 8 * byte < width; ++byte)
      for (unsigned part = 0; part < 4; ++part) {
        std::uint64_t rows = 0;
        for (unsigned i = 0; i < 8 && 8 * byte + i < width; ++i)
          rows |= std::to_integer<std::uint64_t>(from[4 * (8 * byte + i) + part]) << 8 * i;
        rows = transpose(rows);
        for (unsigned i = 0; i < 8; ++i)
          values[8 * part + i] |= static_cast<std::uint32_t>(rows >> 8 * i & 0xff) << 8 * byte;
      }
    for (unsigned i = 0; i < kVectors; ++i) sizes[i] = load(values + i * kLanes);
  }

 protected:
  // An 8 x 8 bit matrix, a row a byte.
  static std::uint64_t transpose(std::uint64_t rows) {
    rows = swap_bits(rows, 7, 0x00aa00aa00aa00aau);
    rows = swap_bits(rows, 14, 0x0000cccc0000ccccu);
    return swap_bits(rows, 28, 0x00000000f0f0f0f0u);
  }
  static std::uint64_t swap_bits(std::uint64_t rows, unsigned shift, std::uint64_t mask) {
    const std::uint64_t changed = (rows ^ rows >> shift) & mask;
    return rows ^ changed ^ changed << shift;
  }
};

}  // namespace homz::simd
