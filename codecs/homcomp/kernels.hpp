// The two functions that coding a field spends its time in, for each instruction set. All sets give the same
// bytes and values; the best one that the machine has is chosen once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codecs/homcomp/block_math.hpp"
#include "codecs/homcomp/lattice.hpp"
#include "core/memory.hpp"

namespace homz::homcomp {

// What all chunks of a field have in common.
template <class T>
struct Coding {
  Quantiser<T> by;
  bool has_fill;
  BitsOf<T> fill;
};

// What a thread encodes a chunk in.
struct EncodeSpace {
  alignas(64) std::uint32_t quanta[Lattice::kWords];
  alignas(64) std::byte words[(kBlocks * (3 + 32) + 32) * 4];  // masks, signs and planes
  std::byte magnitudes[kBlocks * 4 + 4];                       // of sparse blocks
  std::byte signs[kChunk / 8 + 8];
};

// Writes the chunk of `data` that is at `box` and returns its size in words; or returns 0, with nothing
// written, if it would not be smaller than its values. `next`: the chunk that will be wanted next, may be
// without values.
template <class T>
using EncodeChunk = std::uint32_t (*)(const Coding<T>&, const Box& box, const Box& next,
                                      const std::byte* data, EncodeSpace& space, std::byte* to);

// Writes the values of a chunk (not a raw one) to their places in `data`. Returns nullptr, or what is wrong
// with the bytes; then some values may have been written.
template <class T>
using DecodeChunk = const char* (*)(const Coding<T>&, const Box&, ConstBytes chunk, std::byte* data);

struct Kernels {
  std::string_view name;
  EncodeChunk<float> encode_f32;
  EncodeChunk<double> encode_f64;
  DecodeChunk<float> decode_f32;
  DecodeChunk<double> decode_f64;

  template <class T>
  EncodeChunk<T> encode() const {
    if constexpr (sizeof(T) == 4)
      return encode_f32;
    else
      return encode_f64;
  }
  template <class T>
  DecodeChunk<T> decode() const {
    if constexpr (sizeof(T) == 4)
      return decode_f32;
    else
      return decode_f64;
  }
};

// Those that this machine can run, slowest first.
std::span<const Kernels* const> available_kernels();

// The best of them, or the one that the environment variable HOMZ_SIMD names (scalar, avx2, avx512) if it is
// among them.
const Kernels& kernels();

}  // namespace homz::homcomp
