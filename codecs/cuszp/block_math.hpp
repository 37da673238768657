// The block code of cuSZp: quanta, residuals, widths and bit planes of one block, for host and device.
// spec.md, "Quanta" and "Blocks", is normative. Floating point appears in Quantiser only,
// as single IEEE operations; everything else is unsigned integer arithmetic modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz::cuszp {

enum class Mode : std::uint8_t {  // the values are part of the stream format
  fixed = 0,                      // residual = quantum
  plain = 1,                      // residual = quantum - predictor's quantum
  outlier = 2,                    // the same, and value 0 of a block may stand aside as whole bytes
};

// The numbers that depend on the dimension of the blocks: 32 in a row, 8x8 or 4x4x4.
template <unsigned kDim>
struct Block {
  static_assert(kDim >= 1 && kDim <= 3);
  static constexpr unsigned kValues = kDim == 1 ? 32 : 64;
  static constexpr unsigned kWords = kValues / 32;     // 32-bit words of a bit plane
  static constexpr unsigned kPlaneBytes = 4 * kWords;  // bytes of a bit plane, and of the sign map
  static constexpr unsigned kMaxWidth = kDim == 1 ? 31 : 32;
  static constexpr unsigned kMaxBytes = kPlaneBytes * (1 + kMaxWidth);

  using Values = std::uint32_t[kValues];  // quanta or residuals, two's complement

  // The position that predicts position i > 0: the left neighbour; at the head of a row the head of the row
  // above, at the head of a slice the head of the slice below.
  HOMZ_HD static constexpr unsigned predictor(unsigned i) {
    constexpr unsigned kRow = kDim == 1 ? 32 : kDim == 2 ? 8 : 4;
    constexpr unsigned kSlice = kDim == 3 ? 16 : kValues;
    return i % kRow != 0 ? i - 1 : i % kSlice != 0 ? i - kRow : i - kSlice;
  }
};

// Rounding to multiples of twice the bound, exactly as upstream's kernels do it.
template <class T>
struct Quantiser {
  T bound;
  T reciprocal;

  // Upstream takes the bound in the data's type. For f32 the nearest float may exceed `abs_error`: whoever
  // owes `abs_error` checks every value with within_bound().
  explicit Quantiser(double abs_error)
      : bound(abs_error < std::numeric_limits<T>::max() ? static_cast<T>(abs_error)
                                                        : std::numeric_limits<T>::max()),
        reciprocal(T(0.5) / bound) {}

  // Half away from zero, but -0.5 becomes 0. Out of range follows PTX: the conversion saturates, NaN converts
  // to 0 from f32 and to -2^31 from f64, and the subtraction wraps. No branches: compilers vectorise it.
  HOMZ_HD std::uint32_t quantise(T x) const {
    constexpr T kEnd = T(2147483648.0);
    constexpr T kLast =
        sizeof(T) == 4 ? T(2147483520.0) : T(2147483647.0);  // below kEnd, its integer part too
    const T scaled = x * reciprocal;
    const T shifted = scaled + T(0.5);
#if defined(__CUDA_ARCH__)  // PTX's own rules
    if constexpr (sizeof(T) == 4) {
      auto whole = static_cast<std::uint32_t>(__float2int_rz(shifted));
      asm("{ .reg .pred below; setp.ltu.f32 below, %1, 0fBF000000; @below add.u32 %0, %0, -1; }"
          : "+r"(whole)
          : "f"(scaled));  // one instruction less than from the operators
      return whole;
    } else {
      return static_cast<std::uint32_t>(__double2int_rz(shifted)) - (scaled >= T(-0.5) ? 0u : 1u);
    }
#else
    const T raised = shifted > -kEnd ? shifted : -kEnd;
    auto whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(raised < kLast ? raised : kLast));
    if (sizeof(T) == 4) {
      whole = shifted >= kEnd ? 0x7fffffffu : whole;
      whole = shifted == shifted ? whole : 0u;
    }
    return whole - (scaled >= T(-0.5) ? 0u : 1u);
#endif
  }

  HOMZ_HD T restore(std::uint32_t quantum) const {
    return (static_cast<T>(static_cast<std::int32_t>(quantum)) * bound) * T(2);
  }
};

// Gives the positions without a value of their own (fill, or outside the array) the quanta that cost least:
// residual 0. A vacant position 0 takes the first quantum of the block, so that the step to it is paid once.
template <unsigned kDim>
HOMZ_HD inline void settle_vacant(typename Block<kDim>::Values& quanta, std::uint64_t vacant, Mode mode) {
  constexpr unsigned kValues = Block<kDim>::kValues;
  if ((vacant & 1) != 0) {
    unsigned first = 0;
    while (first < kValues && (vacant >> first & 1) != 0) ++first;
    quanta[0] = first < kValues && mode != Mode::fixed ? quanta[first] : 0;
  }
  for (unsigned i = 1; i < kValues; ++i)
    if ((vacant >> i & 1) != 0) quanta[i] = mode == Mode::fixed ? 0 : quanta[Block<kDim>::predictor(i)];
}

