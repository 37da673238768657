// Writes a chunk from residuals that were computed. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_rows.hpp"
#include "codecs/homcomp/chunk_writer.hpp"
#include "homomorphic/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
class ValueWriter {
 public:
  // The space holds residuals (its encoder's quanta) and masks without a bit in common.
  ValueWriter(SumSpace& space, unsigned count)
      : space_(space), count_(count), blocks_(ceil_div(count, kBlock)), parts_(space.encode) {}

  // Returns its words; or 0, with nothing written, if that would not be smaller than the values. `range`: bit
  // width of the largest quantum. Exact values are those of the space.
  std::uint32_t write_coded(const Orders& orders, unsigned range, std::byte* to) {
    write_blocks();
    return assemble(orders, range, to);
  }

  // The same, but raw if it must be, or would not be smaller. The space holds all values.
  ChunkResult write(const Orders& orders, unsigned range, bool must_be_raw, std::byte* to) {
    ChunkResult result;
    if (!must_be_raw) result.words = write_coded(orders, range, to);
    if (result.words == 0) std::memcpy(to, space_.values, count_ * sizeof(T));
    result.has_exact = result.words == 0 || has_exact();
    return result;
  }

  bool has_exact() const { return exact_count_ != 0; }

 private:
  void write_blocks() {
    ChunkParts<V> parts(space_.encode);
    for (unsigned block = 0; block < blocks_; ++block)
      codes_[block] = static_cast<std::byte>(write_block(block, parts));
    parts_ = parts;
  }

  std::uint8_t write_block(unsigned block, ChunkParts<V>& parts) {
    const std::uint32_t* const residuals = space_.encode.quanta + kBlock * block;
    const std::uint32_t fill = space_.fill[block], exact = space_.exact[block];
    const unsigned width = bit_width(Block<V>::load(residuals).magnitudes().union_of());
    has_masks_ |= (fill | exact) != 0;
    exact_count_ += count_bits(exact);
    if (width == 0 && fill == first_bits(count_ - kBlock * block)) return kAllFill;
    std::uint8_t code = 0;
    if (fill != 0) parts.add_word(fill), code |= kFillMask;
    if (exact != 0) parts.add_word(exact), code |= kExactMask;
    return code | parts.add_residuals(residuals, width);
  }

  std::uint32_t assemble(const Orders& orders, unsigned range, std::byte* to) {
    const ChunkWriter<V> chunk(orders, range, codes_, blocks_, has_masks_);
    const unsigned value_bytes = exact_count_ * sizeof(T);
    const unsigned size = chunk.write(space_.encode, parts_, value_bytes, count_ * sizeof(T), to);
    if (size == 0 || exact_count_ == 0) return size / 4;
    for (unsigned block = 0; block < blocks_; ++block)
      for (std::uint32_t bits = space_.exact[block]; bits != 0; bits &= bits - 1, to += sizeof(T)) {
        const unsigned i = kBlock * block + static_cast<unsigned>(std::countr_zero(bits));
        std::memcpy(to, space_.values + i * sizeof(T), sizeof(T));
      }
    return size / 4;
  }

  SumSpace& space_;
  const unsigned count_, blocks_;
  unsigned exact_count_ = 0;
  bool has_masks_ = false;
  ChunkParts<V> parts_;
  BlockCodes codes_;
};

}  // namespace homz::homcomp
