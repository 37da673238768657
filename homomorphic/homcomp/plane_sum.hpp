// The sum of blocks as bit planes: a ripple-carry adder, one vector lane a block, 32 values a lane. A
// template over the vector primitives V.
#pragma once

#include <array>
#include <cstring>

#include "codecs/homcomp/block_reader.hpp"

namespace homz::homcomp {

// As many blocks as a vector has lanes, with the k-th words of all of them in a vector: first the sign
// planes, then magnitude planes, least significant first.
template <class V>
class PlaneBatch {
 public:
  static constexpr unsigned kLanes = V::kLanes;
  using Vec = typename V::Vec;

  Vec& word(unsigned k) { return rows_[k / kLanes][k % kLanes]; }
  const Vec& word(unsigned k) const { return rows_[k / kLanes][k % kLanes]; }

  // `widest`: of the blocks.
  void load(const PlaneWords (&blocks)[kLanes], unsigned widest) {
    for (unsigned group = 0; group * kLanes <= widest; ++group) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        rows_[group][lane] = load_words(blocks[lane], group * kLanes);
      V::transpose(rows_[group]);
    }
  }

  // Turns words around to a row a block: lane k of row(k / kLanes, block) is then word k of the block.
  void transpose(unsigned widest) {
    for (unsigned group = 0; group * kLanes <= widest; ++group) V::transpose(rows_[group]);
  }
  const Vec& row(unsigned group, unsigned lane) const { return rows_[group][lane]; }

 private:
  static constexpr unsigned kGroups = (1 + kBlock + kLanes - 1) / kLanes;

  // Words of a block from `first` on, zeros behind its last.
  static Vec load_words(const PlaneWords& block, unsigned first) {
    const unsigned have = 1 + block.width;
    if (have <= first) return V::all(0);
    const unsigned count = have - first < kLanes ? have - first : kLanes;
    const std::byte* const from = block.words + 4 * first;
    if (block.readable >= 4 * (first + kLanes)) [[likely]]
      return V::load(reinterpret_cast<const std::uint32_t*>(from)) & V::load(kMask.data() + kLanes - count);
    std::uint32_t together[kLanes] = {};
    std::memcpy(together, from, 4 * count);
    return V::load(together);
  }

  static constexpr std::array<std::uint32_t, 2 * kLanes> kMask = [] {  // ones, then zeros
    std::array<std::uint32_t, 2 * kLanes> words{};
    for (unsigned i = 0; i < kLanes; ++i) words[i] = ~0u;
    return words;
  }();

  Vec rows_[kGroups][kLanes];
};

// In two's complement modulo 2^32. With x = m xor s for magnitude bits m and signs s, a negative number is x
// + 1: so every term costs one pass of full adders whose first carry is its sign.
template <class V>
class PlaneSum {
 public:
  using Vec = typename V::Vec;

  unsigned width() const { return width_; }  // planes, the last of which is the sign

  // `flip`: all ones to subtract, else 0.
  void add(const PlaneBatch<V>& term, unsigned term_width, std::uint32_t flip) {
    const Vec sign = term.word(0) ^ V::all(flip);
    if (width_ == 0) return set(term, term_width, sign);
    const unsigned wanted = (width_ > term_width + 1 ? width_ : term_width + 1) + 1;
    const unsigned width = wanted < kBlock ? wanted : kBlock;
    for (; width_ < width; ++width_) planes_[width_] = planes_[width_ - 1];
    Vec carry = sign;
    unsigned k = 0;
    for (; k < term_width && k < width; ++k) add_plane(planes_[k], term.word(1 + k) ^ sign, carry);
    for (; k < width; ++k) add_plane(planes_[k], sign, carry);
  }

  // As signs and magnitudes, in the order of PlaneBatch, with zeros up to a multiple of the lanes.
  void finish(PlaneBatch<V>& to) const {
    const Vec sign = planes_[width_ - 1];
    to.word(0) = sign;
    Vec carry = sign;
    for (unsigned k = 0; k < width_; ++k) {
      const Vec bits = planes_[k] ^ sign;
      to.word(1 + k) = bits ^ carry;
      carry &= bits;
    }
    for (unsigned k = 1 + width_; k % V::kLanes != 0; ++k) to.word(k) = V::all(0);
  }

 private:
  void set(const PlaneBatch<V>& term, unsigned term_width, Vec sign) {
    width_ = term_width < kBlock ? term_width + 1 : kBlock;
    Vec carry = sign;
    for (unsigned k = 0; k < width_; ++k) {
      const Vec bits = k < term_width ? term.word(1 + k) ^ sign : sign;
      planes_[k] = bits ^ carry;
      carry &= bits;
    }
  }

  static void add_plane(Vec& sum, Vec bits, Vec& carry) {
    const Vec half = sum ^ bits;
    const Vec both = sum & bits;
    sum = half ^ carry;
    carry = both | (half & carry);
  }

  unsigned width_ = 0;
  Vec planes_[kBlock];
};

}  // namespace homz::homcomp
