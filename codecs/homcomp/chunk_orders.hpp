// Chooses the orders of a chunk's differences: the cheapest on some of its blocks. Integers only, so every
// machine chooses alike. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_rows.hpp"

namespace homz::homcomp {

template <class V>
class OrderTrial {
 public:
  // `quanta` in the lattice of a whole chunk, the first of them in front of it along y and z.
  OrderTrial(const std::uint32_t* quanta, const Box& box, const Lattice& lattice)
      : quanta_(quanta),
        box_(box),
        lattice_(lattice),
        end_(box.count() / kBlock),
        stride_(((std::max(end_, kSamples) / kSamples) - 1) | 1) {
    if (lattice.row_gap() != 0) across_ |= kAlongY;
    if (lattice.plane_gap() != 0) across_ |= kAlongZ;
  }

  Orders choose() {
    const auto base = static_cast<std::int32_t>(quanta_[lattice_.first()]);
    const unsigned is_tall = across_ & kAlongY, is_deep = across_ / kAlongZ;
    if (end_ == 0) return Orders{1, is_tall, is_deep, base};  // too small for a trial
    for (unsigned block = stride_ / 2; block < end_; block += stride_) add_costs(block);
    // The combinations that are best on one field or another; then other orders along x with the best of
    // them.
    Orders best{1, 0, 0, base};
    std::uint32_t least = cost_of(best);
    for (const Orders& each : kCandidates)
      if (each.y <= is_tall && each.z <= is_deep) prefer(Orders{each.x, each.y, each.z, base}, best, least);
    const unsigned y = best.y, z = best.z;
    if (y + z == 0) prefer_none(best, least);
    if (y + z == 1) prefer(Orders{0, y, z, base}, best, least);
    if (y + z != 0) prefer(Orders{2, y, z, base}, best, least);
    return best;
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kSamples = 8, kAlongY = 1, kAlongZ = 2;
  static constexpr Orders kCandidates[] = {{2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

  // ---- Bits that the blocks take

  std::uint32_t cost_of(const Orders& orders) const {
    return costs_[orders.y * kAlongY + orders.z * kAlongZ][orders.x];
  }
  void prefer(const Orders& orders, Orders& best, std::uint32_t& least) const {
    if (cost_of(orders) >= least) return;
    least = cost_of(orders);
    best = orders;
  }
  // No differences at all: what to subtract follows from all blocks that are looked at.
  void prefer_none(Orders& best, std::uint32_t& least) {
    const std::int32_t base = centre();
    std::uint32_t bits = costs_[0][0];
    if (base != 0) {
      bits = 0;
      for (unsigned block = stride_ / 2; block < end_; block += stride_) {
        locate(block);
        Block<V> here;
        load(here);
        for (Vec& v : here.v) v -= V::all(static_cast<std::uint32_t>(base));
        bits += cost(here);
      }
    }
    if (bits >= least) return;
    least = bits;
    best = Orders{0, 0, 0, base};
  }

  // 0 if there are quanta on both sides of it, else their middle.
  std::int32_t centre() const {
    std::int32_t least = 0, most = 0;
    for (unsigned i = 0; i < V::kLanes; ++i) {
      const auto a = static_cast<std::int32_t>(least_[i]), b = static_cast<std::int32_t>(most_[i]);
      least = i == 0 ? a : std::min(least, a);
      most = i == 0 ? b : std::max(most, b);
    }
    return least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
  }
  void widen_range(const Block<V>& block) {
    if (!has_range_) least_ = most_ = block.v[0];
    has_range_ = true;
    for (const Vec v : block.v) {
      least_ = V::lesser(least_, v);
      most_ = V::greater(most_, v);
    }
  }

  static std::uint32_t cost(const Block<V>& residuals) {
    const Block<V> sizes = residuals.magnitudes();
    const std::uint32_t width = bit_width(sizes.union_of());
    if (width != 1) return width == 0 ? 0 : 8 + 32 * (width + 1);
    const std::uint32_t plane = sizes.not_zero();
    return 8 + 8 * count_bits(sparse_code(plane)) + count_bits(plane);
  }

  // ---- A block with the values one and two places in front of its own

  struct Triple {
    Block<V> here, before, second;
  };

  void add_costs(unsigned block) {
    locate(block);
    add_costs<false, false>();
    if ((across_ & kAlongY) != 0) add_costs<true, false>();
    if ((across_ & kAlongZ) != 0) add_costs<false, true>();
    if (across_ == (kAlongY | kAlongZ)) add_costs<true, true>();
  }

  // After differences along y and z.
  template <bool kY, bool kZ>
  void add_costs() {
    const std::uint32_t front = kY || kZ ? 0 : quanta_[lattice_.first()];
    Triple triple;
    if (box_.row() % V::kLanes == 0)
      load_vectors<kY, kZ>(front, triple);
    else
      load_values<kY, kZ>(front, triple);
    if constexpr (!kY && !kZ) widen_range(triple.here);
    add_costs(triple, costs_[kY * kAlongY + kZ * kAlongZ]);
  }

  static void add_costs(const Triple& of, std::uint32_t (&costs)[3]) {
    Block<V> slope, curve;  // vector by vector: compilers copy blocks in halves, which processors wait for
    for (unsigned i = 0; i < V::kVectors; ++i) {
      slope.v[i] = of.here.v[i] - of.before.v[i];
      curve.v[i] = slope.v[i] - (of.before.v[i] - of.second.v[i]);
    }
    costs[0] += cost(of.here);
    costs[1] += cost(slope);
    costs[2] += cost(curve);
  }

  template <bool kY, bool kZ>
  void load_vectors(std::uint32_t front, Triple& triple) const {
    Vec last = V::all(front), last_before = last;  // in front of the vector
    if (x_ != 0) {
      last = across_rows<V, kY, kZ>(quanta_ + indices_[0] - V::kLanes, lattice_);
      last_before = V::shift_in(last, last);
    }
    for (unsigned i = 0, x = x_; i < V::kVectors; ++i, x += V::kLanes) {
      if (x == box_.row()) {
        x = 0;
        last = last_before = V::all(front);
      }
      triple.here.v[i] = across_rows<V, kY, kZ>(quanta_ + indices_[i * V::kLanes], lattice_);
      triple.before.v[i] = V::shift_in(last, triple.here.v[i]);
      triple.second.v[i] = V::shift_in(last_before, triple.before.v[i]);
      last = triple.here.v[i];
      last_before = triple.before.v[i];
    }
  }

  template <bool kY, bool kZ>
  void load_values(std::uint32_t front, Triple& triple) const {
    std::uint32_t here[kBlock], before[kBlock], second[kBlock];
    for (unsigned i = 0, x = x_; i < kBlock; ++i, ++x) {
      if (x == box_.row()) x = 0;
      here[i] = value<kY, kZ>(indices_[i]);
      before[i] = x < 1 ? front : value<kY, kZ>(indices_[i] - 1);
      second[i] = x < 2 ? front : value<kY, kZ>(indices_[i] - 2);
    }
    for (unsigned i = 0; i < V::kVectors; ++i) {
      triple.here.v[i] = V::load(here + i * V::kLanes);
      triple.before.v[i] = V::load(before + i * V::kLanes);
      triple.second.v[i] = V::load(second + i * V::kLanes);
    }
  }

  template <bool kY, bool kZ>
  std::uint32_t value(unsigned index) const {
    std::uint32_t here = quanta_[index];
    if constexpr (kZ) here -= quanta_[index - lattice_.plane()];
    if constexpr (kY) here -= value<false, kZ>(index - lattice_.pitch());
    return here;
  }

  void load(Block<V>& block) const {
    if (box_.row() % V::kLanes == 0) {
      for (unsigned i = 0; i < V::kVectors; ++i) block.v[i] = V::load(quanta_ + indices_[i * V::kLanes]);
      return;
    }
    std::uint32_t together[kBlock];
    for (unsigned i = 0; i < kBlock; ++i) together[i] = quanta_[indices_[i]];
    for (unsigned i = 0; i < V::kVectors; ++i) block.v[i] = V::load(together + i * V::kLanes);
  }

  void locate(unsigned block) {
    const unsigned unit = box_.row() % V::kLanes == 0 ? V::kLanes : 1;
    x_ = kBlock * block % box_.row();
    unsigned left = 0, index = 0;  // of the row
    for (unsigned i = 0; i < kBlock; i += unit, left -= unit, index += unit) {
      if (left == 0) {
        const unsigned position = kBlock * block + i;
        index = lattice_.index(position);
        left = box_.row() - position % box_.row();
      }
      indices_[i] = index;
    }
  }

  const std::uint32_t* const quanta_;
  const Box& box_;
  const Lattice& lattice_;
  unsigned across_ = 0;  // the axes other than x that there are
  const unsigned end_;
  const unsigned stride_;  // of the blocks that are looked at; odd, so that they have all places in rows and
                           // planes
  bool has_range_ = false;
  Vec least_, most_;                // of the quanta looked at
  std::uint32_t costs_[4][3] = {};  // with differences along y (1) and z (2); of each order along x
  unsigned x_ = 0;                  // of the block located: place of its first value in the row
  unsigned indices_[kBlock];        // of its values, or of the first of each vector
};

}  // namespace homz::homcomp
