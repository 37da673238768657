// What homcomp adds to the vector primitives (codecs/simd/portable.hpp), in plain C++: the other instruction
// sets have the same functions.
#pragma once

#include <cmath>

#include "codecs/homcomp/block_math.hpp"
#include "codecs/simd/portable.hpp"

namespace homz::homcomp {

struct Portable : simd::Portable {
  // Quanta of kLanes values, to the nearest; returns those that may not stand for their values. The others
  // may lie outside the limit: then bit 30 or 31 of their magnitude is set.
  template <class T>
  static Doubt quantise(const std::byte* from, const Quantiser<T>& by, Vec& quanta) {
    constexpr T kLimit = static_cast<T>(kQuantumLimit);
    std::uint32_t bad = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      const T value = load_value<T>(from + i * sizeof(T));
      const T scaled = value * by.reciprocal;
      const bool in_range = scaled <= kLimit && scaled >= -kLimit;
      const std::int32_t quantum = round_to_even(in_range ? scaled : T(0));
      const T difference = value - homcomp::restore(quantum, by.step);
      const bool good = in_range && std::abs(difference) <= by.safe;
      quanta[i] = static_cast<std::uint32_t>(quantum);
      bad |= static_cast<std::uint32_t>(!good) << i;
    }
    return bad;
  }

  static std::uint32_t bits_where(std::uint32_t bits, std::uint32_t mask) {
    return homcomp::bits_where(bits, mask);
  }
  static std::uint32_t bits_to(std::uint32_t packed, std::uint32_t mask) {
    return homcomp::bits_to(packed, mask);
  }
  // The low bytes, in order, to where the mask has bits; zeros elsewhere.
  static std::uint64_t bytes_to(std::uint64_t packed, std::uint8_t mask) {
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if ((mask >> i & 1) == 0) continue;
      bytes |= (packed & 0xff) << 8 * i;
      packed >>= 8;
    }
    return bytes;
  }
};

}  // namespace homz::homcomp
