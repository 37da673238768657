// Blocks of a chunk, differences and sums within it. Templates over the vector primitives V.
#pragma once

#include "codecs/homcomp/lattice.hpp"
#include "codecs/homcomp/rows.hpp"

namespace homz::homcomp {

template <class V>
struct Block {
  typename V::Vec v[V::kVectors];

  static Block load(const std::uint32_t* from) {
    Block block;
    for (unsigned i = 0; i < V::kVectors; ++i) block.v[i] = V::load(from + i * V::kLanes);
    return block;
  }
  void store(std::uint32_t* to) const {
    for (unsigned i = 0; i < V::kVectors; ++i) V::store(to + i * V::kLanes, v[i]);
  }
  std::uint32_t not_zero() const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < V::kVectors; ++i) mask |= V::not_zero(v[i]) << i * V::kLanes;
    return mask;
  }
  std::uint32_t union_of() const {
    typename V::Vec bits = v[0];
    for (unsigned i = 1; i < V::kVectors; ++i) bits |= v[i];
    return V::union_of(bits);
  }
  Block magnitudes() const {
    Block sizes;
    for (unsigned i = 0; i < V::kVectors; ++i) sizes.v[i] = V::magnitude(v[i]);
    return sizes;
  }
};

// ---- Differences, of a vector of quanta in a lattice

template <class V, bool kY, bool kZ>
typename V::Vec across_rows(const std::uint32_t* at, const Lattice& lattice) {
  typename V::Vec here = V::load(at);
  if constexpr (kZ) here -= V::load(at - lattice.plane());
  if constexpr (kY) here -= across_rows<V, false, kZ>(at - lattice.pitch(), lattice);
  return here;
}

// Along a row, from its start on.
template <class V, unsigned kX>
class RowDifferences {
 public:
  explicit RowDifferences(std::uint32_t front) : before_(V::all(front)), slope_before_(V::all(0)) {}

  typename V::Vec next(typename V::Vec here) {
    if constexpr (kX == 0) return here;
    const typename V::Vec slope = here - V::shift_in(before_, here);
    before_ = here;
    if constexpr (kX == 1) return slope;
    const typename V::Vec second = slope - V::shift_in(slope_before_, slope);
    slope_before_ = slope;
    return second;
  }

 private:
  typename V::Vec before_, slope_before_;
};

// ---- Sums along a row, from its start on

template <class V, unsigned kOrder>
struct RowSums {
  using Vec = typename V::Vec;
  Vec first, second;

  explicit RowSums(std::uint32_t front) { reset(front); }
  void reset(std::uint32_t front) {
    first = V::all(kOrder == 1 ? front : 0);
    second = V::all(front);
  }
  Vec add(Vec residuals) {
    if constexpr (kOrder == 0) return residuals + second;
    Vec sums = V::prefix_sums(residuals);
    const Vec total = V::last(sums);  // off the chain from vector to vector
    sums += first;
    first += total;
    if constexpr (kOrder == 1) return sums;
    sums = V::prefix_sums(sums);
    const Vec second_total = V::last(sums);
    sums += second;
    second += second_total;
    return sums;
  }
};

template <class V, unsigned kOrder>
void sum_whole_rows(std::uint32_t* values, const Box& box, std::uint32_t front) {
  for (unsigned at = 0; at < box.count(); at += box.row()) {
    RowSums<V, kOrder> sums(front);
    for (unsigned i = at; i < at + box.row(); i += V::kLanes)
      V::store(values + i, sums.add(V::load(values + i)));
  }
}

// ---- Sums along y and z, in place, of values that lie without gaps

template <class V>
void add_everywhere(std::uint32_t* values, unsigned count, std::uint32_t number) {
  unsigned i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(values + i, V::load(values + i) + V::all(number));
  for (; i < count; ++i) values[i] += number;
}

// The first `distance` values have `front` in front of them.
template <class V>
void undo_difference(std::uint32_t* values, unsigned count, unsigned distance, std::uint32_t front) {
  if (front != 0) add_everywhere<V>(values, std::min(distance, count), front);
  unsigned start = distance;  // what is in front of it is done
  if (distance >= V::kLanes)
    for (; start + V::kLanes <= count; start += V::kLanes) {
      std::uint32_t* const at = values + start;
      V::store(at, V::load(at) + V::load(at - distance));
    }
  for (; start < count; ++start) values[start] += values[start - distance];
}

// Along y, then along z.
template <class V>
void undo_planes_and_rows(std::uint32_t* quanta, const Box& box, const Orders& orders) {
  const auto front_z = static_cast<std::uint32_t>(orders.front_z());
  const auto front_y = static_cast<std::uint32_t>(orders.front_y());
  if (orders.y != 0)
    for (unsigned at = 0; at < box.count(); at += box.plane())
      undo_difference<V>(quanta + at, box.plane(), box.row(), front_y);
  if (orders.z != 0)
    for (unsigned at = 0; at < box.count(); at += box.slab())
      undo_difference<V>(quanta + at, box.slab(), box.plane(), front_z);
}

// Differences from what is `distance` in front, within each part of `count` values, with 0 in front of it.
// From the end, so that what is in front is not changed yet.
template <class V>
void take_differences(std::uint32_t* values, unsigned count, unsigned part, unsigned distance) {
  for (unsigned at = 0; at < count; at += part) {
    unsigned i = at + part;
    for (; i >= at + distance + V::kLanes; i -= V::kLanes) {
      std::uint32_t* const to = values + i - V::kLanes;
      V::store(to, V::load(to) - V::load(to - distance));
    }
    for (; i-- > at + distance;) values[i] -= values[i - distance];
  }
}

// Of residuals of some orders, so that they are those of orders that are nowhere lower. (Differences
// commute.)
template <class V>
void raise(std::uint32_t* values, const Box& box, const Orders& from, const Orders& to) {
  for (unsigned order = from.x; order < to.x; ++order) take_differences<V>(values, box.count(), box.row(), 1);
  if (to.y > from.y) take_differences<V>(values, box.count(), box.plane(), box.row());
  if (to.z > from.z) take_differences<V>(values, box.count(), box.slab(), box.plane());
}

// Along all axes, of rows of any length: residuals become quanta.
template <class V>
void undo_differences(std::uint32_t* values, const Box& box, const Orders& orders) {
  const auto front = static_cast<std::uint32_t>(orders.front_x());
  if (orders.x != 0 && box.row() % V::kLanes == 0)
    orders.x == 1 ? sum_whole_rows<V, 1>(values, box, front) : sum_whole_rows<V, 2>(values, box, front);
  else if (orders.x != 0)
    for (unsigned at = 0; at < box.count(); at += box.row()) {
      std::uint32_t slope = 0, sum = front;
      for (unsigned i = at; i < at + box.row(); ++i) {
        slope = values[i] + (orders.x == 2 ? slope : 0);
        sum += slope;
        values[i] = sum;
      }
    }
  if (orders.offset() != 0)
    add_everywhere<V>(values, box.count(), static_cast<std::uint32_t>(orders.offset()));
  undo_planes_and_rows<V>(values, box, orders);
}

}  // namespace homz::homcomp
