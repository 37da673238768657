// Integers in streams: little-endian whatever the machine, and the few bit operations of the block coders.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/hd.hpp"

namespace homz {

template <class T>
HOMZ_HD constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0);
}

// Number of bits of the binary representation of v: 0 for 0, 32 for 0xffffffff.
HOMZ_HD inline std::uint32_t bit_width(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  return 32u - static_cast<std::uint32_t>(__clz(static_cast<int>(v)));
#else
  return static_cast<std::uint32_t>(std::bit_width(v));
#endif
}

// Unsigned integers to and from little-endian bytes at any alignment.
template <class T>
HOMZ_HD inline void store_le(std::byte* to, T value) {
  static_assert(std::is_unsigned_v<T>);
  if constexpr (std::endian::native == std::endian::little)
    __builtin_memcpy(to, &value, sizeof(T));
  else
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

template <class T>
HOMZ_HD inline T load_le(const std::byte* from) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  if constexpr (std::endian::native == std::endian::little)
    __builtin_memcpy(&value, from, sizeof(T));
  else
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(from[i]) << (8 * i));
  return value;
}

// The unsigned integer of the same size as a float or double, and the way there and back.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
HOMZ_HD inline BitsOf<T> bits_of(T value) {
  return __builtin_bit_cast(BitsOf<T>, value);
}

template <class T>
HOMZ_HD inline T value_of(BitsOf<T> bits) {
  return __builtin_bit_cast(T, bits);
}

// Loads and stores of values at any alignment, in the machine's own byte order.
template <class T>
inline T load_value(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
inline void store_value(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace homz
