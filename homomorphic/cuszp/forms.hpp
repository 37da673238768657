// How the blocks of a result come from those of the operands: by planes where residuals are all that counts,
// else value by value, on integers where there are quanta.
#pragma once

#include "homomorphic/cuszp/plane_sum.hpp"
#include "homomorphic/cuszp/result_block.hpp"
#include "homomorphic/extremum.hpp"

namespace homz::cuszp {

// A linear combination, operand by operand.
template <class T, unsigned kDim>
class BlockSum {
 public:
  // `any`: positions that are so in any operand.
  BlockSum(const Linear<T>& linear, const Exceptions& any, ResultBlock<T, kDim>& result)
      : linear_(linear), exact_(any.exact), result_(result) {
    result.exceptions = {any.fill, any.exact & ~any.fill};
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
    for_each_bit(result_.exceptions.exact,
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
  const bool greatest = which == Extremum::greatest;
  result.exceptions.fill = a.fill | b.fill;
  result.exceptions.exact = 0;
  for (unsigned i = 0; i < Block<kDim>::kValues; ++i) {
    const auto x = static_cast<std::int32_t>(a.quanta[i]), y = static_cast<std::int32_t>(b.quanta[i]);
    result.quanta[i] = greatest ? std::max(x, y) : std::min(x, y);
  }
  const std::byte* values[] = {a.values, b.values};
  for_each_bit(a.exact | b.exact, [&](unsigned i) {
    const T x = exact_or_restored(a, i, step, values[0]), y = exact_or_restored(b, i, step, values[1]);
    const bool second = is_second(greatest, x, y);
    const OperandBlock<kDim>& chosen = second ? b : a;
    result.quanta[i] = static_cast<std::int32_t>(chosen.quanta[i]);
    result.values[i] = second ? y : x;
    result.exceptions.exact |= chosen.exact & std::uint64_t{1} << i;
  });
  result.exceptions.exact &= ~result.exceptions.fill;
}

// Adds blocks as they stand, as long as no quantum can leave its range.
template <unsigned kDim>
class PackedSum {
 public:
  explicit PackedSum(Mode mode) : mode_(mode) {}

  bool add(const PackedBlock& block, std::int32_t factor) {
    reach_ += reach_of<kDim>(block.shape, mode_);
    if (reach_ >= kSumLimit) return false;
    if (block.shape.zero()) return true;
    ++terms_;
    if (terms_ == 1)
      first_ = block, factor_ = factor;
    else if (terms_ == 2)
      planes_.start(first_, factor_, block, factor);
    else
      planes_.add(block, factor);
    return true;
  }

  Shape write(std::byte* to) {
    if (terms_ == 0) return Shape{};
    if (terms_ > 1) return planes_.write(mode_, to);
    const unsigned bytes = first_.shape.bytes(Block<kDim>::kPlaneBytes);
    std::memcpy(to, first_.from, bytes);
    if (factor_ == -1) negate<kDim>(first_.shape, to);
    return first_.shape;
  }

 private:
  const Mode mode_;
  std::uint64_t reach_ = 0;
  unsigned terms_ = 0;
  PackedBlock first_;  // of those that are not zero
  std::int32_t factor_ = 0;
  PlaneSum<kDim> planes_;
};

template <class Readers>
Exceptions exceptions_of(std::uint64_t block, const Readers& readers) {
  Exceptions any;
  for (const auto& each : readers) {
    any.fill |= each.fill(block);
    any.exact |= each.exact(block);
  }
  return any;
}

template <class Readers>
void skip(std::uint64_t block, const Readers& readers) {
  PackedBlock packed;
  for (auto& each : readers)
    if (each.peek(block, packed)) each.skip(block, packed);
}

template <class T, unsigned kDim>
class SumForm {
 public:
  SumForm(const Linear<T>& linear, Mode mode)
      : linear_(linear),
        mode_(mode),
        are_terms_plain_(linear.shift == 0 &&
                         std::all_of(linear.factors.begin(), linear.factors.end(),
                                     [](std::int32_t factor) { return factor == 1 || factor == -1; })) {}

  template <class Readers>
  bool pack(std::uint64_t block, const Place<kDim>& place, const Readers& readers, std::byte* to,
            Shape& shape, Exceptions& found) const {
    if (!are_terms_plain_) return false;
    const Exceptions any = exceptions_of(block, readers);
    if (((any.fill | any.exact) & ~place.owned) != 0) return false;
    PackedSum<kDim> sum(mode_);
    PackedBlock packed;
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (!readers[i].peek(block, packed) || !sum.add(packed, linear_.factors[i])) return false;
    shape = sum.write(to);
    skip(block, readers);
    found = {any.fill, any.exact & ~any.fill};
    return true;
  }

  template <class Readers>
  Status form(std::uint64_t block, const Place<kDim>& place, const Readers& readers,
              ResultBlock<T, kDim>& result) const {
    BlockSum<T, kDim> sum(linear_, exceptions_of(block, readers), result);
    OperandBlock<kDim> operand;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      HOMZ_TRY(readers[i].next(block, place, operand));
      sum.add(i, operand);
    }
    sum.finish();
    return Status();
  }

 private:
  const Linear<T>& linear_;
  const Mode mode_;
  const bool are_terms_plain_;
};

template <class T, unsigned kDim>
class ExtremumForm {
 public:
  ExtremumForm(Extremum which, T step) : which_(which), step_(step) {}

