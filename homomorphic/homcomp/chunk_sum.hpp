// The linear combination of chunks that stand at the same place: as bit planes where all that is needed are
// the residuals, value by value otherwise. Both give the same residuals. A template over the vector
// primitives V.
#pragma once

#include "homomorphic/homcomp/chunk_planes.hpp"
#include "homomorphic/homcomp/kernels.hpp"
#include "homomorphic/homcomp/value_writer.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkSum {
 public:
  ChunkSum(const Linear<T>& linear, const Box& box, std::span<const ChunkRef> chunks, SumSpace& space)
      : linear_(linear),
        box_(box),
        chunks_(chunks),
        space_(space),
        readers_(reinterpret_cast<BlockReader<V>*>(space.readers)),
        count_(box.count()),
        blocks_(ceil_div(count_, kBlock)) {}

  // As CombineChunks.
  ChunkResult write(std::byte* to) {
    ChunkResult result;
    result.wrong = open();
    if (result.wrong != nullptr) return result;
    if (!any_raw_ && !may_overflow_) {
      result = are_planes_enough() ? write_planes(to) : write_residuals(to);
      if (result.wrong != nullptr || result.words != 0) return result;
      result.wrong = open();  // as large as its values: once more, for them
      if (result.wrong != nullptr) return result;
    }
    return write_by_value(to);
  }

 private:
  using Vec = typename V::Vec;

  // ---- Operands

  // What is known of all operands before their blocks are read.
  const char* open() {
    orders_ = Orders{0, 0, 0, linear_.shift};
    std::uint64_t reach = magnitude(linear_.shift);
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      any_raw_ |= chunks_[i].is_raw;
      if (chunks_[i].is_raw) continue;
      BlockReader<V>& reader = *new (readers_ + i) BlockReader<V>;
      const char* const wrong = reader.open(chunks_[i].bytes, count_, sizeof(T), linear_.has_fill);
      if (wrong != nullptr) return wrong;
      reader.set_limit(chunks_[i].limit);
      const Orders& orders = reader.orders();
      if (i != 0 && (orders.x != orders_.x || orders.y != orders_.y || orders.z != orders_.z))
        orders_differ_ = true;
      if (orders.x > orders_.x) orders_.x = orders.x;
      if (orders.y > orders_.y) orders_.y = orders.y;
      if (orders.z > orders_.z) orders_.z = orders.z;
      orders_.base = static_cast<std::int32_t>(static_cast<std::uint32_t>(orders_.base) +
                                               factor(i) * static_cast<std::uint32_t>(orders.base));
      reach += std::uint64_t{magnitude(linear_.factors[i])} * ((std::uint64_t{1} << reader.range()) - 1);
      has_masks_ |= reader.has_masks();
      has_exact_ |= reader.has_exact_masks();
      is_plain_ &= linear_.factors[i] == 1 || linear_.factors[i] == -1;
    }
    may_overflow_ = reach >= kQuantumLimit;
    range_ = may_overflow_ ? 0 : bit_width(static_cast<std::uint32_t>(reach));
    return nullptr;
  }

  std::uint32_t factor(std::size_t operand) const {
    return static_cast<std::uint32_t>(linear_.factors[operand]);
  }

  bool are_planes_enough() const { return is_plain_ && !orders_differ_ && !has_exact_; }

  ChunkResult write_planes(std::byte* to) {
    ChunkPlanes<V> planes({readers_, chunks_.size()}, linear_.factors, has_masks_, count_, space_.encode);
    ChunkResult result;
    result.wrong = planes.add();
    if (result.wrong == nullptr) result.words = planes.write(orders_, range_, count_ * sizeof(T), to) / 4;
    return result;
  }

  // ---- As residuals

  ChunkResult write_residuals(std::byte* to) {
    ChunkResult result;
    clear();
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (!read_residuals(i)) return {"masks of no meaning"};
      add_residuals(i);
    }
    exclude_fill();
    if (has_exact_) {
      if (!are_kept()) result.wrong = open();
      for (std::size_t i = 0; i < chunks_.size() && result.wrong == nullptr; ++i)
        if (!add_exact_values(i)) result.wrong = "masks of no meaning";
      if (result.wrong != nullptr) return result;
      finish_exact_values();
    }
    ValueWriter<V, T> writer(space_, count_);
    result.words = writer.write_coded(orders_, range_, to);
    result.has_exact = writer.has_exact();
    return result;
  }

  void clear() {
    std::memset(space_.fill, 0, sizeof(space_.fill));
    std::memset(space_.exact, 0, sizeof(space_.exact));
    std::memset(space_.encode.quanta, 0, kBlock * blocks_ * sizeof(std::uint32_t));
  }
  void exclude_fill() {
    for (unsigned block = 0; block < blocks_; ++block) space_.exact[block] &= ~space_.fill[block];
  }

  // Where an operand's residuals, and then its quanta, are.
  std::uint32_t* own(std::size_t operand) const { return space_.operands[are_kept() ? operand : 0]; }
  bool are_kept() const { return chunks_.size() <= SumSpace::kKept; }

  // An operand's residuals, of the orders of the sum; its masks to those of the sum.
  bool read_residuals(std::size_t operand) {
    BlockReader<V>& reader = readers_[operand];
    for (unsigned block = 0; block < blocks_; ++block) {
      Block<V> residuals;
      if (!reader.read(block, residuals)) return false;
      residuals.store(own(operand) + kBlock * block);
      if (reader.is_masked(block)) {
        space_.fill[block] |= reader.fill(block);
        space_.exact[block] |= reader.exact(block);
      }
    }
    raise<V>(own(operand), box_, reader.orders(), orders_);
    return true;
  }

  void add_residuals(std::size_t operand) {
    const std::uint32_t* const residuals = own(operand);
    std::uint32_t* const sum = space_.encode.quanta;
    const Vec times = V::all(factor(operand));
    for (unsigned i = 0; i < kBlock * blocks_; i += V::kLanes)
      V::store(sum + i, V::load(sum + i) + times * V::load(residuals + i));
  }

  // An operand's residuals become its quanta.
  void undo_differences(std::size_t operand) {
    Orders orders = orders_;
    orders.base = readers_[operand].orders().base;
    homcomp::undo_differences<V>(own(operand), box_, orders);
  }

  // Of few operands the residuals are there still, of more they are read once more.
  bool add_exact_values(std::size_t operand) {
    if (!are_kept() && !read_residuals(operand)) return false;
    exclude_fill();
    undo_differences(operand);
    const BlockReader<V>& reader = readers_[operand];
    const std::byte* own_value = reader.exact_values().data();
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::uint32_t exact = reader.is_masked(block) ? reader.exact(block) : 0;
      for (std::uint32_t bits = exact | space_.exact[block]; bits != 0; bits &= bits - 1) {
        const auto bit = static_cast<unsigned>(std::countr_zero(bits));
        const unsigned i = kBlock * block + bit;
        T x = restore(static_cast<std::int32_t>(own(operand)[i]), linear_.step);
        if ((exact >> bit & 1) != 0) {
          x = load_value<T>(own_value);
          own_value += sizeof(T);
        }
        if (is_set(space_.exact, i)) add_value(operand, i, x);  // not fill in another
      }
    }
    return true;
  }

  void finish_exact_values() {
    for (unsigned block = 0; block < blocks_; ++block)
      for (std::uint32_t bits = space_.exact[block]; bits != 0; bits &= bits - 1) {
        const unsigned i = kBlock * block + static_cast<unsigned>(std::countr_zero(bits));
        set_value(i, finished(linear_, value(i)));
      }
  }

  // ---- Value by value

  ChunkResult write_by_value(std::byte* to) {
    ChunkResult result;
    clear();
    std::memset(space_.quanta, 0, sizeof(space_.quanta));
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      result.wrong = chunks_[i].is_raw ? add_raw(i) : add_values(i);
      if (result.wrong != nullptr) return result;
    }
    exclude_fill();
    finish_values();
    return ValueWriter<V, T>(space_, count_).write(orders_, range_, any_raw_, to);
  }

  T value(unsigned i) const { return load_value<T>(space_.values + i * sizeof(T)); }
  void set_value(unsigned i, T x) { store_value(space_.values + i * sizeof(T), x); }
  static bool is_set(const std::uint32_t* mask, unsigned i) {
    return (mask[i / kBlock] >> i % kBlock & 1) != 0;
  }

  // Operands add up in order; the first is not added to a 0, which would lose the sign of a -0.
  void add_value(std::size_t operand, unsigned i, T x) {
    const T term = static_cast<T>(linear_.factors[operand]) * x;
    set_value(i, operand == 0 ? term : value(i) + term);
  }

  const char* add_raw(std::size_t operand) {
    const std::byte* from = chunks_[operand].bytes.data();
    for (unsigned i = 0; i < count_; ++i, from += sizeof(T)) {
      const T x = load_value<T>(from);
      const bool is_fill = linear_.has_fill && bits_of(x) == linear_.fill;
      std::uint32_t* const mask = is_fill ? space_.fill : space_.exact;
      mask[i / kBlock] |= 1u << i % kBlock;
      add_value(operand, i, x);
    }
    return nullptr;
  }

  const char* add_values(std::size_t operand) {
    if (!read_residuals(operand)) return "masks of no meaning";
    add_residuals(operand);
    undo_differences(operand);
    const BlockReader<V>& reader = readers_[operand];
    const std::byte* exact_values = reader.exact_values().data();
    for (unsigned block = 0; block < blocks_; ++block) {
      const bool is_masked = reader.is_masked(block);
      add_block(operand, block, is_masked ? reader.exact(block) : 0, exact_values);
    }
    return nullptr;
  }

  void add_block(std::size_t operand, unsigned block, std::uint32_t exact, const std::byte*& exact_values) {
    const std::int64_t times = linear_.factors[operand];
    const unsigned end = std::min(count_, kBlock * (block + 1));
    for (unsigned i = kBlock * block; i < end; ++i, exact >>= 1) {
      const auto quantum = static_cast<std::int32_t>(own(operand)[i]);
      space_.quanta[i] += times * quantum;
      if ((exact & 1) == 0) {
        add_value(operand, i, restore(quantum, linear_.step));
      } else {
        add_value(operand, i, load_value<T>(exact_values));
        exact_values += sizeof(T);
      }
    }
  }

  // What leaves the range of quanta becomes exact.
  void finish_values() {
    std::uint32_t reach = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (is_set(space_.fill, i)) {
        set_value(i, value_of<T>(linear_.fill));
      } else if (is_set(space_.exact, i)) {
        set_value(i, finished(linear_, value(i)));
      } else {
        const std::int64_t quantum = space_.quanta[i] + linear_.shift;
        set_value(i, static_cast<T>(quantum) * linear_.scaled_step);
        if (quantum < kQuantumLimit && quantum > -kQuantumLimit)
          reach |= magnitude(static_cast<std::int32_t>(quantum));
        else
          space_.exact[i / kBlock] |= 1u << i % kBlock;
      }
    }
    if (may_overflow_) range_ = bit_width(reach);
  }

  const Linear<T>& linear_;
  const Box& box_;
  const std::span<const ChunkRef> chunks_;
  SumSpace& space_;
  BlockReader<V>* const readers_;
  const unsigned count_, blocks_;
  Orders orders_;
  unsigned range_ = 0;
  bool any_raw_ = false, orders_differ_ = false, has_masks_ = false, has_exact_ = false;
  bool may_overflow_ = false, is_plain_ = true;
};

}  // namespace homz::homcomp
