// Chooses the orders of a chunk's differences: the cheapest on some of its blocks. Integers only, so every
// machine chooses alike. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_rows.hpp"

namespace homz::homcomp {

template <class V>
class OrderTrial {
 public:
  // `quanta` of a whole chunk; those in front of the first can be read (any numbers), as far as kFront.
  static constexpr unsigned kFront = 2 * kBlock + 2;

  OrderTrial(const std::uint32_t* quanta, const Box& box)
      : quanta_(quanta),
        box_(box),
        is_tall_(box.extents[2] > 1),
        is_deep_(box.extents[1] > 1),
        end_(box.count() / kBlock),
        stride_(((std::max(end_, kSamples) / kSamples) - 1) | 1) {}

  Orders choose() const {
    const auto base = static_cast<std::int32_t>(quanta_[0]);
    if (end_ == 0) return Orders{1, is_tall_, is_deep_, base};  // too small for a trial
    // The combinations that are best on one field or another; then other orders along x with the best of
    // them.
    std::uint32_t costs[kCandidates] = {};
    for (unsigned block = stride_ / 2; block < end_; block += stride_) add_costs(block, costs);
    Orders best{1, 0, 0, base};
    std::uint32_t least = costs[0];
    for (unsigned i = 1; i < kCandidates; ++i)
      if (is_candidate(i) && costs[i] < least) {
        least = costs[i];
        best = Orders{kOrders[i].x, kOrders[i].y, kOrders[i].z, base};
      }
    const unsigned y = best.y, z = best.z;
    if (y + z != 2) prefer(Orders{0, y, z, y + z == 0 ? centre() : base}, best, least);
    if (y + z != 0) prefer(Orders{2, y, z, base}, best, least);
    return best;
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kSamples = 8, kCandidates = 6;
  static constexpr Orders kOrders[kCandidates] = {{1, 0, 0}, {2, 0, 0}, {1, 1, 0},
                                                  {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

  bool is_candidate(unsigned i) const { return kOrders[i].y <= is_tall_ && kOrders[i].z <= is_deep_; }

  void prefer(const Orders& orders, Orders& best, std::uint32_t& least) const {
    std::uint32_t bits = 0;
    for (unsigned block = stride_ / 2; block < end_; block += stride_) bits += cost(residuals(block, orders));
    if (bits >= least) return;
    least = bits;
    best = orders;
  }

  // What to subtract where no differences are taken: 0 if there are quanta on both sides of it, else their
  // middle.
  std::int32_t centre() const {
    Vec low = V::load(quanta_ + kBlock * stride_ / 2), high = low;
    for (unsigned block = stride_ / 2; block < end_; block += stride_)
      for (unsigned i = 0; i < kBlock; i += V::kLanes) {
        low = V::lesser(low, V::load(quanta_ + kBlock * block + i));
        high = V::greater(high, V::load(quanta_ + kBlock * block + i));
      }
    std::int32_t least = 0, most = 0;
    for (unsigned i = 0; i < V::kLanes; ++i) {
      const auto a = static_cast<std::int32_t>(low[i]), b = static_cast<std::int32_t>(high[i]);
      least = i == 0 ? a : std::min(least, a);
      most = i == 0 ? b : std::max(most, b);
    }
    return least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
  }

  // The bits that a block takes with each of the candidates.
  void add_costs(unsigned block, std::uint32_t (&costs)[kCandidates]) const {
    const std::uint32_t* const at = quanta_ + kBlock * block;
    const Neighbours has(box_, block);
    const RowStarts rows(box_.row(), block);
    for (unsigned i = 0; i < kCandidates; ++i) {
      if (!is_candidate(i) || kOrders[i].x != 1) continue;
      Orders orders = kOrders[i];
      orders.base = static_cast<std::int32_t>(quanta_[0]);
      const auto front = static_cast<std::uint32_t>(orders.front_x());
      const Block<V> here = load(at, has, orders), before = load(at - 1, has, orders);
      costs[i] += cost(difference_from<V>(here, before, before, 1, rows, front));
      if (i == 0)
        costs[1] += cost(difference_from<V>(here, before, load(at - 2, has, orders), 2, rows, front));
      if (i == 4) costs[5] += cost(here);
    }
  }

  static std::uint32_t cost(const Block<V>& residuals) {
    const Block<V> sizes = residuals.magnitudes();
    const std::uint32_t width = bit_width(sizes.union_of());
    if (width != 1) return width == 0 ? 0 : 8 + 32 * (width + 1);
    const std::uint32_t plane = sizes.not_zero();
    return 8 + 8 * count_bits(sparse_code(plane)) + count_bits(plane);
  }

  Block<V> residuals(unsigned block, const Orders& orders) const {
    const std::uint32_t* const at = quanta_ + kBlock * block;
    if (orders.x + orders.y + orders.z == 0) {
      Block<V> here = Block<V>::load(at);
      for (Vec& v : here.v) v -= V::all(static_cast<std::uint32_t>(orders.base));
      return here;
    }
    const Neighbours has(box_, block);
    const Block<V> here = load(at, has, orders);
    if (orders.x == 0) return here;
    const RowStarts rows(box_.row(), block);
    const auto front = static_cast<std::uint32_t>(orders.front_x());
    return difference_from<V>(here, load(at - 1, has, orders), load(at - orders.x, has, orders), orders.x,
                              rows, front);
  }

  // The quanta from `at` on after differences along y and z.
  Block<V> load(const std::uint32_t* at, const Neighbours& has, const Orders& orders) const {
    Block<V> block = load_along_z(at, has.z, orders);
    if (orders.y == 0) return block;
    if (has.y != 0) subtract(block, has.y, load_along_z(at - box_.row(), has.z, orders));
    if (has.y != ~0u && orders.front_y() != 0)
      subtract(block, ~has.y, all(static_cast<std::uint32_t>(orders.front_y())));
    return block;
  }

  Block<V> load_along_z(const std::uint32_t* at, std::uint32_t has_z, const Orders& orders) const {
    Block<V> block = Block<V>::load(at);
    if (orders.z == 0) return block;
    if (has_z != 0) subtract(block, has_z, Block<V>::load(at - box_.plane()));
    if (has_z != ~0u) subtract(block, ~has_z, all(static_cast<std::uint32_t>(orders.front_z())));
    return block;
  }

  static Block<V> all(std::uint32_t number) {
    Block<V> block;
    for (Vec& v : block.v) v = V::all(number);
    return block;
  }

  static void subtract(Block<V>& block, std::uint32_t where, const Block<V>& others) {
    for (unsigned i = 0; i < V::kVectors; ++i)
      block.v[i] -=
          where == ~0u ? others.v[i] : V::select(where >> i * V::kLanes & V::kAll, others.v[i], V::all(0));
  }

  const std::uint32_t* quanta_;
  const Box& box_;
  bool is_tall_, is_deep_;
  unsigned end_,
      stride_;  // of the blocks that are looked at; odd, so that they have all places in rows and planes
};

}  // namespace homz::homcomp
