// Blocks coded value by value, straight from block_math.hpp: what every kernel is compared with.
#pragma once

#include <algorithm>
#include <vector>

#include "codecs/cuszp/block_math.hpp"
#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/layout.hpp"
#include "core/bound_check.hpp"
#include "core/exceptions.hpp"

namespace homz::test {

using Payload = std::vector<std::byte>;

template <class T, class Layout>
class ByValue {
 public:
  ByValue(const Encoding& encoding, const cuszp::Plan& plan, const Layout& layout)
      : encoding_(encoding), plan_(plan), layout_(layout), by_(cuszp::half_step(encoding, plan)) {}

  Payload encode(const T* values) const {
    Payload payload(layout_.metadata_bytes());
    std::vector<ExceptionCounter> counters(ceil_div(layout_.positions(), kExceptionSegment));
    std::vector<Coded> blocks(layout_.places());
    ExceptionCounts total;
    for (std::uint64_t b = 0; b < blocks.size(); ++b) {
      blocks[b] = code(values, layout_.place(b));
      tell(blocks[b], b, counters[kValues * b / kExceptionSegment]);
      if (b == layout_.blocks()) break;
      const cuszp::Shape shape = cuszp::choose_shape<kDim>(blocks[b].residuals, plan_.mode);
      payload[b] = shape.metadata();
      const std::size_t at = payload.size();
      payload.resize(at + shape.bytes(kPlaneBytes));
      cuszp::pack<kDim>(blocks[b].residuals, shape, payload.data() + at);
    }
    for (const ExceptionCounter& counter : counters) total += counter.counts();
    const std::size_t upstream = payload.size();
    payload.resize(upstream + exception_bytes(layout_.positions(), total, sizeof(T)) + 8);
    if (payload.size() > upstream + 8) list(blocks, counters, total, payload.data() + upstream);
    store_le(payload.data() + payload.size() - 8, std::uint64_t{kDim} << 56 | upstream);
    return payload;
  }

  const Layout& layout() const { return layout_; }

  // What the blocks alone say, without the exceptions.
  std::vector<T> decode(const std::byte* payload) const {
    std::vector<T> values;
    for (const std::uint32_t quantum : quanta(payload)) values.push_back(by_.restore(quantum));
    return values;
  }

  // 0 for elements that are in no block.
  std::vector<std::uint32_t> quanta(const std::byte* payload) const {
    std::vector<std::uint32_t> all(layout_.count());
    const std::byte* from = payload + layout_.metadata_bytes();
    for (std::uint64_t b = 0; b < layout_.blocks(); ++b) {
      const auto place = layout_.place(b);
      cuszp::Shape shape;
      cuszp::read_shape<kDim>(payload[b], plan_.mode, shape);
      Values residuals = {}, quanta;
      if (!shape.zero()) cuszp::unpack<kDim>(from, shape, residuals);
      cuszp::undo_residuals<kDim>(residuals, plan_.mode, quanta);
      for (unsigned i = 0; i < kValues; ++i)
        if ((place.owned >> i & 1) != 0) all[place.element(i)] = quanta[i];
      from += shape.bytes(kPlaneBytes);
    }
    return all;
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = cuszp::Block<kDim>::kValues;
  static constexpr unsigned kPlaneBytes = cuszp::Block<kDim>::kPlaneBytes;
  using Values = typename cuszp::Block<kDim>::Values;
  struct Coded {
    Values residuals;
    T values[kValues];
    std::uint64_t fill, exact;  // those that are owned
  };

  Coded code(const T* data, const cuszp::Place<kDim>& place) const {
    Coded block{};
    Values quanta = {}, residuals;
    const std::uint64_t present = place.coded | place.owned;
    std::uint64_t fill = 0;
    for (unsigned i = 0; i < kValues; ++i) {
      const bool is_read = kDim == 1 || (present >> i & 1) != 0;  // what is absent in a row is the last value
      const T x = is_read ? data[std::min(place.element(i), layout_.count() - 1)] : T(0);
      block.values[i] = x;
      quanta[i] = by_.quantise(x);
      const bool fills = encoding_.fill_bits && bits_of(x) == static_cast<BitsOf<T>>(*encoding_.fill_bits);
      fill |= std::uint64_t{fills} << i;
    }
    fill &= present;
    const std::uint64_t absent = ~place.coded & cuszp::low_bits(kValues);
    cuszp::settle_vacant<kDim>(quanta, fill | (plan_.v1 ? 0 : absent), plan_.mode);
    for (unsigned i = 0; i < kValues; ++i)
      if (plan_.v1 && (absent >> i & 1) != 0) quanta[i] = 0;
    cuszp::find_residuals<kDim>(quanta, plan_.mode, block.residuals);
    std::copy_n(block.residuals, kValues, residuals);
    if (cuszp::lose_magnitudes<kDim>(residuals)) cuszp::undo_residuals<kDim>(residuals, plan_.mode, quanta);
    for (unsigned i = 0; i < kValues; ++i)
      if (!within_bound(block.values[i], by_.restore(quanta[i]), encoding_.abs_error))
        block.exact |= std::uint64_t{1} << i;
    block.exact &= place.owned & ~fill;
    block.fill = fill & place.owned;
    return block;
  }

  template <class Sink>
  static void tell(const Coded& block, std::uint64_t b, Sink& sink) {
    for (unsigned i = 0; i < kValues; ++i) {
      const auto position = static_cast<std::uint32_t>((kValues * b + i) % kExceptionSegment);
      if ((block.fill >> i & 1) != 0) sink.fill(position);
      if ((block.exact >> i & 1) != 0) sink.exact(position, block.values[i]);
    }
  }

  void list(const std::vector<Coded>& blocks, const std::vector<ExceptionCounter>& counters,
            const ExceptionCounts& total, std::byte* to) const {
    constexpr std::uint64_t kInSegment = kExceptionSegment / kValues;
    const ExceptionLayout layout(to, layout_.positions(), total);
    ExceptionCounts before;
    for (std::uint64_t s = 0; s < counters.size(); ++s) {
      ExceptionWriter writer(layout, s, before, counters[s].counts(), sizeof(T));
      for (std::uint64_t b = kInSegment * s; b < std::min<std::uint64_t>(blocks.size(), kInSegment * (s + 1));
           ++b)
        tell(blocks[b], b, writer);
      before += counters[s].counts();
    }
  }

  const Encoding& encoding_;
  cuszp::Plan plan_;
  Layout layout_;
  cuszp::Quantiser<T> by_;
};

// Calls f(ByValue) for the layout that the plan names; extents as they are, up to three of them.
template <class T, class F>
auto with_by_value(const Encoding& encoding, const cuszp::Plan& plan, F&& f) {
  const Field& field = encoding.field;
  const auto extent = [&](unsigned from_fastest) {
    return from_fastest < field.rank ? field.extents[field.rank - 1 - from_fastest] : 1;
  };
  if (plan.dim == 2) {
    const cuszp::Tiles<2> layout(extent(2), extent(1), extent(0));
    return f(ByValue<T, cuszp::Tiles<2>>(encoding, plan, layout));
  }
  if (plan.dim == 3) {
    const cuszp::Tiles<3> layout(extent(2), extent(1), extent(0));
    return f(ByValue<T, cuszp::Tiles<3>>(encoding, plan, layout));
  }
  return f(ByValue<T, cuszp::Line>(encoding, plan, cuszp::Line(field.count(), !plan.v1)));
}

}  // namespace homz::test
