// Encodes one chunk, all of it in the first-level cache: quantise, choose the orders, take differences,
// write. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_orders.hpp"
#include "codecs/homcomp/chunk_quanta.hpp"
#include "codecs/homcomp/chunk_writer.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkEncoder {
 public:
  ChunkEncoder(const Coding<T>& coding, const Box& box, const Box& next, const std::byte* data,
               EncodeSpace& space)
      : box_(box),
        next_(next),
        data_(data),
        count_(box.count()),
        blocks_(ceil_div(count_, kBlock)),
        quanta_(coding, box, next, data, space.quanta),
        space_(space),
        words_(space.quanta),
        parts_(space) {}

  // As EncodeChunk.
  std::uint32_t encode(std::byte* to) {
    quanta_.make();
    orders_ = OrderTrial<V>(words_, box_, quanta_.lattice()).choose();
    quanta_.suit(orders_);
    range_ = bit_width(quanta_.reach());
    take_differences();
    find_widths();
    quanta_.has_vacant() ? write_blocks<true>() : write_blocks<false>();
    return assemble(to);
  }

 protected:
  using Vec = typename V::Vec;

  // ---- Residuals

  // From the start of the buffer on, without gaps.
  void take_differences() {
    if (orders_.x == 0) take_differences<0>();
    if (orders_.x == 1) take_differences<1>();
    if (orders_.x == 2) take_differences<2>();
    std::memset(words_ + count_, 0, (kBlock * blocks_ - count_) * sizeof(std::uint32_t));
  }
  template <unsigned kX>
  void take_differences() {
    const unsigned along = orders_.y + 2 * orders_.z;
    if (along == 0) take_differences<kX, false, false>();
    if (along == 1) take_differences<kX, true, false>();
    if (along == 2) take_differences<kX, false, true>();
    if (along == 3) take_differences<kX, true, true>();
  }
  template <unsigned kX, bool kY, bool kZ>
  void take_differences() {
    if (box_.row() == kShortRow && kX + kY + kZ != 0) return take_differences_of_short_rows<kX, kY, kZ>();
    const Vec offset = V::all(static_cast<std::uint32_t>(orders_.offset()));
    const Lattice lattice =
        quanta_.lattice();  // locals: stores could change members, as far as compilers know
    const unsigned length = box_.row();
    for (RowWalk row(box_); !row.is_done(); row.next()) {
      const std::uint32_t* const from = words_ + lattice.index(row);
      std::uint32_t* const to = words_ + row.position();
      RowDifferences<V, kX> along_x(static_cast<std::uint32_t>(orders_.front_x()));
      for (unsigned x = 0; x < length; x += V::kLanes) {
        Vec residuals = along_x.next(across_rows<V, kY, kZ>(from + x, lattice));
        if constexpr (kX == 0 && !kY && !kZ) residuals -= offset;
        V::store(to + x, residuals);
      }
    }
  }

  // The same with the row in front kept in registers.
  template <unsigned kX, bool kY, bool kZ>
  void take_differences_of_short_rows() {
    constexpr unsigned kVectors = kShortRow / V::kLanes;
    const Lattice lattice = quanta_.lattice();
    const unsigned rows = box_.extents[2];
    const auto front = static_cast<std::uint32_t>(orders_.front_x());
    for (PlaneWalk plane(box_); !plane.is_done(); plane.next()) {
      const std::uint32_t* from = words_ + lattice.index(plane);
      std::uint32_t* to = words_ + plane.position();
      Vec above[kVectors];
      for (unsigned i = 0; i < kVectors; ++i)
        above[i] = across_rows<V, false, kZ>(from - kShortRow + i * V::kLanes, lattice);
      for (unsigned y = 0; y < rows; ++y, from += kShortRow, to += kShortRow) {
        RowDifferences<V, kX> along_x(front);
        for (unsigned i = 0; i < kVectors; ++i) {
          const Vec here = across_rows<V, false, kZ>(from + i * V::kLanes, lattice);
          V::store(to + i * V::kLanes, along_x.next(kY ? here - above[i] : here));
          above[i] = here;
        }
      }
    }
  }

  // Well before the branches that hang on them.
  void find_widths() {
    for (unsigned block = 0; block < blocks_; ++block) {
      const Block<V> residuals = Block<V>::load(words_ + kBlock * block);
      widths_[block] = static_cast<std::uint8_t>(bit_width(residuals.magnitudes().union_of()));
    }
  }

  // ---- Blocks

  template <bool kMasked>
  void write_blocks() {
    Prefetcher<T, false> next(next_, data_);
    ChunkParts<V> parts(space_);
    for (unsigned block = 0; block < blocks_; ++block) {
      if (box_.row() != kShortRow) next.next_block();
      codes_[block] = static_cast<std::byte>(write_block<kMasked>(block, parts));
    }
    parts_ = parts;
  }

  template <bool kMasked>
  [[gnu::always_inline]] inline std::uint8_t write_block(unsigned block, ChunkParts<V>& parts) {
    const unsigned width = widths_[block];
    std::uint8_t code = 0;
    if constexpr (kMasked) {
      const std::uint32_t fill = quanta_.fill(block), exact = quanta_.exact(block);
      if (width == 0 && fill == quanta_.valid(block)) return kAllFill;
      if (fill != 0) parts.add_word(fill), code |= kFillMask;
      if (exact != 0) parts.add_word(exact), code |= kExactMask;
      exact_count_ += count_bits(exact);
    }
    return code | parts.add_residuals(words_ + kBlock * block, width);
  }

  // ---- The chunk

  std::uint32_t assemble(std::byte* to) {
    const ChunkWriter<V> chunk(orders_, range_, codes_, blocks_, quanta_.has_vacant());
    const unsigned size = chunk.write(space_, parts_, exact_count_ * sizeof(T), count_ * sizeof(T), to);
    if (size != 0 && exact_count_ != 0) quanta_.write_exact_values(to);
    return size / 4;
  }

  const Box& box_;
  const Box& next_;
  const std::byte* const data_;
  const unsigned count_, blocks_;
  ChunkQuanta<V, T> quanta_;
  EncodeSpace& space_;
  std::uint32_t* const words_;  // quanta in their lattice; then residuals, from the start on
  ChunkParts<V> parts_;
  Orders orders_;
  unsigned range_ = 0;  // bit width of the largest quantum
  unsigned exact_count_ = 0;
  std::uint8_t widths_[kBlocks];
  BlockCodes codes_;
};

}  // namespace homz::homcomp
