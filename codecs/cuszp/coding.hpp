// One block on the host, value by value as block_math.hpp has it: for blocks in tiles and cubes, and in rows
// for those that the vector kernels leave (the last one, and those with fill values or with lost residuals).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/layout.hpp"
#include "core/bound_check.hpp"

namespace homz::cuszp {

// What all blocks of a field have in common.
template <class T>
struct Coding {
  Coding(const Encoding& encoding, const Plan& plan)
      : mode(plan.mode),
        v1(plan.v1),
        by(half_step(encoding, plan)),
        abs_error(encoding.abs_error),
        safe(largest_not_above<T>(encoding.abs_error)),
        step(by.bound * T(2)),
        has_fill(encoding.fill_bits.has_value()),
        fill(static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0))) {}

  // Whether restoring a quantum is one multiplication by `step`: doubling commutes with rounding, unless the
  // bound is subnormal or its double infinite.
  bool has_step() const {
    return by.bound >= std::numeric_limits<T>::min() && by.bound <= std::numeric_limits<T>::max() / 2;
  }

  Mode mode;
  bool v1;
  Quantiser<T> by;
  double abs_error;
  T safe;  // differences that are smaller in T are within abs_error: rounding is monotonic
  T step;
  bool has_fill;
  BitsOf<T> fill;
};

// Reads the values of a block; in place of elements behind the array, the last one.
template <class T, unsigned kDim>
void gather(const std::byte* data, std::uint64_t count, const Place<kDim>& place,
            T (&values)[Block<kDim>::kValues]) {
  constexpr unsigned kRun = Place<kDim>::kRun;
  if (place.owned == low_bits(Block<kDim>::kValues)) {
    for (unsigned run = 0; run < Place<kDim>::kRuns; ++run)
      std::memcpy(values + kRun * run, data + place.first[run] * sizeof(T), kRun * sizeof(T));
    return;
  }
  for (unsigned run = 0; run < Place<kDim>::kRuns; ++run) {
    T* const to = values + kRun * run;
    const std::uint64_t first = place.first[run];
    if (((place.coded | place.owned) >> kRun * run & 1) == 0) {
      std::fill_n(to, kRun, T(0));
    } else if (count - first >= kRun) {
      std::memcpy(to, data + first * sizeof(T), kRun * sizeof(T));
    } else {
      for (unsigned i = 0; i < kRun; ++i)
        to[i] = load_value<T>(data + std::min(first + i, count - 1) * sizeof(T));
    }
  }
}

// Writes the values of a block to the elements that it owns.
template <class T, unsigned kDim>
void scatter(const T (&values)[Block<kDim>::kValues], const Place<kDim>& place, std::uint64_t count,
             std::byte* data) {
  constexpr unsigned kRun = Place<kDim>::kRun;
  if (place.owned == low_bits(Block<kDim>::kValues)) {
    for (unsigned run = 0; run < Place<kDim>::kRuns; ++run)
      std::memcpy(data + place.first[run] * sizeof(T), values + kRun * run, kRun * sizeof(T));
    return;
  }
  for (unsigned run = 0; run < Place<kDim>::kRuns; ++run) {
    if ((place.owned >> kRun * run & 1) == 0) continue;
    const std::uint64_t first = place.first[run];
    const std::uint64_t inside = std::min<std::uint64_t>(kRun, count - first);
    std::memcpy(data + first * sizeof(T), values + kRun * run, inside * sizeof(T));
  }
}

// Calls f(position) for every set bit, lowest first.
template <class F>
void for_each_bit(std::uint64_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(static_cast<unsigned>(std::countr_zero(bits)));
}

// A block of the data at `place`, as it is coded.
template <class T, unsigned kDim>
class CodedBlock {
 public:
  CodedBlock(const Coding<T>& coding, const std::byte* data, std::uint64_t count, const Place<kDim>& place)
      : coding_(coding), owned_(place.owned) {
    gather(data, count, place, values_);
    for (unsigned i = 0; i < kValues; ++i) quanta_[i] = coding.by.quantise(values_[i]);
    fill_ = find_fill() & (place.coded | place.owned);
    const std::uint64_t absent = ~place.coded & low_bits(kValues);
    const std::uint64_t vacant = fill_ | (coding.v1 ? 0 : absent);
    if (vacant != 0) settle_vacant<kDim>(quanta_, vacant, coding.mode);
    if (coding.v1) for_each_bit(absent, [&](unsigned i) { quanta_[i] = 0; });
    find_residuals<kDim>(quanta_, coding.mode, residuals_);
  }

  Shape shape() const { return choose_shape<kDim>(residuals_, coding_.mode); }
  void pack(Shape shape, std::byte* to) const { cuszp::pack<kDim>(residuals_, shape, to); }

  // The quanta that a decoder finds.
  void read_back(typename Block<kDim>::Values& quanta) const {
    typename Block<kDim>::Values residuals;
    std::copy_n(residuals_, kValues, residuals);
    std::copy_n(quanta_, kValues, quanta);
    if (lose_magnitudes<kDim>(residuals)) undo_residuals<kDim>(residuals, coding_.mode, quanta);
  }

  // Tells the exceptions to a counter or a writer, the block's first position being `first`; returns whether
  // there are any.
  template <class Sink>
  bool tell(std::uint64_t first, Sink& sink) const {
    const std::uint64_t exact = find_exact();
    for_each_bit((fill_ & owned_) | exact, [&](unsigned i) {
      const auto position = static_cast<std::uint32_t>(first + i);
      if ((exact >> i & 1) != 0)
        sink.exact(position, values_[i]);
      else
        sink.fill(position);
    });
    return ((fill_ & owned_) | exact) != 0;
  }

 private:
  static constexpr unsigned kValues = Block<kDim>::kValues;

  std::uint64_t find_fill() const {
    std::uint64_t fill = 0;
    if (!coding_.has_fill) return fill;
    for (unsigned i = 0; i < kValues; ++i) fill |= std::uint64_t{bits_of(values_[i]) == coding_.fill} << i;
    return fill;
  }

  // The positions whose values would not come back within the bound.
  std::uint64_t find_exact() const {
    typename Block<kDim>::Values quanta;
    read_back(quanta);
    T restored[kValues];
    BitsOf<T> doubtful = 0;
    for (unsigned i = 0; i < kValues; ++i) {
      restored[i] = coding_.by.restore(quanta[i]);
      doubtful |= std::abs(values_[i] - restored[i]) < coding_.safe ? 0 : 1;
    }
    std::uint64_t exact = 0;
    if (doubtful == 0) return exact;
    for_each_bit(owned_ & ~fill_, [&](unsigned i) {
      exact |= std::uint64_t{!within_bound(values_[i], restored[i], coding_.abs_error)} << i;
    });
    return exact;
  }

  const Coding<T>& coding_;
  std::uint64_t owned_;
  T values_[kValues];
  std::uint64_t fill_;  // bit p: position p holds the fill value
  typename Block<kDim>::Values quanta_, residuals_;
};

}  // namespace homz::cuszp
