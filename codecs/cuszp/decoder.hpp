// Decoding on the host: the segments of a payload independently.
#pragma once

#include "codecs/cuszp/payload_reader.hpp"

namespace homz::cuszp {

template <class T, class Layout>
class Decoder {
 public:
  Decoder(const Encoding& encoding, const Plan& plan, const Kernels& kernels, const Layout& layout,
          Bytes data, Segment* segments, unsigned threads)
      : coding_(encoding, plan),
        kernels_(kernels.of<T>()),
        layout_(layout),
        payload_(layout, plan.mode, segments),
        data_(data.data()),
        threads_(threads) {}

  Status decode(ConstBytes payload) {
    HOMZ_TRY(payload_.open(payload, sizeof(T), coding_.has_fill, threads_));
    return try_parallel_for(segment_count(layout_), threads_, [&](std::uint64_t s) {
      HOMZ_TRY(read_blocks(s));
      return patch(s);
    });
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;

  Status read_blocks(std::uint64_t s) const {
    const PlaceRange range(layout_, s);
    const std::byte* from = payload_.blocks_of(s);
    std::uint64_t left = payload_.segment(s).bytes, block = range.first;
    if (kDim == 1 && coding_.has_step()) {
      block = std::min(range.end, layout_.count() / kValues);
      const std::uint64_t read = kernels_.row.read(coding_, payload_.metadata() + range.first,
                                                   static_cast<unsigned>(block - range.first), from, left,
                                                   data_ + range.first * kValues * sizeof(T));
      if (read == kBeyond) return changed();
      from += read;
      left -= read;
    }
    for (; block < range.end; ++block) {
      Shape shape;
      if (!payload_.take_shape(block, left, shape)) return changed();
      T values[kValues] = {};
      if (!shape.zero()) read_block(from, shape, values);
      scatter(values, layout_.place(block), layout_.count(), data_);
      from += shape.bytes(Block<kDim>::kPlaneBytes);
    }
    return Status();
  }

  void read_block(const std::byte* from, Shape shape, T (&values)[kValues]) const {
    const auto unpack_tile = kernels_.template tiles<kDim>().unpack;
    if (kDim != 1 && coding_.has_step() && unpack_tile != nullptr) {
      unpack_tile(coding_, shape, from, values);
      return;
    }
    typename Block<kDim>::Values residuals, quanta;
    unpack<kDim>(from, shape, residuals);
    undo_residuals<kDim>(residuals, coding_.mode, quanta);
    for (unsigned i = 0; i < kValues; ++i) values[i] = coding_.by.restore(quanta[i]);
  }

  // Puts the exceptions of a segment in their elements.
  Status patch(std::uint64_t s) const {
    Elements elements(layout_, s);
    const auto put = [&](std::uint32_t position, BitsOf<T> bits) {
      std::uint64_t element;
      if (elements.find(position, element)) store_value(data_ + element * sizeof(T), bits);
    };
    HOMZ_TRY(payload_.exceptions().template visit<T>(
        s, payload_.segment(s).preceding, [&](std::uint32_t position) { put(position, coding_.fill); }, put));
    return elements.astray ? exceptions_corrupt("a position without an element") : Status();
  }

  // The elements of the positions of a segment; quickest for neighbours.
  class Elements {
   public:
    Elements(const Layout& layout, std::uint64_t s)
        : layout_(layout), range_(layout, s), block_(range_.end) {}

    bool astray = false;  // whether a position had none

    bool find(std::uint32_t position, std::uint64_t& element) {
      if constexpr (kDim == 1) {
        element = range_.first * kValues + position;
        return true;
      }
      if (block_ != range_.first + position / kValues) {
        block_ = range_.first + position / kValues;
        place_ = layout_.place(block_);
      }
      const unsigned i = position % kValues;
      const bool found = (place_.owned >> i & 1) != 0;
      astray |= !found;
      element = found ? place_.element(i) : 0;
      return found;
    }

   private:
    const Layout& layout_;
    const PlaceRange range_;
    std::uint64_t block_;  // that `place_` belongs to; range_.end: none yet
    Place<kDim> place_;
  };

  Coding<T> coding_;
  const KernelsFor<T>& kernels_;
  Layout layout_;
  PayloadReader<Layout> payload_;
  std::byte* data_;
  unsigned threads_;
};

}  // namespace homz::cuszp
