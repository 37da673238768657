// The linear combination of chunks that stand at the same place: as bit planes where all that is needed are
// the residuals, value by value otherwise. Both give the same residuals. A template over the vector
// primitives V.
#pragma once

#include "codecs/homcomp/chunk_writer.hpp"
#include "homomorphic/homcomp/kernels.hpp"
#include "homomorphic/homcomp/plane_sum.hpp"
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
        blocks_(ceil_div(count_, kBlock)),
        parts_(space.encode) {}

  // As CombineChunks.
  ChunkResult write(std::byte* to) {
    ChunkResult result;
    result.wrong = open();
    if (result.wrong != nullptr) return result;
    if (can_add_planes()) {
      result.wrong = add_planes();
      if (result.wrong == nullptr) result.words = assemble(to);
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

  bool can_add_planes() const {
    return is_plain_ && !any_raw_ && !orders_differ_ && !has_exact_ && !may_overflow_;
  }

  // ---- As planes

  const char* add_planes() {
    ChunkParts<V> parts(space_.encode);
    for (unsigned first = 0; first < blocks_; first += V::kLanes) {
      const unsigned lanes = std::min(V::kLanes, blocks_ - first);
      PlaneSum<V> sum;
      std::uint32_t fill[V::kLanes] = {};
      for (std::size_t i = 0; i < chunks_.size(); ++i)
        if (!add_operand(i, first, lanes, sum, fill)) return "masks of no meaning";
      write_batch(sum, first, lanes, fill, parts);
    }
    parts_ = parts;
    return nullptr;
  }

  [[gnu::always_inline]] inline bool add_operand(std::size_t operand, unsigned first, unsigned lanes,
                                                 PlaneSum<V>& sum, std::uint32_t* fill) {
    BlockReader<V>& reader = readers_[operand];
    std::uint32_t sparse[V::kLanes][V::kLanes];
    PlaneWords blocks[V::kLanes];
    for (unsigned lane = lanes; lane < V::kLanes; ++lane) {
      std::memset(sparse[lane], 0, sizeof(sparse[lane]));
      blocks[lane] = {reinterpret_cast<const std::byte*>(sparse[lane]), 1, sizeof(sparse[lane])};
    }
    unsigned widest = 1;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!reader.read(first + lane, sparse[lane], blocks[lane])) return false;
      widest = std::max(widest, blocks[lane].width);
      if (has_masks_ && reader.is_masked(first + lane)) fill[lane] |= reader.fill(first + lane);
    }
    PlaneBatch<V> batch;
    batch.load(blocks, widest);
    sum.add(batch, widest, factor(operand) == 1 ? 0 : ~0u);
    return true;
  }

  [[gnu::always_inline]] inline void write_batch(const PlaneSum<V>& sum, unsigned first, unsigned lanes,
                                                 const std::uint32_t* fill, ChunkParts<V>& parts) {
    PlaneBatch<V> batch;
    sum.finish(batch);
    batch.transpose(sum.width());
    for (unsigned lane = 0; lane < lanes; ++lane)
      codes_[first + lane] = static_cast<std::byte>(
          write_block(batch, sum.width(), lane, has_masks_ ? fill[lane] : 0, first + lane, parts));
  }

  [[gnu::always_inline]] inline std::uint8_t write_block(const PlaneBatch<V>& batch, unsigned most,
                                                         unsigned lane, std::uint32_t fill, unsigned block,
                                                         ChunkParts<V>& parts) {
    std::uint64_t used = 0;  // bit k: word k is not 0
    for (unsigned group = 0; group * V::kLanes <= most; ++group)
      used |= std::uint64_t{V::not_zero(batch.row(group, lane))} << group * V::kLanes;
    const unsigned width = bit_width(static_cast<std::uint32_t>(used >> 1));
    std::uint8_t code = 0;
    if (fill != 0) {
      if (width == 0 && fill == valid(block)) return kAllFill;
      parts.add_word(fill);
      code = kFillMask;
    }
    if (width <= 1) {
      const Vec& row = batch.row(0, lane);
      return code | parts.add_sparse(row[1], row[0]);
    }
    for (unsigned group = 0; group * V::kLanes <= width; ++group)
      parts.put_words(group * V::kLanes, batch.row(group, lane));
    parts.skip_words(1 + width);
    return code | static_cast<std::uint8_t>(kDense + width);
  }

  // ---- Value by value

  ChunkResult write_by_value(std::byte* to) {
    ChunkResult result;
    std::uint32_t* const residuals = space_.encode.quanta;
    std::memset(residuals, 0, kBlock * blocks_ * sizeof(std::uint32_t));
    std::memset(space_.quanta, 0, sizeof(space_.quanta));
    std::memset(space_.fill, 0, sizeof(space_.fill));
    std::memset(space_.exact, 0, sizeof(space_.exact));
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      result.wrong = chunks_[i].is_raw ? add_raw(i) : add_values(i);
      if (result.wrong != nullptr) return result;
    }
    for (unsigned block = 0; block < blocks_; ++block) space_.exact[block] &= ~space_.fill[block];
    finish_values();
    return ValueWriter<V, T>(space_, count_).write(orders_, range_, any_raw_, to);
  }

  T value(unsigned i) const { return load_value<T>(space_.values + i * sizeof(T)); }
  void set_value(unsigned i, T x) { store_value(space_.values + i * sizeof(T), x); }
  std::uint32_t valid(unsigned block) const { return first_bits(count_ - kBlock * block); }
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
      (is_fill ? space_.fill : space_.exact)[i / kBlock] |= 1u << i % kBlock;
      add_value(operand, i, x);
    }
    return nullptr;
  }

  const char* add_values(std::size_t operand) {
    BlockReader<V>& reader = readers_[operand];
    std::uint32_t* const own = space_.operand;
    for (unsigned block = 0; block < blocks_; ++block) {
      Block<V> residuals;
      if (!reader.read(block, residuals)) return "masks of no meaning";
      residuals.store(own + kBlock * block);
    }
    raise<V>(own, box_, reader.orders(), orders_);
    std::uint32_t* const sum = space_.encode.quanta;
    for (unsigned i = 0; i < kBlock * blocks_; ++i) sum[i] += factor(operand) * own[i];
    Orders orders = orders_;
    orders.base = reader.orders().base;
    undo_differences<V>(own, box_, orders);
    const std::byte* exact_values = reader.exact_values().data();
    for (unsigned block = 0; block < blocks_; ++block) {
      const bool is_masked = reader.is_masked(block);
      const std::uint32_t exact = is_masked ? reader.exact(block) : 0;
      space_.exact[block] |= exact;
      if (is_masked) space_.fill[block] |= reader.fill(block);
      add_block(operand, block, exact, exact_values);
    }
    return nullptr;
  }

  void add_block(std::size_t operand, unsigned block, std::uint32_t exact, const std::byte*& exact_values) {
    const std::int64_t times = linear_.factors[operand];
    const unsigned end = std::min(count_, kBlock * (block + 1));
    for (unsigned i = kBlock * block; i < end; ++i, exact >>= 1) {
      const auto quantum = static_cast<std::int32_t>(space_.operand[i]);
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
        const T sum = linear_.shift == 0 ? value(i) : value(i) + linear_.shift_value;
        set_value(i, any_nan_alike(linear_.scale * sum));
      } else {
        const std::int64_t quantum = space_.quanta[i] + linear_.shift;
        set_value(i, static_cast<T>(quantum) * linear_.scaled_step);
        if (quantum < kQuantumLimit && quantum > -kQuantumLimit)
          reach |= magnitude(static_cast<std::int32_t>(quantum));
        else
          space_.exact[i / kBlock] |= 1u << i % kBlock;
      }
    }
    range_ = bit_width(reach);
  }

  // ---- The chunk as a sum of planes

  std::uint32_t assemble(std::byte* to) {
    const ChunkWriter<V> chunk(orders_, range_, codes_, blocks_, has_masks_);
    return chunk.write(space_.encode, parts_, 0, count_ * sizeof(T), to) / 4;
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
  ChunkParts<V> parts_;
  BlockCodes codes_;
};

}  // namespace homz::homcomp
