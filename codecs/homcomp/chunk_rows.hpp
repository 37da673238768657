// Differences and sums within a chunk. Templates over the vector primitives V.
#pragma once

#include "codecs/homcomp/rows.hpp"

namespace homz::homcomp {

// ---- Along y and z: between a value and the one `distance` in front of it, in place.

template <class V>
void subtract_everywhere(std::uint32_t* values, unsigned count, std::uint32_t number) {
  unsigned i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(values + i, V::load(values + i) - V::all(number));
  for (; i < count; ++i) values[i] -= number;
}

// The first `distance` values have `front` in front of them.
template <class V>
void difference(std::uint32_t* values, unsigned count, unsigned distance, std::uint32_t front) {
  unsigned end = count;  // what is behind it is done
  if (distance >= V::kLanes)
    for (; end >= distance + V::kLanes; end -= V::kLanes) {
      std::uint32_t* const at = values + end - V::kLanes;
      V::store(at, V::load(at) - V::load(at - distance));
    }
  for (; end > distance; --end) values[end - 1] -= values[end - 1 - distance];
  if (front != 0) subtract_everywhere<V>(values, std::min(distance, count), front);
}

template <class V>
void undo_difference(std::uint32_t* values, unsigned count, unsigned distance, std::uint32_t front) {
  if (front != 0) subtract_everywhere<V>(values, std::min(distance, count), 0 - front);
  unsigned start = distance;  // what is in front of it is done
  if (distance >= V::kLanes)
    for (; start + V::kLanes <= count; start += V::kLanes) {
      std::uint32_t* const at = values + start;
      V::store(at, V::load(at) + V::load(at - distance));
    }
  for (; start < count; ++start) values[start] += values[start - distance];
}

// Along z, then along y; the quanta of a box lie without gaps.
template <class V>
void difference_planes_and_rows(std::uint32_t* quanta, const Box& box, const Orders& orders) {
  const auto front_z = static_cast<std::uint32_t>(orders.front_z());
  const auto front_y = static_cast<std::uint32_t>(orders.front_y());
  if (orders.z != 0)
    for (unsigned at = 0; at < box.count(); at += box.slab())
      difference<V>(quanta + at, box.slab(), box.plane(), front_z);
  if (orders.y != 0)
    for (unsigned at = 0; at < box.count(); at += box.plane())
      difference<V>(quanta + at, box.plane(), box.row(), front_y);
}

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

// ---- Along x

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
  std::uint32_t signs() const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < V::kVectors; ++i) mask |= V::negative(v[i]) << i * V::kLanes;
    return mask;
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

// Residuals of a block from its values and from those one and two in front of each; `front` is in front of a
// row.
template <class V>
Block<V> difference_from(const Block<V>& here, Block<V> before, Block<V> second, unsigned order,
                         const RowStarts& rows, std::uint32_t front) {
  if (rows.any())
    for (unsigned i = 0; i < V::kVectors; ++i) {
      const std::uint32_t starts = rows.starts >> i * V::kLanes & V::kAll;
      const std::uint32_t seconds = rows.seconds >> i * V::kLanes & V::kAll;
      before.v[i] = V::select(starts, V::all(front), before.v[i]);
      if (order == 2) second.v[i] = V::select(starts | seconds, V::all(front), second.v[i]);
    }
  Block<V> residuals;
  for (unsigned i = 0; i < V::kVectors; ++i) {
    residuals.v[i] = here.v[i] - before.v[i];
    if (order == 2) residuals.v[i] -= before.v[i] - second.v[i];
  }
  return residuals;
}

// Residuals of a block of order 0, 1 or 2 along x, with `front` in front of each row (subtracted everywhere
// in order 0). The two values in front of the block can be read.
template <class V, unsigned kOrder>
Block<V> difference_along_x(const std::uint32_t* values, const RowStarts& rows, std::uint32_t front) {
  Block<V> here = Block<V>::load(values);
  if constexpr (kOrder == 0) {
    for (auto& v : here.v) v -= V::all(front);
    return here;
  } else {
    return difference_from<V>(here, Block<V>::load(values - 1), Block<V>::load(values - kOrder), kOrder, rows,
                              front);
  }
}

}  // namespace homz::homcomp
