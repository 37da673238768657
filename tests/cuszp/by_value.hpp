// Blocks in a row coded value by value, straight from block_math.hpp: what every kernel is compared with.
#pragma once

#include <bit>
#include <vector>

#include "codecs/cuszp/block_math.hpp"
#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/layout.hpp"
#include "core/bound_check.hpp"
#include "core/exceptions.hpp"

namespace homz::test {

using Payload = std::vector<std::byte>;

template <class T>
class ByValue {
 public:
  ByValue(const Encoding& encoding, const cuszp::Plan& plan)
      : encoding_(encoding),
        plan_(plan),
        count_(encoding.field.count()),
        line_(count_, !plan.v1),
        by_(encoding.abs_error) {}

  Payload encode(const T* values) const {
    Payload payload(line_.metadata_bytes());
    std::vector<ExceptionCounter> counters(ceil_div(count_, kExceptionSegment));
    std::vector<Block> blocks(line_.blocks());
    ExceptionCounts total;
    for (std::uint64_t b = 0; b < blocks.size(); ++b) {
      blocks[b] = block(values, b);
      const cuszp::Shape shape = cuszp::choose_shape<1>(blocks[b].residuals, plan_.mode);
      payload[b] = shape.metadata();
      const std::size_t at = payload.size();
      payload.resize(at + shape.bytes(4));
      cuszp::pack<1>(blocks[b].residuals, shape, payload.data() + at);
      tell(blocks[b], values, b, counters[32 * b / kExceptionSegment]);
    }
    for (const ExceptionCounter& counter : counters) total += counter.counts();
    const std::size_t upstream = payload.size();
    payload.resize(upstream + exception_bytes(count_, total, sizeof(T)) + 8);
    if (payload.size() > upstream + 8) list(values, blocks, counters, total, payload.data() + upstream);
    store_le(payload.data() + payload.size() - 8, std::uint64_t{1} << 56 | upstream);
    return payload;
  }

  // What the blocks alone say, without the exceptions.
  std::vector<T> decode(const std::byte* payload) const {
    std::vector<T> values(count_);
    const std::byte* from = payload + line_.metadata_bytes();
    for (std::uint64_t b = 0; b < line_.blocks(); ++b) {
      cuszp::Shape shape;
      cuszp::read_shape<1>(payload[b], plan_.mode, shape);
      Values residuals = {}, quanta;
      if (!shape.zero()) cuszp::unpack<1>(from, shape, residuals);
      cuszp::undo_residuals<1>(residuals, plan_.mode, quanta);
      for (std::uint64_t i = 0; i < 32 && 32 * b + i < count_; ++i)
        values[32 * b + i] = by_.restore(quanta[i]);
      from += shape.bytes(4);
    }
    return values;
  }

 private:
  using Values = cuszp::Block<1>::Values;
  struct Block {
    Values residuals;
    std::uint32_t fill, exact;
  };

  Block block(const T* values, std::uint64_t b) const {
    Block block{};
    Values quanta = {}, residuals;
    const unsigned inside = static_cast<unsigned>(std::min<std::uint64_t>(32, count_ - 32 * b));
    for (unsigned i = 0; i < 32; ++i) quanta[i] = by_.quantise(values[32 * b + std::min(i, inside - 1)]);
    for (unsigned i = 0; i < inside; ++i) {
      const T x = values[32 * b + i];
      const bool fills = encoding_.fill_bits && bits_of(x) == static_cast<BitsOf<T>>(*encoding_.fill_bits);
      block.fill |= std::uint32_t{fills} << i;
    }
    const auto absent = static_cast<std::uint32_t>(~cuszp::low_bits(inside));
    cuszp::settle_vacant<1>(quanta, block.fill | (plan_.v1 ? 0 : absent), plan_.mode);
    if (plan_.v1) std::fill(quanta + inside, quanta + 32, 0);
    cuszp::find_residuals<1>(quanta, plan_.mode, block.residuals);
    std::copy_n(block.residuals, 32, residuals);
    if (cuszp::lose_magnitudes<1>(residuals)) cuszp::undo_residuals<1>(residuals, plan_.mode, quanta);
    for (unsigned i = 0; i < inside; ++i) {
      const bool good = within_bound(values[32 * b + i], by_.restore(quanta[i]), encoding_.abs_error);
      if (!good && (block.fill >> i & 1) == 0) block.exact |= 1u << i;
    }
    return block;
  }

  template <class Sink>
  static void tell(const Block& block, const T* values, std::uint64_t b, Sink& sink) {
    for (unsigned i = 0; i < 32; ++i) {
      const auto position = static_cast<std::uint32_t>((32 * b + i) % kExceptionSegment);
      if ((block.fill >> i & 1) != 0) sink.fill(position);
      if ((block.exact >> i & 1) != 0) sink.exact(position, values[32 * b + i]);
    }
  }

  void list(const T* values, const std::vector<Block>& blocks, const std::vector<ExceptionCounter>& counters,
            const ExceptionCounts& total, std::byte* to) const {
    const ExceptionLayout layout(to, count_, total);
    ExceptionCounts before;
    for (std::uint64_t s = 0; s < counters.size(); ++s) {
      ExceptionWriter writer(layout, s, before, counters[s].counts(), sizeof(T));
      for (std::uint64_t b = 2048 * s; b < std::min<std::uint64_t>(blocks.size(), 2048 * (s + 1)); ++b)
        tell(blocks[b], values, b, writer);
      before += counters[s].counts();
    }
  }

  const Encoding& encoding_;
  cuszp::Plan plan_;
  std::uint64_t count_;
  cuszp::Line line_;
  cuszp::Quantiser<T> by_;
};

}  // namespace homz::test
