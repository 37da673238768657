// A block that was computed, and what becomes of it in a payload.
#pragma once

#include "homomorphic/cuszp/operand_block.hpp"
#include "homomorphic/linear.hpp"

namespace homz::cuszp {

// Of a result: what its blocks have in common.
template <class T>
struct ResultCoding {
  Mode mode;
  bool v1;
  T step;
};

// The positions of a block that have no quantum; none in both.
struct Exceptions {
  std::uint64_t fill = 0, exact = 0;

  // Tells them to a counter or a writer, the block's first position being `first`.
  template <class Sink, class Value>
  void tell(std::uint64_t first, Sink& sink, Value value) const {
    for_each_bit(fill | exact, [&](unsigned i) {
      const auto position = static_cast<std::uint32_t>(first + i);
      if ((exact >> i & 1) != 0)
        sink.exact(position, value(i));
      else
        sink.fill(position);
    });
  }
};

template <class T, unsigned kDim>
struct ResultBlock {
  static constexpr unsigned kValues = Block<kDim>::kValues;

  std::int64_t quanta[kValues];  // everywhere, where there is nothing else
  T values[kValues];             // those that are exact
  Exceptions exceptions;
  typename Block<kDim>::Values residuals;

  void add(const OperandBlock<kDim>& operand, std::int64_t factor) {
    for (unsigned i = 0; i < kValues; ++i) quanta[i] += factor * static_cast<std::int32_t>(operand.quanta[i]);
  }

  // Finds the residuals. What leaves the range of quanta becomes exact, as does what is in no block and not
  // 0; positions without a quantum get those that cost least.
  void settle(const Place<kDim>& place, const ResultCoding<T>& coding) {
    std::uint64_t vacant = exceptions.fill | exceptions.exact;
    std::uint64_t beyond = 0;
    typename Block<kDim>::Values q;
    for (unsigned i = 0; i < kValues; ++i) {
      q[i] = static_cast<std::uint32_t>(quanta[i]);
      const bool fits = quanta[i] < kSumLimit && quanta[i] > -kSumLimit;
      beyond |= std::uint64_t{!fits || ((place.coded >> i & 1) == 0 && quanta[i] != 0)} << i;
    }
    beyond &= ~vacant;
    for_each_bit(beyond & place.owned, [&](unsigned i) {
      values[i] = static_cast<T>(quanta[i]) * coding.step;
      exceptions.exact |= std::uint64_t{1} << i;
    });
    const std::uint64_t absent = ~place.coded & low_bits(kValues);
    vacant |= beyond | (coding.v1 ? 0 : absent);
    if (vacant != 0) settle_vacant<kDim>(q, vacant, coding.mode);
    if (coding.v1) for_each_bit(absent, [&](unsigned i) { q[i] = 0; });
    find_residuals<kDim>(q, coding.mode, residuals);
  }
};

}  // namespace homz::cuszp