// Residuals and back. `residuals` and `quanta` are two's complement, and all of it is modulo 2^32.
template <unsigned kDim>
HOMZ_HD inline void find_residuals(const typename Block<kDim>::Values& quanta, Mode mode,
                                   typename Block<kDim>::Values& residuals) {
  const std::uint32_t predicted = mode == Mode::fixed ? 0 : ~0u;
  residuals[0] = quanta[0];
  for (unsigned i = 1; i < Block<kDim>::kValues; ++i)
    residuals[i] = quanta[i] - (quanta[Block<kDim>::predictor(i)] & predicted);
}

template <unsigned kDim>
HOMZ_HD inline void undo_residuals(const typename Block<kDim>::Values& residuals, Mode mode,
                                   typename Block<kDim>::Values& quanta) {
  const std::uint32_t predicted = mode == Mode::fixed ? 0 : ~0u;
  quanta[0] = residuals[0];
  for (unsigned i = 1; i < Block<kDim>::kValues; ++i)
    quanta[i] = residuals[i] + (quanta[Block<kDim>::predictor(i)] & predicted);
}

inline constexpr std::uint32_t kTopBit = 0x80000000u;

// The magnitude of a residual as the block code has it: 1D blocks have no plane 31 and lose the magnitude of
// -2^31.
template <unsigned kDim>
HOMZ_HD inline std::uint32_t magnitude(std::uint32_t residual) {
  const std::uint32_t size = (residual & kTopBit) != 0 ? 0 - residual : residual;
  return kDim == 1 ? size & ~kTopBit : size;
}

// Replaces what the block code loses by what the decoder will read. False if nothing is lost, as nearly
// always.
template <unsigned kDim>
HOMZ_HD inline bool lose_magnitudes(typename Block<kDim>::Values& residuals) {
  if (kDim != 1) return false;
  bool lost = false;
  for (const std::uint32_t residual : residuals) lost |= residual == kTopBit;
  if (lost)
    for (std::uint32_t& residual : residuals) residual = residual == kTopBit ? 0 : residual;
  return lost;
}

// What the metadata byte of a block says.
struct Shape {
  std::uint32_t width = 0;          // bit planes
  std::uint32_t outlier_bytes = 0;  // magnitude of value 0, in front of the sign map; 0: among the others

  HOMZ_HD constexpr bool zero() const { return width == 0 && outlier_bytes == 0; }
  HOMZ_HD constexpr std::uint32_t bytes(std::uint32_t plane_bytes) const {
    return zero() ? 0 : outlier_bytes + plane_bytes * (1 + width);
  }
  HOMZ_HD std::byte metadata() const {
    return static_cast<std::byte>(outlier_bytes == 0 ? width : 0x80 | (outlier_bytes - 1) << 5 | width);
  }
};

// False for a byte that no encoder writes. 0x20 is a plain block of width 32 in every mode: an outlier block
// always has a width below 32, since with 32 planes for values 1.. the plain block has 32 too and no outlier
// bytes.
template <unsigned kDim>
HOMZ_HD constexpr bool read_shape(std::byte metadata, Mode mode, Shape& out) {
  const auto byte = static_cast<std::uint32_t>(metadata);
  if (mode == Mode::outlier && byte >> 7 != 0) {
    out = Shape{byte & 31, (byte >> 5 & 3) + 1};
    return true;
  }
  out = Shape{byte, 0};
  return byte <= Block<kDim>::kMaxWidth;
}

// From the magnitude of value 0 and the union of the bits of all others, whose width is that of their
// maximum.
template <unsigned kDim>
HOMZ_HD inline Shape choose_shape(std::uint32_t first, std::uint32_t others, Mode mode) {
  constexpr std::uint32_t kPlaneBytes = Block<kDim>::kPlaneBytes;
  const Shape plain{bit_width(others | first), 0};
  if (mode != Mode::outlier) return plain;
  const Shape aside{bit_width(others), ceil_div(bit_width(first), 8u)};
  return plain.bytes(kPlaneBytes) <= aside.bytes(kPlaneBytes) ? plain : aside;
}

template <unsigned kDim>
HOMZ_HD inline Shape choose_shape(const typename Block<kDim>::Values& residuals, Mode mode) {
  std::uint32_t others = 0;
  for (unsigned i = 1; i < Block<kDim>::kValues; ++i) others |= magnitude<kDim>(residuals[i]);
  return choose_shape<kDim>(magnitude<kDim>(residuals[0]), others, mode);
}

