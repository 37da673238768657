// The functions that coding spends its time in, for each instruction set: whole blocks, in a row at most a
// segment of them. All sets give the same bytes and values; the best one that the machine has is
// chosen once. They take bounds that have a step (Coding::has_step) only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

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
  BlockMask filled;    // blocks of nothing but the fill value, without bytes
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

// What the kernels share with each other, whatever their instruction set.

// Whether a quantum is what V::quantise gives for numbers out of range: -2^31, or that less 1.
inline bool is_out_of_range(std::uint32_t quantum) {
  return quantum + kTopBit + 1 <= 1;
}

// The shape of a block by its first residual and the union of the magnitudes of the residuals; in mode
// outlier of all but the first. In a row the width may be found to be 32: then a residual is -2^31.
template <unsigned kDim, Mode kMode>
Shape shape_from(std::uint32_t residual, std::uint32_t magnitudes) {
  constexpr std::uint32_t kPlaneBytes = Block<kDim>::kPlaneBytes;
  const std::uint32_t width = bit_width(magnitudes);
  if (kMode != Mode::outlier) return Shape{width, 0};
  const std::uint32_t first = (residual & kTopBit) != 0 ? 0 - residual : residual;
  const Shape plain{bit_width(magnitudes | first), 0};
  const Shape aside{width, ceil_div(bit_width(first), 8u)};
  const bool is_aside = aside.outlier_bytes + kPlaneBytes * aside.width < kPlaneBytes * plain.width;
  return is_aside && plain.width <= Block<kDim>::kMaxWidth ? aside : plain;
}

// The magnitude of the first residual, which stands aside, and its sign in the plane behind it.
inline void store_outlier(std::uint32_t residual, unsigned bytes, std::byte* to) {
  const std::uint32_t size = (residual & kTopBit) != 0 ? 0 - residual : residual;
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(size >> 8 * i & 0xff);
  to[bytes] |= static_cast<std::byte>(residual >> 31 << 7);
}

inline std::uint32_t load_outlier(const std::byte* from, unsigned bytes) {
  std::uint32_t size = 0;
  for (unsigned i = 0; i < bytes; ++i) size |= std::to_integer<std::uint32_t>(from[i]) << 8 * i;
  return (std::to_integer<unsigned>(from[bytes]) & 0x80) != 0 ? 0 - size : size;
}

// ---- Tiles and cubes: one block of 64 values at a time

// Its shape, and which values do not come back within the bound; false if it is one for CodedBlock.
template <class T>
using MeasureTile = bool (*)(const Coding<T>&, const T* values, Shape&, std::uint64_t& exact);

// May write kBehindTile bytes more than the block has.
inline constexpr unsigned kBehindTile = 8 * 8;
template <class T>
using PackTile = void (*)(const Coding<T>&, const T* values, Shape, std::byte* to);

template <class T>
using UnpackTile = void (*)(const Coding<T>&, Shape, const std::byte* from, T* values);

template <class T>
struct TileKernels {  // all of them, or none
  MeasureTile<T> measure = nullptr;
  PackTile<T> pack = nullptr;
  UnpackTile<T> unpack = nullptr;
};

template <class T>
struct RowKernels {
  MeasureRow<T> measure;
  WriteRow<T> write;
  ListRow<T> list;
  ReadRow<T> read;
};

template <class T>
struct KernelsFor {
  RowKernels<T> row;
  TileKernels<T> tile, cube;

  template <unsigned kDim>
  const TileKernels<T>& tiles() const {
    return kDim == 2 ? tile : cube;
  }
};

struct Kernels {
  std::string_view name;
  KernelsFor<float> f32;
  KernelsFor<double> f64;

  template <class T>
  const KernelsFor<T>& of() const {
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
