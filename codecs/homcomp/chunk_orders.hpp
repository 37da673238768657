// Chooses the orders of a chunk's differences: the cheapest on a few of its blocks. Integers only, so every
// machine chooses alike. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_rows.hpp"

namespace homz::homcomp {

template <class V>
class OrderTrial {
 public:
  // `quanta` of a whole chunk; the two in front of them can be read and equal the first.
  OrderTrial(const std::uint32_t* quanta, const Box& box)
      : quanta_(quanta), row_(box.row()), plane_(box.plane()), tall_(box.extents[2] > 1), deep_(box.extents[1] > 1) {
    const unsigned first_row = (deep_ ? plane_ : 0) + (tall_ ? row_ : 0);
    first_ = first_row == 0 ? 0 : ceil_div(first_row + 2, kBlock);
    end_ = box.count() / kBlock;
  }

  Orders choose() const {
    Orders best;
    best.x = 1;
    best.y = tall_;
    best.z = deep_;
    best.base = static_cast<std::int32_t>(quanta_[0]);
    if (first_ >= end_) return best;  // too small for a trial

    const std::int32_t centre = this->centre();
    std::uint32_t least = ~0u;
    for (unsigned z = 0; z <= deep_; ++z)
      for (unsigned y = 0; y <= tall_; ++y) {
        std::uint32_t costs[3] = {};
        add_costs(y, z, static_cast<std::uint32_t>(y + z == 0 ? centre : 0), costs);
        for (const unsigned x : {1u, 0u, 2u}) {
          if (costs[x] >= least) continue;
          least = costs[x];
          best.x = x;
          best.y = y;
          best.z = z;
          best.base = x + y + z == 0 ? centre : static_cast<std::int32_t>(quanta_[0]);
        }
      }
    return best;
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kSamples = 8;

  unsigned stride() const { return std::max(1u, (end_ - first_) / kSamples); }

  // What to subtract where no differences are taken: 0 if there are quanta on both sides of it, else their middle.
  std::int32_t centre() const {
    std::int32_t low = kQuantumLimit, high = -kQuantumLimit;
    for (unsigned block = first_ + stride() / 2; block < end_; block += stride())
      for (unsigned i = 0; i < kBlock; ++i) {
        const auto quantum = static_cast<std::int32_t>(quanta_[kBlock * block + i]);
        low = std::min(low, quantum);
        high = std::max(high, quantum);
      }
    return low <= 0 && high >= 0 ? 0 : low + (high - low) / 2;
  }

  // The quanta from `at` on after differences along y and z.
  Vec load(const std::uint32_t* at, unsigned y, unsigned z) const {
    Vec value = V::load(at);
    if (y != 0) value -= V::load(at - row_);
    if (z == 0) return value;
    value -= V::load(at - plane_);
    if (y != 0) value += V::load(at - plane_ - row_);
    return value;
  }

  void add_costs(unsigned y, unsigned z, std::uint32_t centre, std::uint32_t (&costs)[3]) const {
    for (unsigned block = first_ + stride() / 2; block < end_; block += stride()) {
      Block<V> orders[3];
      for (unsigned i = 0; i < V::kVectors; ++i) {
        const std::uint32_t* const at = quanta_ + kBlock * block + i * V::kLanes;
        const Vec here = load(at, y, z), before = load(at - 1, y, z), second = load(at - 2, y, z);
        orders[0].v[i] = here - V::all(centre);
        orders[1].v[i] = here - before;
        orders[2].v[i] = (here - before) - (before - second);
      }
      for (unsigned x = 0; x < 3; ++x) costs[x] += cost(orders[x]);
    }
  }

  // Bits that the block takes.
  static std::uint32_t cost(const Block<V>& residuals) {
    const Block<V> sizes = residuals.magnitudes();
    const std::uint32_t width = bit_width(sizes.union_of());
    if (width != 1) return width == 0 ? 0 : 8 + 32 * (width + 1);
    const std::uint32_t plane = sizes.not_zero();
    return 8 + 8 * count_bits(sparse_code(plane)) + count_bits(plane);
  }

  const std::uint32_t* quanta_;
  unsigned row_, plane_;
  bool tall_, deep_;
  unsigned first_, end_;  // blocks whose neighbours along y and z are in the chunk
};

}  // namespace homz::homcomp
