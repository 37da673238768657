// One block of 64 values, a tile or a cube. A template over the vector primitives V.
#pragma once

#include "codecs/cuszp/kernels.hpp"

namespace homz::cuszp {

template <class V, class T, unsigned kDim, Mode kMode>
class TileBlock {
 public:
  // As MeasureTile.
  static bool measure(const Coding<T>& coding, const T* values, Shape& shape, std::uint64_t& exact) {
    Vec q[kVectors];
    typename V::Doubt doubts[kVectors], doubt{};
    std::uint32_t fill = 0;
    for (unsigned i = 0; i < kVectors; ++i) {
      doubt |= doubts[i] = V::quantise(bytes_of(values, i), coding, q[i]);
      if (coding.has_fill) fill |= V::template equal<T>(bytes_of(values, i), coding.fill);
    }
    if (fill != 0) return false;
    if (V::is_any(doubt) && !find_exact(coding, values, q, doubts, exact)) return false;
    const std::uint32_t first = V::first(q[0]);
    difference(q);
    Vec sizes = V::magnitude(kMode == Mode::outlier ? V::without_first(q[0]) : q[0]);
    for (unsigned i = 1; i < kVectors; ++i) sizes |= V::magnitude(q[i]);
    shape = shape_from<kDim, kMode>(first, V::union_of(sizes));
    return true;
  }

  static void pack(const Coding<T>& coding, const T* values, Shape shape, std::byte* to) {
    Vec r[kVectors];
    for (unsigned i = 0; i < kVectors; ++i) r[i] = V::quantise_unchecked(bytes_of(values, i), coding);
    difference(r);
    const std::uint32_t first = V::first(r[0]);
    const bool is_aside = kMode == Mode::outlier && shape.outlier_bytes != 0;
    if (is_aside) r[0] = V::without_first(r[0]);
    std::byte* const planes = to + shape.outlier_bytes;
    V::template write_planes<kPlaneBytes>(half<0>(r), shape.width, planes);
    V::template write_planes<kPlaneBytes>(half<1>(r), shape.width, planes + 4);
    if (is_aside) store_outlier(first, shape.outlier_bytes, to);
  }

  static void unpack(const Coding<T>& coding, Shape shape, const std::byte* from, T* values) {
    Vec r[kVectors];
    const std::byte* const planes = from + shape.outlier_bytes;
    V::template read_planes<kPlaneBytes>(planes, shape.width, half<0>(r));
    V::template read_planes<kPlaneBytes>(planes + 4, shape.width, half<1>(r));
    if (kMode == Mode::outlier && shape.outlier_bytes != 0)
      r[0] = V::with_first(r[0], load_outlier(from, shape.outlier_bytes));
    if (kMode != Mode::fixed) V::template add_up_tile<kDim>(r);
    for (unsigned i = 0; i < kVectors; ++i)
      V::template restore<T>(r[i], coding.step, reinterpret_cast<std::byte*>(values + i * V::kLanes));
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kVectors = 2 * V::kVectors, kPlaneBytes = Block<kDim>::kPlaneBytes;

  static const std::byte* bytes_of(const T* values, unsigned vector) {
    return reinterpret_cast<const std::byte*>(values + vector * V::kLanes);
  }

  // The vectors of 32 of the values.
  template <unsigned kHalf>
  static Vec (&half(Vec (&v)[kVectors]))[V::kVectors] {
    return *reinterpret_cast<Vec(*)[V::kVectors]>(v + kHalf * V::kVectors);
  }

  static void difference(Vec (&q)[kVectors]) {
    if (kMode == Mode::fixed) return;
    Vec behind[kVectors];
    for (unsigned i = 0; i < kVectors; ++i) behind[i] = V::template behind_in_tile<kDim>(q, i);
    for (unsigned i = 0; i < kVectors; ++i) q[i] -= behind[i];
  }

  // The values that do not come back within the bound; false if there are any out of the range of quanta.
  [[gnu::noinline]] static bool find_exact(const Coding<T>& coding, const T* values,
                                           const Vec (&quanta)[kVectors],
                                           const typename V::Doubt (&doubts)[kVectors],
                                           std::uint64_t& exact) {
    std::uint32_t q[Block<kDim>::kValues];
    std::uint64_t bad = 0;
    for (unsigned i = 0; i < kVectors; ++i) {
      V::store(q + i * V::kLanes, quanta[i]);
      bad |= std::uint64_t{V::mask_of(doubts[i])} << i * V::kLanes;
    }
    for (; bad != 0; bad &= bad - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(bad));
      if (is_out_of_range(q[i])) return false;
      if (!within_bound(values[i], coding.by.restore(q[i]), coding.abs_error)) exact |= std::uint64_t{1} << i;
    }
    return true;
  }
};

}  // namespace homz::cuszp
