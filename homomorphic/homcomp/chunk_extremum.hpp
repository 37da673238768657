// The lesser or the greater, value by value, of two chunks that stand at the same place. A template over the
// vector primitives V.
#pragma once

#include "homomorphic/extremum.hpp"
#include "homomorphic/homcomp/chunk_content.hpp"
#include "homomorphic/homcomp/value_writer.hpp"

namespace homz::homcomp {

// An operand: quanta where it has such, values everywhere.
template <class V, class T>
class ExtremumOperand {
 public:
  const char* read(const Linear<T>& linear, const Box& box, const ChunkRef& chunk) {
    const char* const wrong = read_content<V, T>(box, chunk, linear.has_fill, linear.fill, content_);
    if (wrong != nullptr) return wrong;
    const std::byte* exact_value = content_.values;
    for (unsigned i = 0; i < box.count(); ++i) {
      values_[i] = is_exact(i) ? load_value<T>(exact_value) : restore(quantum(i), linear.step);
      exact_value += is_exact(i) ? sizeof(T) : 0;
    }
    return nullptr;
  }

  const Orders& orders() const { return content_.orders; }
  std::int32_t quantum(unsigned i) const { return static_cast<std::int32_t>(content_.quanta[i]); }
  T value(unsigned i) const { return values_[i]; }
  bool is_fill(unsigned i) const { return content_.is_fill(i); }
  bool is_exact(unsigned i) const { return content_.is_exact(i); }

 private:
  ChunkContent content_;
  T values_[kChunk];
};

template <class V, class T>
class ChunkExtremum {
 public:
  ChunkExtremum(const Linear<T>& linear, bool greatest, const Box& box, SumSpace& space)
      : linear_(linear), greatest_(greatest), box_(box), space_(space) {}

  ChunkResult write(const ChunkRef& a, const ChunkRef& b, std::byte* to) {
    ChunkResult result;
    result.wrong = a_.read(linear_, box_, a);
    if (result.wrong == nullptr) result.wrong = b_.read(linear_, box_, b);
    if (result.wrong != nullptr) return result;
    std::memset(space_.fill, 0, sizeof(space_.fill));
    std::memset(space_.exact, 0, sizeof(space_.exact));
    std::uint32_t reach = 0;
    for (unsigned i = 0; i < box_.count(); ++i) reach |= take(i);
    const Orders orders = take_differences();
    return ValueWriter<V, T>(space_, box_.count()).write(orders, bit_width(reach), a.is_raw || b.is_raw, to);
  }

 private:
  template <class N>
  bool is_b(N a, N b) const {
    return greatest_ ? b > a : b < a;
  }

  // Returns the magnitude of the quantum, if there is one.
  std::uint32_t take(unsigned i) {
    const bool no_quantum_a = a_.is_exact(i), no_quantum_b = b_.is_exact(i);
    const std::uint32_t bit = 1u << i % kBlock;
    bool b = is_b(a_.quantum(i), b_.quantum(i)), exact = false;
    if (a_.is_fill(i) || b_.is_fill(i)) {
      space_.fill[i / kBlock] |= bit;
    } else if (no_quantum_a || no_quantum_b) {
      const T x = a_.value(i), y = b_.value(i);
      b = is_second(greatest_, x, y);
      exact = b ? no_quantum_b : no_quantum_a;
      if (exact) space_.exact[i / kBlock] |= bit;
    }
    const bool is_fill = (space_.fill[i / kBlock] & bit) != 0;
    store_value(space_.values + i * sizeof(T), is_fill ? value_of<T>(linear_.fill)
                                               : b     ? b_.value(i)
                                                       : a_.value(i));
    const bool quantum_of_b = exact && !(no_quantum_a && no_quantum_b) ? !b : b;  // there is one in the other
    const std::int32_t quantum = quantum_of_b ? b_.quantum(i) : a_.quantum(i);
    space_.encode.quanta[i] = static_cast<std::uint32_t>(quantum);
    if (is_fill || exact) return 0;
    if (quantum < kQuantumLimit && quantum > -kQuantumLimit) return magnitude(quantum);
    space_.exact[i / kBlock] |= bit;  // forged: no quantum for a decoder
    return 0;
  }

  Orders take_differences() {
    std::uint32_t* const quanta = space_.encode.quanta;
    const Orders &a = a_.orders(), &b = b_.orders();
    Orders orders{std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z), 0};
    const bool none = orders.x + orders.y + orders.z == 0;
    orders.base = none ? (is_b(a.base, b.base) ? b.base : a.base) : static_cast<std::int32_t>(quanta[0]);
    add_everywhere<V>(quanta, box_.count(), 0 - static_cast<std::uint32_t>(orders.base));
    raise<V>(quanta, box_, Orders{}, orders);
    const unsigned padded = ceil_div(box_.count(), kBlock) * kBlock;
    for (unsigned i = box_.count(); i < padded; ++i) quanta[i] = 0;
    return orders;
  }

  const Linear<T>& linear_;
  const bool greatest_;
  const Box& box_;
  SumSpace& space_;
  ExtremumOperand<V, T> a_, b_;
};

}  // namespace homz::homcomp
