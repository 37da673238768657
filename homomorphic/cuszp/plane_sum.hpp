// The sum of blocks as they stand in payloads, all positions of a plane at once: docs/homomorphic.md, "Adding
// bit planes". Bits of a plane stay in the order of the stream.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "homomorphic/cuszp/operand_block.hpp"
#include "homomorphic/linear.hpp"

namespace homz::cuszp {

// The most that a quantum of a block can amount to: residuals along the longest path of predictors.
template <unsigned kDim>
std::uint64_t reach_of(const Shape& shape, Mode mode) {
  constexpr unsigned kPath = kDim == 1 ? 32 : kDim == 2 ? 15 : 10;
  const std::uint64_t most = (std::uint64_t{1} << shape.width) - 1;
  const std::uint64_t aside = shape.outlier_bytes == 0 ? 0 : std::uint64_t{1} << 8 * shape.outlier_bytes;
  return aside + (mode == Mode::fixed ? 1 : kPath) * most;
}

// Turns the signs of a packed block round; 0 remains positive.
template <unsigned kDim>
void negate(const Shape& shape, std::byte* block) {
  constexpr unsigned kPlaneBytes = Block<kDim>::kPlaneBytes;
  std::byte* const signs = block + shape.outlier_bytes;
  for (unsigned i = 0; i < kPlaneBytes; ++i) {
    std::byte any{};
    for (unsigned p = 1; p <= shape.width; ++p) any |= signs[p * kPlaneBytes + i];
    if (i == 0 && shape.outlier_bytes != 0) any |= std::byte{0x80};  // stands aside since it is not 0
    signs[i] = (signs[i] ^ any) & any;
  }
}

// Two blocks to begin with, then others. What quanta amount to stays below kSumLimit; factors are 1 or -1.
template <unsigned kDim>
class PlaneSum {
 public:
  // Numbers in two's complement: planes xor signs, plus the signs, for both at once.
  void start(const PackedBlock& a, std::int32_t factor_a, const PackedBlock& b, std::int32_t factor_b) {
    Word aside_a[kPlanes], aside_b[kPlanes];
    Term wide = read(a, factor_a, aside_a), narrow = read(b, factor_b, aside_b);
    if (wide.width < narrow.width) std::swap(wide, narrow);
    Word carry_to_wide = wide.sign, carry = narrow.sign;
    const auto add = [&](unsigned p, Word x, Word y) {
      const Word number = x ^ carry_to_wide, half = number ^ y;
      carry_to_wide &= x;
      sum_[p] = half ^ carry;
      carry = (number & y) | (half & carry);
    };
    for (unsigned p = 0; p < narrow.width; ++p) add(p, wide.plane(p), narrow.plane(p));
    for (unsigned p = narrow.width; p < wide.width; ++p) add(p, wide.plane(p), narrow.sign);
    add(wide.width, wide.sign, narrow.sign);
    add(wide.width + 1, wide.sign, narrow.sign);
    used_ = wide.width + 2;
  }

  void add(const PackedBlock& block, std::int32_t factor) {
    Word aside[kPlanes];
    const Term term = read(block, factor, aside);
    trim();
    const unsigned top = std::max(used_, term.width + 1);
    for (unsigned p = used_; p <= top; ++p) sum_[p] = sum_[used_ - 1];
    Word carry = term.sign;
    const auto add = [&](unsigned p, Word x) {
      const Word a = sum_[p], half = a ^ x;
      sum_[p] = half ^ carry;
      carry = (a & x) | (half & carry);
    };
    for (unsigned p = 0; p < term.width; ++p) add(p, term.plane(p));
    for (unsigned p = term.width; p <= top; ++p) add(p, term.sign);
    used_ = top + 1;
  }

  // The packed block; may write as many planes as the sum takes for the time being.
  Shape write(Mode mode, std::byte* to) {
    const Word sign = sum_[used_ - 1];
    Word carry = sign;
    unsigned first = 0, others = 0;  // widths
    for (unsigned p = 0; p < used_; ++p) {
      const Word x = sum_[p] ^ sign, plane = x ^ carry;
      carry &= x;
      sum_[p] = plane;
      if (mode == Mode::outlier && (plane & kFirst) != 0) first = p + 1;
      if ((mode == Mode::outlier ? plane & ~kFirst : plane) != 0) others = p + 1;
    }
    const auto of_width = [](unsigned width) { return (1u << width) - 1; };
    const Shape shape = choose_shape<kDim>(of_width(first), of_width(others), mode);
    if (shape.zero()) return shape;
    Word mask = ~Word{0};
    if (shape.outlier_bytes != 0) {
      mask = ~kFirst;
      std::uint32_t size = 0;
      for (unsigned p = 0; p < first; ++p) size |= std::uint32_t{(sum_[p] & kFirst) != 0} << p;
      for (unsigned i = 0; i < shape.outlier_bytes; ++i) *to++ = static_cast<std::byte>(size >> 8 * i & 0xff);
    }
    std::memcpy(to, &sign, sizeof(Word));
    for (unsigned p = 0; p < shape.width; ++p) {
      const Word plane = sum_[p] & mask;
      std::memcpy(to += sizeof(Word), &plane, sizeof(Word));
    }
    return shape;
  }

 private:
  using Word = std::conditional_t<kDim == 1, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(Word) == Block<kDim>::kPlaneBytes);
  static constexpr unsigned kPlanes = 36;
  // Position 0 is the top bit of the first byte.
  static constexpr Word kFirst =
      std::endian::native == std::endian::little ? Word{0x80} : Word{1} << (8 * sizeof(Word) - 1);

  struct Term {
    Word sign;  // the other way round for a factor of -1, which turns two's complement round, too
    unsigned width;
    const std::byte* planes;

    Word plane(unsigned p) const { return load_value<Word>(planes + p * sizeof(Word)) ^ sign; }
  };

  // Drops copies of the sign: the sum fits 31 bits.
  void trim() {
    while (used_ > 1 && sum_[used_ - 1] == sum_[used_ - 2]) --used_;
  }

  // `room`: for planes with the magnitude of position 0 among the others.
  static Term read(const PackedBlock& block, std::int32_t factor, Word (&room)[kPlanes]) {
    const Shape& shape = block.shape;
    const std::byte* const from = block.from + shape.outlier_bytes;
    const Word sign = load_value<Word>(from);
    Term term{factor < 0 ? ~sign : sign, shape.width, from + sizeof(Word)};
    if (shape.outlier_bytes == 0) return term;
    std::uint32_t size = 0;
    for (unsigned i = 0; i < shape.outlier_bytes; ++i)
      size |= std::to_integer<std::uint32_t>(block.from[i]) << 8 * i;
    term.width = std::max(shape.width, bit_width(size));
    for (unsigned p = 0; p < term.width; ++p) {
      const Word plane = p < shape.width ? load_value<Word>(term.planes + p * sizeof(Word)) & ~kFirst : 0;
      room[p] = plane | ((size >> p & 1) != 0 ? kFirst : 0);
    }
    term.planes = reinterpret_cast<const std::byte*>(room);
    return term;
  }

  Word sum_[kPlanes];
  unsigned used_;
};

}  // namespace homz::cuszp
