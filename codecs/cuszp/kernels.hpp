// The functions that coding blocks in a row spends its time in, for each instruction set: whole blocks, at
// most a segment of them. All sets give the same bytes and values; the best one that the machine has is
// chosen once. They take bounds that have a step (Coding::has_step) only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codecs/cuszp/coding.hpp"
#include "core/exceptions.hpp"

namespace homz::cuszp {

// A bit for each block of a segment.
struct BlockMask {
  std::uint64_t bits[kExceptionSegment / 32 / 64] = {};

  void set(std::uint64_t block) { bits[block / 64] |= std::uint64_t{1} << block % 64; }
  bool has(std::uint64_t block) const { return (bits[block / 64] >> block % 64 & 1) != 0; }
};

struct Marks {
  BlockMask listed;    // blocks with exceptions
  BlockMask filled;    // blocks of nothing but the fill value, found by the kernels
  BlockMask by_value;  // blocks whose residuals the kernels leave to CodedBlock
};

// What is found out about blocks before they are written.
struct Measured {
  std::uint64_t bytes = 0;
  ExceptionCounter exceptions;
  Marks marks;
};

// What the kernels leave: a whole block.
template <class T>
CodedBlock<T, 1> block_by_value(const Coding<T>& coding, const std::byte* values) {
  constexpr unsigned kValues = Block<1>::kValues;
  return CodedBlock<T, 1>(coding, values, kValues, Line(kValues, true).place(0));
}

// Metadata, size and exceptions of blocks.
template <class T>
using MeasureRow = void (*)(const Coding<T>&, const std::byte* values, unsigned blocks, std::byte* metadata,
                            Measured&);

// Writes the blocks that were measured; returns their bytes, at most `room`.
template <class T>
using WriteRow = std::uint64_t (*)(const Coding<T>&, const std::byte* values, unsigned blocks,
                                   const std::byte* metadata, const BlockMask& by_value, std::byte* to,
                                   std::uint64_t room);

// Tells the exceptions of the blocks that were measured to their writer.
template <class T>
using ListRow = void (*)(const Coding<T>&, const std::byte* values, unsigned blocks, const Marks&,
                         ExceptionWriter&);

// Writes the values of blocks; returns the bytes they take, or kBeyond if that is more than `left` (then some
// values may have been written).
inline constexpr std::uint64_t kBeyond = ~std::uint64_t{0};
template <class T>
using ReadRow = std::uint64_t (*)(const Coding<T>&, const std::byte* metadata, unsigned blocks,
                                  const std::byte* from, std::uint64_t left, std::byte* values);

template <class T>
struct RowKernels {
  MeasureRow<T> measure;
  WriteRow<T> write;
  ListRow<T> list;
  ReadRow<T> read;
};

struct Kernels {
  std::string_view name;
  RowKernels<float> f32;
  RowKernels<double> f64;

  template <class T>
  const RowKernels<T>& row() const {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  }
};

// Those that this machine can run, slowest first.
std::span<const Kernels* const> available_kernels();

// The best of them, or the one that the environment variable HOMZ_SIMD names (scalar, avx2, avx512) if it is
// among them.
const Kernels& kernels();

// The bytes that a block takes, by its metadata; for bytes of no meaning more than any segment takes.
struct BlockSizes {
  static constexpr std::uint32_t kNone = 1u << 31;
  std::uint32_t of[256];

  template <unsigned kDim>
  static constexpr BlockSizes make(Mode mode) {
    BlockSizes sizes{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      Shape shape;
      const bool known = read_shape<kDim>(static_cast<std::byte>(byte), mode, shape);
      sizes.of[byte] = known ? shape.bytes(Block<kDim>::kPlaneBytes) : kNone;
    }
    return sizes;
  }
};

template <unsigned kDim, Mode kMode>
inline constexpr BlockSizes kBlockSizes = BlockSizes::make<kDim>(kMode);

template <unsigned kDim>
const BlockSizes& block_sizes(Mode mode) {
  return mode == Mode::outlier ? kBlockSizes<kDim, Mode::outlier> : kBlockSizes<kDim, Mode::plain>;
}

}  // namespace homz::cuszp
