// Encodes one chunk, all of it in the first-level cache: quantise, choose the orders, take differences, write.
// A template over the vector primitives V (simd_portable.hpp tells what they are).
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/chunk_orders.hpp"
#include "codecs/homcomp/chunk_rows.hpp"
#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkEncoder {
 public:
  ChunkEncoder(const Coding<T>& coding, const Box& box, const std::byte* data)
      : coding_(coding), box_(box), data_(data), count_(box.count()), blocks_(ceil_div(count_, kBlock)) {}

  // As EncodeChunk.
  std::uint32_t encode(std::byte* to) {
    quantise();
    if (reach_ >> kLimitBit != 0) quantise_all_by_value();
    if (has_vacant_) settle_vacant({1, 1, 1, first_quantum()});
    quanta_[kFront - 2] = quanta_[kFront - 1] = quanta()[0];
    orders_ = OrderTrial<V>(quanta(), box_).choose();
    if (has_vacant_ && orders_.x == 0) settle_vacant(orders_);
    difference_planes_and_rows<V>(quanta(), box_, orders_);
    write_blocks();
    return assemble(to);
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kFront = 16;  // room in front of the quanta; a whole cache line
  static constexpr unsigned kLimitBit = 30;
  static_assert(kQuantumLimit == 1 << kLimitBit);

  std::uint32_t* quanta() { return quanta_ + kFront; }

  std::uint32_t valid(unsigned block) const {  // positions that have a value
    const unsigned values = count_ - kBlock * block;
    return values >= kBlock ? ~0u : (1u << values) - 1;
  }

  // ---- Quanta

  // The 32 values of the next block: where they are if they lie together, else copied to `together`.
  const std::byte* gather(Cursor& cursor, unsigned block, std::byte* together) const {
    if (cursor.left() >= kBlock) {
      const std::byte* const values = data_ + cursor.at() * sizeof(T);
      cursor.advance(kBlock);
      return values;
    }
    unsigned need = std::min(kBlock, count_ - kBlock * block);
    if (need < kBlock) std::memset(together, 0, kBlock * sizeof(T));
    for (std::byte* to = together; need != 0;) {
      const unsigned piece = std::min(need, cursor.left());
      copy_values<T>(to, data_ + cursor.at() * sizeof(T), piece);
      to += piece * sizeof(T);
      need -= piece;
      cursor.advance(piece);
    }
    return together;
  }

  void quantise() {
    Cursor cursor(box_);
    std::byte together[kBlock * sizeof(T)];
    Vec reach = V::all(0);
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::byte* const values = gather(cursor, block, together);
      Block<V> q;
      std::uint32_t bad = 0, fill = 0;
      for (unsigned i = 0; i < V::kVectors; ++i) {
        const unsigned at = i * V::kLanes;
        bad |= V::template quantise<T>(values + at * sizeof(T), coding_.by, q.v[i]) << at;
        if (coding_.has_fill) fill |= V::template equal<T>(values + at * sizeof(T), coding_.fill) << at;
      }
      q.store(quanta() + kBlock * block);
      fill_[block] = exact_[block] = 0;
      if ((bad | fill) != 0) [[unlikely]]
        resolve(block, values, bad, fill);
      else
        for (const Vec v : q.v) reach |= V::magnitude(v);
    }
    reach_ |= V::union_of(reach);
  }

  // A block with fill values, or with values whose nearest quantum does not do.
  void resolve(unsigned block, const std::byte* values, std::uint32_t bad, std::uint32_t fill) {
    std::uint32_t* const quanta = this->quanta() + kBlock * block;
    fill &= valid(block);
    std::uint32_t exact = 0;
    for (std::uint32_t bits = bad & valid(block) & ~fill; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(bits));
      std::int32_t quantum = 0;
      if (!homcomp::quantise(load_value<T>(values + i * sizeof(T)), coding_.by, quantum)) exact |= 1u << i;
      quanta[i] = static_cast<std::uint32_t>(quantum);
    }
    fill_[block] = fill;
    exact_[block] = exact;
    has_vacant_ |= (fill | exact) != 0;
    for (std::uint32_t bits = valid(block) & ~(fill | exact); bits != 0; bits &= bits - 1)
      reach_ |= magnitude(static_cast<std::int32_t>(quanta[std::countr_zero(bits)]));
  }

  // For chunks with quanta beyond the limit: the vector code does not look for them value by value.
  void quantise_all_by_value() {
    Cursor cursor(box_);
    std::byte together[kBlock * sizeof(T)];
    reach_ = 0;
    for (unsigned block = 0; block < blocks_; ++block)
      resolve(block, gather(cursor, block, together), ~0u, fill_[block]);
  }

  std::int32_t first_quantum() {
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::uint32_t kept = valid(block) & ~(fill_[block] | exact_[block]);
      if (kept != 0) return static_cast<std::int32_t>(quanta()[kBlock * block + std::countr_zero(kept)]);
    }
    return 0;
  }

  // Positions without a quantum of their own take that of the neighbour along the first axis that `orders` takes
  // differences along, and its base where there is no such neighbour: their residuals are then small, mostly 0.
  void settle_vacant(const Orders& orders) {
    unsigned row_end = box_.row(), y = 0, z = 0;  // of the position reached
    for (unsigned block = 0; block < blocks_; ++block) {
      std::uint32_t vacant = fill_[block] | exact_[block];
      while (vacant != 0) {
        const auto first = static_cast<unsigned>(std::countr_zero(vacant));
        const unsigned at = kBlock * block + first;
        for (; at >= row_end; row_end += box_.row())
          if (++y == box_.extents[2]) {
            y = 0;
            if (++z == box_.extents[1]) z = 0;
          }
        const auto run = std::min(static_cast<unsigned>(std::countr_one(vacant >> first)), row_end - at);
        vacant &= ~static_cast<std::uint32_t>(((std::uint64_t{1} << run) - 1) << first);
        settle_run(at, run, orders, at != row_end - box_.row(), y != 0, z != 0);
      }
    }
  }

  // A run of vacant positions within a row, and whether there is a neighbour along each axis.
  void settle_run(unsigned at, unsigned run, const Orders& orders, bool has_x, bool has_y, bool has_z) {
    std::uint32_t* const to = quanta() + at;
    const bool along_x = orders.x != 0 && has_x;
    const unsigned back = orders.y != 0 && has_y ? box_.row() : orders.z != 0 && has_z ? box_.plane() : 0;
    if (orders.x == 0 && back != 0)
      for (unsigned i = 0; i < run; ++i) to[i] = *(to + i - back);
    else
      std::fill_n(to, run, along_x ? to[-1] : back != 0 ? *(to - back) : static_cast<std::uint32_t>(orders.base));
  }

  // ---- Blocks

  void write_blocks() {
    RowStarts rows(box_.row());
    const auto front = static_cast<std::uint32_t>(orders_.x == 0 ? orders_.offset() : orders_.front_x());
    for (unsigned block = 0; block < blocks_; ++block) {
      rows.next();
      Block<V> residuals = difference_along_x<V>(quanta() + kBlock * block, orders_.x, rows, front);
      if (valid(block) != ~0u) [[unlikely]]
        for (unsigned i = 0; i < V::kVectors; ++i)
          residuals.v[i] = V::select(valid(block) >> i * V::kLanes & V::kAll, residuals.v[i], V::all(0));
      write_block(block, residuals);
    }
  }

  void write_block(unsigned block, const Block<V>& residuals) {
    const Block<V> sizes = residuals.magnitudes();
    const unsigned width = bit_width(sizes.union_of());
    const std::uint32_t fill = fill_[block], exact = exact_[block];
    std::uint8_t code = kZero;
    if (width == 0 && fill == valid(block)) {
      code = kAllFill;
      ++all_fill_;
    } else if ((fill | exact) != 0) {
      code = write_masks(fill, exact);
    }
    if (width == 1) code |= write_sparse(sizes.not_zero(), residuals.signs());
    if (width >= 2) {
      code |= static_cast<std::uint8_t>(kDense + width);
      store_le(words_ + words_used_, residuals.signs());
      V::planes(sizes.v, width, words_ + words_used_ + 4);
      words_used_ += 4 * (1 + width);
    }
    zeros_ += code == kZero;
    codes_[block] = code;
  }

  std::uint8_t write_masks(std::uint32_t fill, std::uint32_t exact) {
    std::uint8_t code = 0;
    if (fill != 0) {
      code |= kFillMask;
      store_le(words_ + words_used_, fill);
      words_used_ += 4;
    }
    if (exact != 0) {
      code |= kExactMask;
      store_le(words_ + words_used_, exact);
      words_used_ += 4;
      exact_count_ += count_bits(exact);
    }
    return code;
  }

  std::uint8_t write_sparse(std::uint32_t plane, std::uint32_t signs) {
    const std::uint8_t code = sparse_code(plane);
    const std::uint32_t bytes = sparse_bytes_mask(code);
    const unsigned plane_bytes = count_bits(bytes) / 8, sign_bytes = ceil_div(count_bits(plane), 8u);
    store_le(sparse_ + sparse_used_, V::bits_where(plane, bytes) |
                                         static_cast<std::uint64_t>(V::bits_where(signs, plane)) << 8 * plane_bytes);
    sparse_used_ += plane_bytes + sign_bytes;
    return code;
  }

  // ---- The chunk

  std::uint32_t assemble(std::byte* to) {
    const std::uint8_t otherwise = all_fill_ > zeros_ ? kAllFill : kZero;
    std::byte head[ChunkHead::kMax + 3];
    const unsigned head_bytes = write_head(head, otherwise);
    const unsigned value_bytes = exact_count_ * sizeof(T);
    const unsigned size = head_bytes + words_used_ + value_bytes + ceil_div(sparse_used_, 4u) * 4;
    if (size >= count_ * sizeof(T)) return 0;
    std::memcpy(to, head, head_bytes);
    to += head_bytes;
    std::memcpy(to, words_, words_used_);
    to += words_used_;
    if (exact_count_ != 0) to = write_exact_values(to);
    std::memset(sparse_ + sparse_used_, 0, 3);
    std::memcpy(to, sparse_, ceil_div(sparse_used_, 4u) * 4);
    return size / 4;
  }

  unsigned write_head(std::byte* to, std::uint8_t otherwise) const {
    std::byte* at = to + ChunkHead::kBytes;
    std::uint8_t flags = static_cast<std::uint8_t>(orders_.x | (orders_.y != 0 ? ChunkHead::kOrderY : 0) |
                                                   (orders_.z != 0 ? ChunkHead::kOrderZ : 0));
    if (otherwise == kAllFill) flags |= ChunkHead::kElseFill;
    if (orders_.base != 0) {
      flags |= ChunkHead::kHasBase;
      store_le(at, static_cast<std::uint32_t>(orders_.base));
      at += 4;
    }
    std::byte codes[kBlocks];
    unsigned used = 0;
    std::uint16_t top = 0;
    for (unsigned first = 0; first < blocks_; first += ChunkHead::kCodeGroup) {
      unsigned coded = 0;
      for (unsigned i = 0; i < ChunkHead::kCodeGroup && first + i < blocks_; ++i) {
        const std::uint8_t code = codes_[first + i];
        codes[used] = static_cast<std::byte>(code);
        used += code != otherwise;
        coded |= static_cast<unsigned>(code != otherwise) << i;
      }
      if (coded == 0) continue;
      top = static_cast<std::uint16_t>(top | 1u << first / ChunkHead::kCodeGroup);
      *at++ = static_cast<std::byte>(coded);
    }
    to[0] = static_cast<std::byte>(flags);
    to[1] = static_cast<std::byte>(bit_width(reach_));
    store_le(to + 2, top);
    std::memcpy(at, codes, used);
    at += used;
    while ((at - to) % 4 != 0) *at++ = std::byte{0};
    return static_cast<unsigned>(at - to);
  }

  std::byte* write_exact_values(std::byte* to) const {
    Cursor cursor(box_);
    std::byte together[kBlock * sizeof(T)];
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::byte* const values = gather(cursor, block, together);
      for (std::uint32_t bits = exact_[block]; bits != 0; bits &= bits - 1, to += sizeof(T))
        std::memcpy(to, values + std::countr_zero(bits) * sizeof(T), sizeof(T));
    }
    return to;
  }

  const Coding<T>& coding_;
  const Box& box_;
  const std::byte* const data_;
  const unsigned count_, blocks_;
  Orders orders_;
  std::uint32_t reach_ = 0;  // the union of the bits of all |quanta|
  bool has_vacant_ = false;
  unsigned zeros_ = 0, all_fill_ = 0;  // blocks that need no code if that is what blocks without one are
  unsigned words_used_ = 0, sparse_used_ = 0, exact_count_ = 0;
  std::uint32_t fill_[kBlocks], exact_[kBlocks];  // masks
  std::uint8_t codes_[kBlocks];
  alignas(64) std::uint32_t quanta_[kFront + kChunk];
  alignas(64) std::byte words_[kBlocks * (3 + 32) * 4];  // masks, signs and planes
  std::byte sparse_[kBlocks * kSparseBytes + 8];
};

}  // namespace homz::homcomp
