// How the blocks of a result come from those of the operands: value by value, on integers where there are
// quanta.
#pragma once

#include "homomorphic/cuszp/result_block.hpp"
#include "homomorphic/extremum.hpp"

namespace homz::cuszp {

// A linear combination, operand by operand.
template <class T, unsigned kDim>
class BlockSum {
 public:
  // `fill`, `exact`: positions that are so in any operand.
  BlockSum(const Linear<T>& linear, std::uint64_t fill, std::uint64_t exact, ResultBlock<T, kDim>& result)
      : linear_(linear), exact_(exact), result_(result) {
    result.fill = fill;
    result.exact = exact & ~fill;
    std::fill_n(result.quanta, ResultBlock<T, kDim>::kValues, linear.shift);
  }

  void add(std::size_t number, const OperandBlock<kDim>& operand) {
    const std::int32_t factor = linear_.factors[number];
    result_.add(operand, factor);
    const std::byte* values = operand.values;
    for_each_bit(exact_, [&](unsigned i) {
      // The first is not added to a 0, which would lose the sign of a -0.
      const T term = static_cast<T>(factor) * exact_or_restored(operand, i, linear_.step, values);
      result_.values[i] = number == 0 ? term : result_.values[i] + term;
    });
  }

  void finish() {
    for_each_bit(result_.exact,
                 [&](unsigned i) { result_.values[i] = finished(linear_, result_.values[i]); });
  }

 private:
  const Linear<T>& linear_;
  const std::uint64_t exact_;
  ResultBlock<T, kDim>& result_;
};

// The lesser or the greater of two operands' values.
template <class T, unsigned kDim>
void take_extremum(Extremum which, T step, const OperandBlock<kDim>& a, const OperandBlock<kDim>& b,
                   ResultBlock<T, kDim>& result) {
  result.fill = a.fill | b.fill;
  result.exact = 0;
  for (unsigned i = 0; i < Block<kDim>::kValues; ++i) {
    const auto x = static_cast<std::int32_t>(a.quanta[i]), y = static_cast<std::int32_t>(b.quanta[i]);
    result.quanta[i] = which == Extremum::greatest ? std::max(x, y) : std::min(x, y);
  }
  const std::byte* values[] = {a.values, b.values};
  for_each_bit(a.exact | b.exact, [&](unsigned i) {
    const T x = exact_or_restored(a, i, step, values[0]), y = exact_or_restored(b, i, step, values[1]);
    const bool second = is_second(which, x, y);
    const OperandBlock<kDim>& chosen = second ? b : a;
    result.quanta[i] = static_cast<std::int32_t>(chosen.quanta[i]);
    result.values[i] = second ? y : x;
    result.exact |= chosen.exact & std::uint64_t{1} << i;
  });
  result.exact &= ~result.fill;
}

}  // namespace homz::cuszp
