// The sum of blocks as bit planes: ripple-carry adders, one vector lane a block, 32 values a lane. Templates
// over the vector primitives V.
//
// Numbers are signs and magnitudes in streams, two's complement modulo 2^32 while they are added. With
// x = m xor s for magnitude bits m and signs s, the number is x + s: so every term costs one pass of full
// adders whose first carry is its sign.
#pragma once

#include <array>
#include <cstring>

#include "codecs/homcomp/block_reader.hpp"

namespace homz::homcomp {

// As many blocks as a vector has lanes: their sign planes in a vector, the k-th magnitude planes in another.
template <class V>
class PlaneBatch {
 public:
  static constexpr unsigned kLanes = V::kLanes;
  using Vec = typename V::Vec;

  Vec signs;
  Vec& plane(unsigned k) { return rows_[k / kLanes][k % kLanes]; }
  const Vec& plane(unsigned k) const { return rows_[k / kLanes][k % kLanes]; }

  // The first `count` planes, a multiple of the lanes; zeros above the width of a block.
  [[gnu::always_inline]] inline void load(const PlaneWords (&blocks)[kLanes], unsigned count) {
    const std::byte* words[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) words[lane] = blocks[lane].words;
    signs = V::gather(words);
    for (unsigned group = 0; group * kLanes < count; ++group) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        rows_[group][lane] = load_planes(blocks[lane], group * kLanes);
      V::transpose(rows_[group]);
    }
  }
  // The same of a run that is nowhere wider.
  template <unsigned kCount>
  [[gnu::always_inline]] inline void load(const DenseRun<V>& run) {
    const std::byte* words[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) words[lane] = run.words + run.offsets[lane];
    signs = V::gather(words);
    for (unsigned group = 0; group * kLanes < kCount; ++group) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        rows_[group][lane] =
            V::load(reinterpret_cast<const std::uint32_t*>(words[lane] + 4 * (1 + group * kLanes)));
      V::transpose(rows_[group]);
      for (unsigned k = 0; k < kLanes; ++k)
        rows_[group][k] &= V::above(run.widths, V::all(group * kLanes + k));
    }
  }

  // The same of blocks some of which are sparse: their only plane and signs.
  template <unsigned kCount>
  [[gnu::always_inline]] inline void load(const DenseRun<V>& run,
                                          const std::uint32_t (&sparse_planes)[kLanes],
                                          const std::uint32_t (&sparse_signs)[kLanes]) {
    load<kCount>(run);
    signs = V::where_not_zero(run.widths, signs) | V::load(sparse_signs);
    rows_[0][0] |= V::load(sparse_planes);
  }

  // Turns planes around to a row a block: lane k of row(group, block) is then plane group * kLanes + k.
  [[gnu::always_inline]] inline void transpose(unsigned count) {
    for (unsigned group = 0; group * kLanes < count; ++group) V::transpose(rows_[group]);
  }
  const Vec& row(unsigned group, unsigned lane) const { return rows_[group][lane]; }

 private:
  [[gnu::always_inline]] static inline Vec load_planes(const PlaneWords& block, unsigned first) {
    if (first != 0 && block.width <= first) return V::all(0);
    const unsigned left = block.width - first;
    const std::byte* const from = block.words + 4 * (1 + first);
    if (block.readable >= 4 * (1 + first + kLanes)) [[likely]]
      return V::load(reinterpret_cast<const std::uint32_t*>(from)) & V::load(kMask.data() + kBlock - left);
    std::uint32_t together[kLanes] = {};
    std::memcpy(together, from, 4 * (left < kLanes ? left : kLanes));
    return V::load(together);
  }

  static constexpr std::array<std::uint32_t, kBlock + kLanes> kMask = [] {  // ones, then zeros
    std::array<std::uint32_t, kBlock + kLanes> words{};
    for (unsigned i = 0; i < kBlock; ++i) words[i] = ~0u;
    return words;
  }();

  Vec rows_[kBlock / kLanes][kLanes];
};

