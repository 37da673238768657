// The mathematics of one block, for host and device: quanta, residuals, codes and where every bit stands.
// spec.md is normative in words, this file in code; the vector kernels are tested against it. Floating point
// appears in the first part only, as single IEEE operations; the rest is integer arithmetic modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bits.hpp"
#include "core/bound_check.hpp"
#include "core/hd.hpp"

namespace homz::homcomp {

inline constexpr unsigned kBlock = 32;                  // values
inline constexpr std::int32_t kQuantumLimit = 1 << 30;  // |quantum| is below it

HOMZ_HD constexpr std::uint32_t first_bits(unsigned count) {  // the mask of the first positions of a block
  return count >= kBlock ? ~0u : (1u << count) - 1;
}

// ---- Quanta

template <class T>
struct Quantiser {
  T step;
  T reciprocal;
  T safe;  // the largest T that does not exceed abs_error
  double abs_error;
};

template <class T>
HOMZ_HD inline T restore(std::int32_t quantum, T step) {
  return static_cast<T>(quantum) * step;
}

template <class T>
HOMZ_HD inline bool may_stand_for(std::int32_t quantum, T x, const Quantiser<T>& by) {
  return quantum < kQuantumLimit && quantum > -kQuantumLimit &&
         within_bound(static_cast<double>(x), static_cast<double>(restore(quantum, by.step)), by.abs_error);
}

// For |value| <= 2^31 - 1: adding 1.5 x 2^52 leaves no room for a fraction.
HOMZ_HD inline std::int32_t round_to_even(double value) {
  return static_cast<std::int32_t>((value + 0x1.8p52) - 0x1.8p52);
}

// Finds a quantum for x, or tells that x must be stored exactly: the nearest one, else its neighbour on the
// side of x, which often keeps the bound where the nearest misses it by rounding.
template <class T>
HOMZ_HD inline bool quantise(T x, const Quantiser<T>& by, std::int32_t& quantum) {
  const T scaled = x * by.reciprocal;
  if (!(scaled <= static_cast<T>(kQuantumLimit) && scaled >= static_cast<T>(-kQuantumLimit))) return false;
  const std::int32_t nearest = round_to_even(static_cast<double>(scaled));
  quantum = nearest;
  if (may_stand_for(quantum, x, by)) return true;
  quantum = restore(nearest, by.step) < x ? nearest + 1 : nearest - 1;
  return may_stand_for(quantum, x, by);
}

// ---- Residuals

HOMZ_HD inline std::uint32_t magnitude(std::int32_t residual) {
  const auto bits = static_cast<std::uint32_t>(residual);
  return residual < 0 ? 0 - bits : bits;
}

HOMZ_HD inline std::int32_t with_sign(std::uint32_t size, bool negative) {
  return static_cast<std::int32_t>(negative ? 0 - size : size);
}

// ---- Codes. Bits 0-5 say how the residuals are stored, bits 6 and 7 that masks stand in front of them.

inline constexpr std::uint8_t kZero = 0;      // all residuals 0; 1-15: sparse
inline constexpr std::uint8_t kDense = 16;    // + width, 2 to 32
inline constexpr std::uint8_t kAllFill = 63;  // residuals 0, every value the fill value
inline constexpr std::uint8_t kFillMask = 64, kExactMask = 128;

HOMZ_HD constexpr bool is_sparse(std::uint8_t code) {
  const unsigned form = code & 63;
  return form != kZero && form < kDense;
}
HOMZ_HD constexpr bool is_dense(std::uint8_t code) {
  const unsigned form = code & 63;
  return form > kDense && form != kAllFill;
}
HOMZ_HD constexpr unsigned width_of(std::uint8_t code) {
  const unsigned form = code & 63;
  return is_dense(code) ? form - kDense : is_sparse(code) ? 1 : 0;
}
HOMZ_HD constexpr bool is_code(std::uint8_t code) {
  const unsigned form = code & 63;
  return form < kDense || (form >= kDense + 2 && form <= kDense + 32) || code == kAllFill;
}
// Words of masks and planes.
HOMZ_HD constexpr unsigned words_of(std::uint8_t code) {
  if (code == kAllFill) return 0;
  return (code >> 6 & 1u) + (code >> 7 & 1u) + (is_dense(code) ? width_of(code) + 1 : 0);
}

// ---- Bit planes: bit i of a plane belongs to value i.

struct Planes {
  unsigned width = 0;         // planes that are not zero: of the largest magnitude
  std::uint32_t signs = 0;    // set: negative
  std::uint32_t plane[32]{};  // of the magnitudes, least significant first
};

HOMZ_HD inline Planes slice(const std::int32_t (&residuals)[kBlock]) {
  Planes planes;
  for (unsigned i = 0; i < kBlock; ++i) {
    const std::uint32_t size = magnitude(residuals[i]);
    planes.signs |= static_cast<std::uint32_t>(residuals[i] < 0) << i;
    for (unsigned p = 0; p < 32; ++p) planes.plane[p] |= (size >> p & 1) << i;
  }
  for (unsigned p = 0; p < 32; ++p)
    if (planes.plane[p] != 0) planes.width = p + 1;
  return planes;
}

HOMZ_HD inline void join(const Planes& planes, std::int32_t (&residuals)[kBlock]) {
  for (unsigned i = 0; i < kBlock; ++i) {
    std::uint32_t size = 0;
    for (unsigned p = 0; p < planes.width; ++p) size |= (planes.plane[p] >> i & 1) << p;
    residuals[i] = with_sign(size, (planes.signs >> i & 1) != 0);
  }
}

// ---- The sparse form of a block of width 1: the bytes of its plane that are not 0, and the signs of its
// non-zero residuals, closed up.

HOMZ_HD inline std::uint32_t bits_where(std::uint32_t bits, std::uint32_t mask) {  // BMI2's pext
  std::uint32_t packed = 0;
  for (std::uint32_t at = 1; mask != 0; mask &= mask - 1, at <<= 1)
    if ((bits & mask & (0 - mask)) != 0) packed |= at;
  return packed;
}

HOMZ_HD inline std::uint32_t bits_to(std::uint32_t packed, std::uint32_t mask) {  // BMI2's pdep
  std::uint32_t bits = 0;
  for (; mask != 0; mask &= mask - 1, packed >>= 1)
    if ((packed & 1) != 0) bits |= mask & (0 - mask);
  return bits;
}

HOMZ_HD inline unsigned count_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popc(bits));
#else
  return static_cast<unsigned>(std::popcount(bits));
#endif
}

HOMZ_HD inline std::uint8_t sparse_code(std::uint32_t plane) {
  unsigned code = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    code |= static_cast<unsigned>((plane >> 8 * byte & 0xff) != 0) << byte;
  return static_cast<std::uint8_t>(code);
}

// The bits of the plane that the code names: ff in each byte that is not zero.
HOMZ_HD inline std::uint32_t sparse_bytes_mask(std::uint8_t code) {
  return ((code & 15u) * 0x204081u & 0x01010101u) * 0xffu;
}

}  // namespace homz::homcomp