  template <class Readers>
  bool pack(std::uint64_t, const Place<kDim>&, const Readers&, std::byte*, Shape&, Exceptions&) const {
    return false;
  }

  template <class Readers>
  Status form(std::uint64_t block, const Place<kDim>& place, const Readers& readers,
              ResultBlock<T, kDim>& result) const {
    OperandBlock<kDim> a, b;
    HOMZ_TRY(readers[0].next(block, place, a));
    HOMZ_TRY(readers[1].next(block, place, b));
    take_extremum(which_, step_, a, b, result);
    return Status();
  }

 private:
  const Extremum which_;
  const T step_;
};

// A stream plus values.
template <class T, unsigned kDim>
class AccumulationForm {
 public:
  AccumulationForm(const Linear<T>& linear, const Coding<T>& coding, const KernelsFor<T>& kernels,
                   ConstBytes data)
      : linear_(linear), coding_(coding), kernels_(kernels), data_(data) {}

  template <class Readers>
  bool pack(std::uint64_t block, const Place<kDim>& place, const Readers& readers, std::byte* to,
            Shape& shape, Exceptions& found) const {
    LocalBlock<T, kDim> local;
    PackedBlock own, other;
    const Exceptions any = exceptions_of(block, readers);
    if ((any.fill | any.exact) != 0 || !readers[0].peek(block, other) ||
        !local.pack(coding_, kernels_, data_, place, own))
      return false;
    PackedSum<kDim> sum(coding_.mode);
    if (!sum.add(other, 1) || !sum.add(own, 1)) return false;
    shape = sum.write(to);
    skip(block, readers);
    found = {};
    return true;
  }

  template <class Readers>
  Status form(std::uint64_t block, const Place<kDim>& place, const Readers& readers,
              ResultBlock<T, kDim>& result) const {
    OperandBlock<kDim> operand;
    HOMZ_TRY(readers[0].next(block, place, operand));
    LocalBlock<T, kDim> local;
    local.take(coding_, data_, place);
    const OperandBlock<kDim>& own = local.content;
    BlockSum<T, kDim> sum(linear_, Exceptions{operand.fill | own.fill, operand.exact | own.exact}, result);
    sum.add(0, operand);
    sum.add(1, own);
    sum.finish();
    return Status();
  }

 private:
  const Linear<T>& linear_;
  const Coding<T>& coding_;
  const KernelsFor<T>& kernels_;
  const ConstBytes data_;
};

}  // namespace homz::cuszp