template <class V>
[[gnu::always_inline]] inline typename V::Vec full_add(typename V::Vec a, typename V::Vec b,
                                                       typename V::Vec& carry) {
  const typename V::Vec half = a ^ b;
  const typename V::Vec sum = half ^ carry;
  carry = (a & b) | (half & carry);
  return sum;
}
template <class V>
[[gnu::always_inline]] inline typename V::Vec half_add(typename V::Vec a, typename V::Vec& carry) {
  const typename V::Vec sum = a ^ carry;
  carry &= a;
  return sum;
}

// Any number of terms of any width.
template <class V>
class PlaneSum {
 public:
  using Vec = typename V::Vec;

  // `flip`: all ones to subtract, else 0.
  void add(const PlaneBatch<V>& term, unsigned term_width, Vec flip) {
    const Vec sign = term.signs ^ flip;
    if (width_ == 0) return set(term, term_width, sign);
    const unsigned wanted = (width_ > term_width + 1 ? width_ : term_width + 1) + 1;
    const unsigned width = wanted < kBlock ? wanted : kBlock;
    for (; width_ < width; ++width_) planes_[width_] = planes_[width_ - 1];
    Vec carry = sign;
    unsigned k = 0;
    for (; k < term_width && k < width; ++k)
      planes_[k] = full_add<V>(planes_[k], term.plane(k) ^ sign, carry);
    for (; k < width; ++k) planes_[k] = full_add<V>(planes_[k], sign, carry);
  }

  // As signs and magnitudes, with zeros up to a multiple of the lanes; returns how many planes that are.
  unsigned finish(PlaneBatch<V>& to) const {
    to.signs = planes_[width_ - 1];
    Vec carry = to.signs;
    unsigned k = 0;
    for (; k < width_; ++k) to.plane(k) = half_add<V>(planes_[k] ^ to.signs, carry);
    for (; k % V::kLanes != 0; ++k) to.plane(k) = V::all(0);
    return k;
  }

 private:
  void set(const PlaneBatch<V>& term, unsigned term_width, Vec sign) {
    width_ = term_width < kBlock ? term_width + 1 : kBlock;
    Vec carry = sign;
    for (unsigned k = 0; k < width_; ++k)
      planes_[k] = half_add<V>(k < term_width ? term.plane(k) ^ sign : sign, carry);
  }

  unsigned width_ = 0;  // planes, the last of which is the sign
  Vec planes_[kBlock];
};

// Two terms of at most kPlanes planes, without a loop of unknown length. `top` gets plane kPlanes of the sum.
template <class V, unsigned kPlanes>
[[gnu::always_inline]] inline void add_pair(const PlaneBatch<V>& a, const PlaneBatch<V>& b,
                                            typename V::Vec flip_a, typename V::Vec flip_b,
                                            PlaneBatch<V>& sum, typename V::Vec& top) {
  using Vec = typename V::Vec;
  const Vec sign_a = a.signs ^ flip_a, sign_b = b.signs ^ flip_b;
  Vec carry_a = sign_a, carry = sign_b;
  Vec planes[kPlanes + 1];
  for (unsigned k = 0; k < kPlanes; ++k)
    planes[k] = full_add<V>(half_add<V>(a.plane(k) ^ sign_a, carry_a), b.plane(k) ^ sign_b, carry);
  const Vec above_a = sign_a ^ carry_a;  // all planes of a above its width
  planes[kPlanes] = full_add<V>(above_a, sign_b, carry);
  sum.signs = above_a ^ sign_b ^ carry;
  Vec carry_sum = sum.signs;
  for (unsigned k = 0; k < kPlanes; ++k) sum.plane(k) = half_add<V>(planes[k] ^ sum.signs, carry_sum);
  top = planes[kPlanes] ^ sum.signs ^ carry_sum;
}

}  // namespace homz::homcomp
