// The functions that arithmetic on payloads spends its time in, for each instruction set. All give the same
// bytes and numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "codecs/homcomp/kernels.hpp"
#include "homomorphic/linear.hpp"

namespace homz::homcomp {

// A chunk of an operand.
struct ChunkRef {
  ConstBytes bytes;
  bool is_raw;
  const std::byte* limit;  // what is in front of it can be read
};

// What became of a chunk. Raw if words is 0.
struct ChunkResult {
  const char* wrong = nullptr;  // nullptr, or what is wrong with the operands
  std::uint32_t words = 0;
  bool has_exact = false;  // values that are not quanta, or raw
};

// What a thread works in.
struct SumSpace {
  static constexpr unsigned kKept = 8;  // what fits in a second-level cache

  EncodeSpace encode;                                 // its quanta: residuals of the result
  alignas(64) std::uint32_t operands[kKept][kChunk];  // of as many, or of each in turn
  alignas(64) std::int64_t quanta[kChunk];            // of the result
  std::byte values[kChunk * 8];                       // of the result, of type T
  std::uint32_t fill[kBlocks], exact[kBlocks];
  std::byte local[kChunk * 8];  // a chunk of values that are added to a stream
  std::byte* readers;           // kernels' reader_bytes for each operand, aligned to 64
};

// Writes the combination of chunks at the same place, one an operand. `to` has room for the raw values.
template <class T>
using CombineChunks = ChunkResult (*)(const Linear<T>&, const Box& box, std::span<const ChunkRef> chunks,
                                      SumSpace& space, std::byte* to);

// Writes the lesser or the greater of two chunks' values. Of `linear` counts what is of the operands.
template <class T>
using ExtremumOfChunks = ChunkResult (*)(const Linear<T>&, bool greatest, const Box& box, const ChunkRef& a,
                                         const ChunkRef& b, SumSpace& space, std::byte* to);

// Writes a chunk plus the values of `data` at its place, which are quantised by `coding`; and, if `decoded`
// is not null, what the result decodes to, to its place there, which may be where the values were.
template <class T>
using AccumulateChunk = ChunkResult (*)(const Coding<T>& coding, const Linear<T>& linear, const Box& box,
                                        const std::byte* data, const ChunkRef& chunk, SumSpace& space,
                                        std::byte* to, std::byte* decoded);

// What a chunk holds, in the order of its box.
struct ChunkContent {
  alignas(64) std::uint32_t quanta[kChunk];
  std::uint32_t fill[kBlocks], exact[kBlocks];  // masks
  const std::byte* values;                      // exact ones, in order
  Orders orders;

  bool is_fill(unsigned i) const { return (fill[i / kBlock] >> i % kBlock & 1) != 0; }
  bool is_exact(unsigned i) const { return (exact[i / kBlock] >> i % kBlock & 1) != 0; }
};

// Exact values with the bits of the fill value are marked as fill, too. Returns nullptr, or what is wrong.
template <class T>
using ReadChunk = const char* (*)(const Box& box, const ChunkRef& chunk, bool has_fill, BitsOf<T> fill,
                                  ChunkContent& content);

struct SumKernels {
  std::string_view name;
  std::size_t reader_bytes;
  CombineChunks<float> combine_f32;
  CombineChunks<double> combine_f64;
  ExtremumOfChunks<float> extremum_f32;
  ExtremumOfChunks<double> extremum_f64;
  AccumulateChunk<float> accumulate_f32;
  AccumulateChunk<double> accumulate_f64;
  ReadChunk<float> read_f32;
  ReadChunk<double> read_f64;

  template <class T>
  ReadChunk<T> read() const {
    if constexpr (sizeof(T) == 4)
      return read_f32;
    else
      return read_f64;
  }
  template <class T>
  CombineChunks<T> combine() const {
    if constexpr (sizeof(T) == 4)
      return combine_f32;
    else
      return combine_f64;
  }
  template <class T>
  ExtremumOfChunks<T> extremum() const {
    if constexpr (sizeof(T) == 4)
      return extremum_f32;
    else
      return extremum_f64;
  }
  template <class T>
  AccumulateChunk<T> accumulate() const {
    if constexpr (sizeof(T) == 4)
      return accumulate_f32;
    else
      return accumulate_f64;
  }
};

// As available_kernels() and kernels() of the codec.
std::span<const SumKernels* const> available_sum_kernels();
const SumKernels& sum_kernels();

}  // namespace homz::homcomp
