// Encodes one chunk, all of it in the first-level cache: quantise, choose the orders, take differences,
// write. A template over the vector primitives V (simd_portable.hpp tells what they are).
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/chunk_orders.hpp"
#include "codecs/homcomp/chunk_rows.hpp"
#include "codecs/homcomp/kernels.hpp"
#include "codecs/homcomp/sparse.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkEncoder {
 public:
  ChunkEncoder(const Coding<T>& coding, const Box& box, const Box& next, const std::byte* data)
      : coding_(coding),
        box_(box),
        next_(next),
        data_(data),
        count_(box.count()),
        blocks_(ceil_div(count_, kBlock)) {}

  // As EncodeChunk.
  std::uint32_t encode(std::byte* to) {
    quantise();
    if (reach_ >> kLimitBit != 0) quantise_all_by_value();
    if (has_vacant_) settle_vacant({1, 1, 1, first_quantum()});
    set_front(quanta()[0]);
    orders_ = OrderTrial<V>(quanta(), box_).choose();
    if (has_vacant_ && orders_.x == 0) settle_vacant(orders_);
    difference_planes_and_rows<V>(quanta(), box_, orders_);
    if (orders_.x == 0) difference_rows<0>();
    if (orders_.x == 1) difference_rows<1>();
    if (orders_.x == 2) difference_rows<2>();
    write_blocks();
    return assemble(to);
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kFront = ceil_div(OrderTrial<V>::kFront, 16u) * 16;  // room, whole cache lines
  static constexpr unsigned kLimitBit = 30;
  static_assert(kQuantumLimit == 1 << kLimitBit);

  std::uint32_t* quanta() { return quanta_ + kFront; }
  void set_front(std::uint32_t number) { quanta_[kFront - 2] = quanta_[kFront - 1] = number; }

  std::uint32_t valid(unsigned block) const {  // positions that have a value
    const unsigned values = count_ - kBlock * block;
    return values >= kBlock ? ~0u : (1u << values) - 1;
  }

  // ---- Quanta

  // Where the values of the next block are, a pointer a vector: in the field if rows permit, else in
  // `together`.
  struct Values {
    const std::byte* at[V::kVectors];
    std::byte together[kBlock * sizeof(T)];

    T value(unsigned i) const { return load_value<T>(at[i / V::kLanes] + i % V::kLanes * sizeof(T)); }
  };

  void locate(Cursor& cursor, unsigned block, Values& values) const {
    const unsigned count = std::min(kBlock, count_ - kBlock * block);
    if (cursor.left() >= kBlock) {
      for (unsigned i = 0; i < V::kVectors; ++i)
        values.at[i] = data_ + (cursor.at() + i * V::kLanes) * sizeof(T);
      cursor.advance(kBlock);
      return;
    }
    if (box_.row() % V::kLanes == 0 && count == kBlock) {
      for (const std::byte*& at : values.at) {
        at = data_ + cursor.at() * sizeof(T);
        cursor.advance(V::kLanes);
      }
      return;
    }
    gather(cursor, count, values);
  }

  void gather(Cursor& cursor, unsigned need, Values& values) const {
    for (unsigned i = 0; i < V::kVectors; ++i) values.at[i] = values.together + i * V::kLanes * sizeof(T);
    if (need < kBlock) std::memset(values.together, 0, sizeof(values.together));
    for (std::byte* to = values.together; need != 0;) {
      const unsigned piece = std::min(need, cursor.left());
      std::memcpy(to, data_ + cursor.at() * sizeof(T), piece * sizeof(T));
      to += piece * sizeof(T);
      need -= piece;
      cursor.advance(piece);
    }
  }

  void quantise() {
    const Quantiser<T> by = coding_.by;
    Cursor cursor(box_);
    Values values;
    Vec reach = V::all(0);
    for (unsigned block = 0; block < blocks_; ++block) {
      locate(cursor, block, values);
      Block<V> q;
      typename V::Doubt doubts[V::kVectors], doubt{};
      for (unsigned i = 0; i < V::kVectors; ++i)
        doubt |= doubts[i] = V::template quantise<T>(values.at[i], by, q.v[i]);
      q.store(quanta() + kBlock * block);
      std::uint32_t fill = 0;
      if (coding_.has_fill)
        for (unsigned i = 0; i < V::kVectors; ++i)
          fill |= V::template equal<T>(values.at[i], coding_.fill) << i * V::kLanes;
      if (V::is_any(doubt) || fill != 0) [[unlikely]] {
        std::uint32_t bad = 0;
        for (unsigned i = 0; i < V::kVectors; ++i) bad |= V::mask_of(doubts[i]) << i * V::kLanes;
        resolve(block, values, bad, fill);
      } else {
        for (const Vec v : q.v) reach |= V::magnitude(v);
      }
    }
    reach_ |= V::union_of(reach);
  }

  // A block with fill values, or with values whose nearest quantum does not do.
  void resolve(unsigned block, const Values& values, std::uint32_t bad, std::uint32_t fill) {
    std::uint32_t* const quanta = this->quanta() + kBlock * block;
    if (!has_masks_) {
      std::memset(fill_, 0, sizeof(fill_));
      std::memset(exact_, 0, sizeof(exact_));
      has_masks_ = true;
    }
    fill &= valid(block);
    std::uint32_t exact = 0;
    for (std::uint32_t bits = bad & valid(block) & ~fill; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(bits));
      std::int32_t quantum = 0;
      if (!homcomp::quantise(values.value(i), coding_.by, quantum)) exact |= 1u << i;
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
    Values values;
    reach_ = 0;
    for (unsigned block = 0; block < blocks_; ++block) {
      locate(cursor, block, values);
      resolve(block, values, ~0u, has_masks_ ? fill_[block] : 0);
    }
  }

  std::int32_t first_quantum() {
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::uint32_t kept = valid(block) & ~(fill_[block] | exact_[block]);
      if (kept != 0) return static_cast<std::int32_t>(quanta()[kBlock * block + std::countr_zero(kept)]);
    }
    return 0;
  }

  // Positions without a quantum of their own take that of the neighbour along the first axis that `orders`
  // takes differences along, and its base where there is no such neighbour: their residuals are then small,
  // mostly 0.
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
      std::fill_n(to, run,
                  along_x     ? to[-1]
                  : back != 0 ? *(to - back)
                              : static_cast<std::uint32_t>(orders.base));
  }

  // ---- Blocks

  // Residuals take the place of the quanta, from the last block to the first: each needs the two quanta in
  // front of it. Their widths are then known well before the branches that hang on them.
  template <unsigned kOrder>
  void difference_rows() {
    const auto front = static_cast<std::uint32_t>(kOrder == 0 ? orders_.offset() : orders_.front_x());
    set_front(front);
    const bool one_row = kOrder == 0 || box_.row() == count_;
    for (unsigned block = blocks_; block-- > 0;) {
      std::uint32_t* const at = quanta() + kBlock * block;
      const RowStarts rows = one_row ? RowStarts() : RowStarts(box_.row(), block);
      Block<V> residuals = difference_along_x<V, kOrder>(at, rows, front);
      if (valid(block) != ~0u) [[unlikely]]
        for (unsigned i = 0; i < V::kVectors; ++i)
          residuals.v[i] = V::select(valid(block) >> i * V::kLanes & V::kAll, residuals.v[i], V::all(0));
      residuals.store(at);
      widths_[block] = static_cast<std::uint8_t>(bit_width(residuals.magnitudes().union_of()));
    }
  }

  void write_blocks() {
    Prefetcher<T, false> next(next_, data_);
    for (unsigned block = 0; block < blocks_; ++block) {
      next.next_block();
      codes_[block] = static_cast<std::byte>(write_block(block));
    }
  }

  std::uint8_t write_block(unsigned block) {
    const unsigned width = widths_[block];
    std::uint8_t code = kZero;
    if (has_vacant_ && (fill_[block] | exact_[block]) != 0) {
      if (width == 0 && fill_[block] == valid(block)) return kAllFill;
      code = write_masks(fill_[block], exact_[block]);
    }
    if (width == 0) return code;
    const Block<V> residuals = Block<V>::load(quanta() + kBlock * block);
    const Block<V> sizes = residuals.magnitudes();
    if (width == 1) return code | write_sparse(sizes.not_zero(), residuals.signs());
    store_le(words_ + words_used_, residuals.signs());
    V::planes(sizes.v, width, words_ + words_used_ + 4);
    words_used_ += 4 * (1 + width);
    return code | static_cast<std::uint8_t>(kDense + width);
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
    sparse_.add(V::bits_where(plane, bytes), count_bits(bytes) / 8, V::bits_where(signs, plane),
                count_bits(plane));
    return code;
  }

  // ---- The chunk

  std::uint32_t assemble(std::byte* to) {
    std::byte head[ChunkHead::kMax + ChunkHead::kCodeGroup];
    const unsigned head_bytes = write_head(head);
    const unsigned value_bytes = exact_count_ * sizeof(T);
    const unsigned size = head_bytes + words_used_ + sparse_.bytes() + value_bytes;
    if (size >= count_ * sizeof(T)) return 0;
    std::memcpy(to, head, head_bytes);
    to += head_bytes;
    std::memcpy(to, words_, words_used_);
    to = sparse_.write(to + words_used_);
    if (exact_count_ != 0) write_exact_values(to);
    return size / 4;
  }

  unsigned write_head(std::byte* to) {
    const std::uint8_t otherwise = code_of_most();
    std::byte* at = to + ChunkHead::kBytes;
    auto flags = static_cast<std::uint8_t>(orders_.x | (orders_.y != 0 ? ChunkHead::kOrderY : 0) |
                                           (orders_.z != 0 ? ChunkHead::kOrderZ : 0));
    if (otherwise == kAllFill) flags |= ChunkHead::kElseFill;
    if (orders_.base != 0) {
      flags |= ChunkHead::kHasBase;
      store_le(at, static_cast<std::uint32_t>(orders_.base));
      at += 4;
    }
    std::byte codes[kBlocks + ChunkHead::kCodeGroup];
    unsigned used = 0, top = 0;
    std::memset(codes_ + blocks_, otherwise, ChunkHead::kCodeGroup);
    for (unsigned group = 0; group * ChunkHead::kCodeGroup < blocks_; ++group) {
      const auto eight = load_le<std::uint64_t>(codes_ + group * ChunkHead::kCodeGroup);
      const unsigned coded = differing_bytes(eight, otherwise);
      if (coded == 0) continue;
      top |= 1u << group;
      *at++ = static_cast<std::byte>(coded);
      if (coded == 0xff) {
        store_le(codes + used, eight);
        used += 8;
      } else {
        for (unsigned bits = coded; bits != 0; bits &= bits - 1)
          codes[used++] = static_cast<std::byte>(eight >> 8 * std::countr_zero(bits) & 0xff);
      }
    }
    to[0] = static_cast<std::byte>(flags);
    to[1] = static_cast<std::byte>(bit_width(reach_));
    store_le(to + 2, static_cast<std::uint16_t>(top));
    std::memcpy(at, codes, used);
    at += used;
    while ((at - to) % 4 != 0) *at++ = std::byte{0};
    return static_cast<unsigned>(at - to);
  }

  // The code that blocks without one have.
  std::uint8_t code_of_most() const {
    if (!has_vacant_) return kZero;
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(codes_);
    const auto all_fill = std::count(codes, codes + blocks_, kAllFill);
    return all_fill > std::count(codes, codes + blocks_, kZero) ? kAllFill : kZero;
  }

  // Bit i: byte i of `bytes` is not `byte`.
  static unsigned differing_bytes(std::uint64_t bytes, std::uint8_t byte) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u, kLow = 0x7f * kOnes;
    const std::uint64_t other = bytes ^ byte * kOnes;
    const std::uint64_t tops = (((other & kLow) + kLow) | other) >> 7 & kOnes;
    return static_cast<unsigned>(tops * 0x0102040810204080u >> 56);
  }

  void write_exact_values(std::byte* to) const {
    Cursor cursor(box_);
    Values values;
    for (unsigned block = 0; block < blocks_; ++block) {
      locate(cursor, block, values);
      for (std::uint32_t bits = exact_[block]; bits != 0; bits &= bits - 1, to += sizeof(T))
        store_value(to, values.value(static_cast<unsigned>(std::countr_zero(bits))));
    }
  }

  const Coding<T>& coding_;
  const Box& box_;
  const Box& next_;
  const std::byte* const data_;
  const unsigned count_, blocks_;
  Orders orders_;
  std::uint32_t reach_ = 0;  // the union of the bits of all |quanta|
  bool has_masks_ = false, has_vacant_ = false;
  unsigned words_used_ = 0, exact_count_ = 0;
  std::uint32_t fill_[kBlocks], exact_[kBlocks];  // masks, if there are any
  std::uint8_t widths_[kBlocks];
  std::byte codes_[kBlocks + ChunkHead::kCodeGroup];
  alignas(64) std::uint32_t quanta_[kFront + kChunk];
  alignas(64) std::byte words_[(kBlocks * (3 + 32) + 32) * 4];  // masks, signs and planes
  SparseWriter<V> sparse_;
};

}  // namespace homz::homcomp