// One exchange step of transpose(): 2x2 blocks of kSide x kSide bits.
template <unsigned kSide>
HOMZ_HD inline void exchange(std::uint32_t (&rows)[32]) {
  constexpr std::uint32_t kRight =
      0xffffffffu / ((1u << kSide) + 1);  // the right half of each pair of blocks
  for (unsigned top = 0; top < 32; top += 2 * kSide)
    for (unsigned k = top; k < top + kSide; ++k) {
      const std::uint32_t swapped = (rows[k] ^ rows[k + kSide] >> kSide) & kRight;
      rows[k] ^= swapped;
      rows[k + kSide] ^= swapped << kSide;
    }
}

// Transposes a 32x32 bit matrix, column 0 in the top bits. Row j of transposed magnitudes is bit plane 31 -
// j.
HOMZ_HD inline void transpose(std::uint32_t (&rows)[32]) {
  exchange<16>(rows);
  exchange<8>(rows);
  exchange<4>(rows);
  exchange<2>(rows);
  exchange<1>(rows);
}

// Words of planes and sign maps: value 0 in the top bit of the first byte.
HOMZ_HD inline void store_plane_word(std::byte* to, std::uint32_t word) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(word >> (24 - 8 * i) & 0xff);
}

HOMZ_HD inline std::uint32_t load_plane_word(const std::byte* from) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) word = word << 8 | static_cast<std::uint32_t>(from[i]);
  return word;
}

// Writes the shape.bytes() bytes of a block. Signs take the place of plane 31 in the transposition; a set bit
// of that plane belongs to a residual of -2^31, the only one that is negative without any lower bit.
template <unsigned kDim>
HOMZ_HD inline void pack(const typename Block<kDim>::Values& residuals, Shape shape, std::byte* to) {
  constexpr unsigned kPlaneBytes = Block<kDim>::kPlaneBytes;
  if (shape.zero()) return;
  for (unsigned i = 0; i < shape.outlier_bytes; ++i)
    *to++ = static_cast<std::byte>(magnitude<kDim>(residuals[0]) >> (8 * i) & 0xff);
  for (unsigned w = 0; w < Block<kDim>::kWords; ++w, to += 4) {
    std::uint32_t rows[32];
    for (unsigned i = 0; i < 32; ++i) {
      const std::uint32_t residual = residuals[32 * w + i];
      rows[i] = (residual & kTopBit) | (magnitude<kDim>(residual) & ~kTopBit);
    }
    if (w == 0 && shape.outlier_bytes != 0) rows[0] &= kTopBit;
    transpose(rows);
    store_plane_word(to, rows[0]);
    const unsigned planes = shape.width < 32 ? shape.width : 31;
    for (unsigned plane = 0; plane < planes; ++plane)
      store_plane_word(to + kPlaneBytes * (1 + plane), rows[31 - plane]);
    if (shape.width < 32) continue;
    std::uint32_t lower = 0;
    for (unsigned plane = 0; plane < 31; ++plane) lower |= rows[31 - plane];
    store_plane_word(to + kPlaneBytes * 32, rows[0] & ~lower);
  }
}

// The inverse: reads shape.bytes() bytes.
template <unsigned kDim>
HOMZ_HD inline void unpack(const std::byte* from, Shape shape, typename Block<kDim>::Values& residuals) {
  constexpr unsigned kPlaneBytes = Block<kDim>::kPlaneBytes;
  std::uint32_t outlier = 0;
  for (unsigned i = 0; i < shape.outlier_bytes; ++i)
    outlier |= static_cast<std::uint32_t>(*from++) << (8 * i);
  for (unsigned w = 0; w < Block<kDim>::kWords; ++w, from += 4) {
    std::uint32_t rows[32] = {};
    rows[0] = load_plane_word(from);
    const unsigned planes = shape.width < 32 ? shape.width : 31;
    for (unsigned plane = 0; plane < planes; ++plane)
      rows[31 - plane] = load_plane_word(from + kPlaneBytes * (1 + plane));
    transpose(rows);
    const std::uint32_t plane31 = shape.width < 32 ? 0 : load_plane_word(from + kPlaneBytes * 32);
    for (unsigned i = 0; i < 32; ++i) {
      std::uint32_t size = (rows[i] & ~kTopBit) | (plane31 << i & kTopBit);
      if (i + w == 0 && shape.outlier_bytes != 0) size = outlier;
      residuals[32 * w + i] = (rows[i] & kTopBit) != 0 ? 0 - size : size;
    }
  }
}

}  // namespace homz::cuszp
