// What cuszp adds to the vector primitives (codecs/simd/portable.hpp), in plain C++: the other instruction
// sets have the same functions.
#pragma once

#include <cmath>

#include "codecs/cuszp/coding.hpp"
#include "codecs/simd/portable.hpp"

namespace homz::cuszp {

struct Portable : simd::Portable {
  // What codes tiles and cubes: void for nothing but CodedBlock, which here is the fastest.
  using ForTiles = void;

  // Quanta of kLanes values; returns those that may not stand for their values. Numbers out of the range of
  // quanta are among these, and what they give then is -2^31, or that less 1.
  template <class T>
  static Doubt quantise(const std::byte* from, const Coding<T>& coding, Vec& quanta) {
    quanta = quantise_unchecked(from, coding);
    std::uint32_t bad = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      const T value = load_value<T>(from + i * sizeof(T));
      const T restored = static_cast<T>(static_cast<std::int32_t>(quanta[i])) * coding.step;
      bad |= static_cast<std::uint32_t>(!(std::abs(value - restored) < coding.safe)) << i;
    }
    return bad;
  }
  template <class T>
  static Vec quantise_unchecked(const std::byte* from, const Coding<T>& coding) {
    std::uint32_t quanta[kLanes];
    for (unsigned i = 0; i < kLanes; ++i) {
      const T scaled = load_value<T>(from + i * sizeof(T)) * coding.by.reciprocal;
      const T shifted = scaled + T(0.5);
      const bool in_range = shifted < T(2147483648.0) && shifted > T(-2147483648.0);
      quanta[i] = in_range ? static_cast<std::uint32_t>(static_cast<std::int32_t>(shifted)) : kTopBit;
      quanta[i] -= scaled >= T(-0.5) ? 0u : 1u;
    }
    return load(quanta);
  }

  // Of each lane of `here` the one in front of it, `before` being in front of them all.
  static Vec behind(Vec before, Vec here) {
    std::uint32_t lanes[2 * kLanes];
    store(lanes, before);
    store(lanes + kLanes, here);
    return load(lanes + kLanes - 1);
  }
  static std::uint32_t first(Vec value) { return value[0]; }
  static Vec with_first(Vec value, std::uint32_t lane) {
    value[0] = lane;
    return value;
  }
  static Vec without_first(Vec value) { return with_first(value, 0); }

  // The sign plane and the `width` planes of the magnitudes of 32 residuals, a word each, kStride bytes from
  // each other; here none of them is -2^31. The vector code may write the places of up to eight planes more.
  template <unsigned kStride>
  static void write_planes(const Vec (&residuals)[kVectors], unsigned width, std::byte* to) {
    Block<1>::Values values;
    for (unsigned i = 0; i < kVectors; ++i) store(values + i * kLanes, residuals[i]);
    for (std::uint32_t& value : values) value = (value & kTopBit) | cuszp::magnitude<1>(value);
    cuszp::transpose(values);
    store_plane_word(to, values[0]);
    for (unsigned plane = 0; plane < width; ++plane)
      store_plane_word(to + kStride * (1 + plane), values[31 - plane]);
  }
  template <unsigned kStride>
  static void read_planes(const std::byte* from, unsigned width, Vec (&residuals)[kVectors]) {
    Block<1>::Values values = {};
    for (unsigned plane = 0; plane < width; ++plane)
      values[31 - plane] = load_plane_word(from + kStride * (1 + plane));
    const std::uint32_t signs = load_plane_word(from);
    cuszp::transpose(values);
    for (unsigned i = 0; i < 32; ++i) values[i] = (signs << i & kTopBit) != 0 ? 0 - values[i] : values[i];
    for (unsigned i = 0; i < kVectors; ++i) residuals[i] = load(values + i * kLanes);
  }
};

}  // namespace homz::cuszp
