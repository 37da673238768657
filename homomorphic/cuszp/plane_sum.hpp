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

template <unsigned kDim>
class PlaneSum {
 public:
  // What quanta amount to stays below kSumLimit, and factors are 1 or -1. At least one block, then others.
  void start(const PackedBlock& block, std::int32_t factor) {
    const Word sign = read(block, factor);
    Word carry = sign;
    for (unsigned p = 0; p < width_; ++p) {
      const Word x = planes_[p] ^ sign;
      sum_[p] = x ^ carry;
      carry &= x;
    }
    sum_[width_] = sign ^ carry;  // of the sign's own plane, which repeats without end
    used_ = width_ + 1;
    trim();
  }

  void add(const PackedBlock& block, std::int32_t factor) {
    const Word sign = read(block, factor);
    const unsigned top = std::max(used_, width_ + 1);
    for (unsigned p = used_; p <= top; ++p) sum_[p] = sum_[used_ - 1];
    for (unsigned p = width_; p <= top; ++p) planes_[p] = 0;
    Word carry = sign;
    for (unsigned p = 0; p <= top; ++p) {
      const Word a = sum_[p], x = planes_[p] ^ sign, half = a ^ x;
      sum_[p] = half ^ carry;
      carry = (a & x) | (half & carry);
    }
    used_ = top + 1;
    trim();
  }

  // Back to signs and magnitudes.
  Shape finish(Mode mode) {
    sign_ = sum_[used_ - 1];
    Word carry = sign_;
    std::uint32_t first = 0, others = 0;
    for (unsigned p = 0; p < used_; ++p) {
      const Word x = sum_[p] ^ sign_;
      sum_[p] = x ^ carry;
      carry &= x;
      first |= static_cast<std::uint32_t>((sum_[p] & kFirst) != 0) << p;
      others |= static_cast<std::uint32_t>((sum_[p] & ~kFirst) != 0) << p;
    }
    first_ = first;
    return choose_shape<kDim>(first, others, mode);
  }

  void write(const Shape& shape, std::byte* to) const {
    if (shape.zero()) return;
    for (unsigned i = 0; i < shape.outlier_bytes; ++i) *to++ = static_cast<std::byte>(first_ >> 8 * i & 0xff);
    std::memcpy(to, &sign_, sizeof(Word));
    const Word mask = shape.outlier_bytes == 0 ? ~Word{0} : ~kFirst;
    for (unsigned p = 0; p < shape.width; ++p) {
      const Word plane = sum_[p] & mask;
      std::memcpy(to += sizeof(Word), &plane, sizeof(Word));
    }
  }

 private:
  using Word = std::conditional_t<kDim == 1, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(Word) == Block<kDim>::kPlaneBytes);
  static constexpr unsigned kPlanes = 36;
  // Position 0 is the top bit of the first byte.
  static constexpr Word kFirst =
      std::endian::native == std::endian::little ? Word{0x80} : Word{1} << (8 * sizeof(Word) - 1);

  // Drops copies of the sign: the sum fits 31 bits.
  void trim() {
    while (used_ > 1 && sum_[used_ - 1] == sum_[used_ - 2]) --used_;
  }

  // The magnitudes of a block to planes_[0 .. width_); returns its signs.
  Word read(const PackedBlock& block, std::int32_t factor) {
    const Shape& shape = block.shape;
    width_ = shape.width;
    if (shape.zero()) return 0;
    Word sign;
    const std::byte* const from = block.from + shape.outlier_bytes;
    std::memcpy(&sign, from, sizeof(Word));
    std::memcpy(planes_, from + sizeof(Word), width_ * sizeof(Word));
    if (shape.outlier_bytes != 0) insert_first(block);
    return factor < 0 ? ~sign : sign;
  }
  void insert_first(const PackedBlock& block) {
    std::uint32_t size = 0;
    for (unsigned i = 0; i < block.shape.outlier_bytes; ++i)
      size |= std::to_integer<std::uint32_t>(block.from[i]) << 8 * i;
    for (; width_ < bit_width(size); ++width_) planes_[width_] = 0;
    for (unsigned p = 0; p < width_; ++p)
      planes_[p] = (planes_[p] & ~kFirst) | ((size >> p & 1) != 0 ? kFirst : 0);
  }

  Word planes_[kPlanes], sum_[kPlanes];
  Word sign_;
  unsigned width_, used_;
  std::uint32_t first_;
};

}  // namespace homz::cuszp
