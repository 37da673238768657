// The blocks of an operand, one after the other, with what its exception list says of them.
#pragma once

#include "codecs/cuszp/payload_reader.hpp"
#include "homomorphic/cuszp/operand_block.hpp"

namespace homz::cuszp {

template <class T, class Layout>
class SegmentReader {
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;
  static constexpr unsigned kBlocks = kExceptionSegment / kValues;

 public:
  Status begin(const PayloadReader<Layout>& payload, std::uint64_t s) {
    const Segment& segment = payload.segment(s);
    payload_ = &payload;
    first_ = PlaceRange(payload.layout(), s).first;
    from_ = payload.blocks_of(s);
    left_ = segment.bytes;
    values_ = nullptr;
    is_patched_ = segment.exceptions.fill_runs + segment.exceptions.exact_runs != 0;
    if (!is_patched_) return Status();
    std::fill_n(fill_, kBlocks, 0);
    std::fill_n(exact_, kBlocks, 0);
    values_ = payload.exceptions().values_of(segment.preceding, sizeof(T));
    return payload.exceptions().template visit<T>(
        s, segment.preceding, [&](std::uint32_t position) { set(fill_, position); },
        [&](std::uint32_t position, BitsOf<T>) { set(exact_, position); });
  }

  std::uint64_t exact(std::uint64_t block) const { return is_patched_ ? exact_[block - first_] : 0; }
  std::uint64_t fill(std::uint64_t block) const {
    return is_patched_ ? fill_[block - first_] & ~exact(block) : 0;
  }

  // Blocks are read in order. The next one as it stands; false if it is damaged.
  bool peek(std::uint64_t block, PackedBlock& packed) const {
    std::uint64_t left = left_;
    packed.from = from_;
    return payload_->take_shape(block, left, packed.shape);
  }
  void skip(std::uint64_t block, const PackedBlock& packed) {
    const std::uint64_t bytes = packed.shape.bytes(Block<kDim>::kPlaneBytes);
    from_ += bytes;
    left_ -= bytes;
    values_ += sizeof(T) * static_cast<unsigned>(std::popcount(exact(block)));
  }

  Status next(std::uint64_t block, const Place<kDim>& place, OperandBlock<kDim>& content) {
    PackedBlock packed;
    if (!peek(block, packed)) return changed();
    if (packed.shape.zero()) {
      std::fill_n(content.quanta, kValues, 0);
    } else {
      typename Block<kDim>::Values residuals;
      unpack<kDim>(from_, packed.shape, residuals);
      undo_residuals<kDim>(residuals, payload_->mode(), content.quanta);
    }
    content.fill = fill(block);
    content.exact = exact(block);
    content.values = values_;
    if (((content.fill | content.exact) & ~place.owned) != 0)
      return exceptions_corrupt("a position without an element");
    skip(block, packed);
    return Status();
  }

 private:
  static void set(std::uint64_t (&masks)[kBlocks], std::uint32_t position) {
    masks[position / kValues] |= std::uint64_t{1} << position % kValues;
  }

  const PayloadReader<Layout>* payload_;
  std::uint64_t first_, left_;
  const std::byte* from_;  // the next block
  const std::byte* values_;
  bool is_patched_;
  std::uint64_t fill_[kBlocks], exact_[kBlocks];
};

}  // namespace homz::cuszp
