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
  ChunkEncoder(const Coding<T>& coding, const Box& box, const Box& next, const std::byte* data,
               EncodeSpace& space)
      : coding_(coding),
        box_(box),
        next_(next),
        lattice_(box),
        data_(data),
        count_(box.count()),
        blocks_(ceil_div(count_, kBlock)),
        quanta_(space.quanta),
        words_(space.words) {}

  // As EncodeChunk.
  std::uint32_t encode(std::byte* to) {
    quantise();
    if (reach_ >> kLimitBit != 0) quantise_all_by_value();
    if (has_vacant_) settle_vacant({1, 1, 1, first_quantum()});
    fill_front(quanta_[lattice_.first()]);
    orders_ = OrderTrial<V>(quanta_, box_, lattice_).choose();
    if (has_vacant_ && orders_.x == 0) settle_vacant(orders_);
    take_differences();
    find_widths();
    write_blocks();
    return assemble(to);
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kLimitBit = 30;
  static constexpr unsigned kShortRow = 16;  // of most chunks with three axes
  static_assert(kQuantumLimit == 1 << kLimitBit);
  static_assert(V::kLanes <= Lattice::kSlack);

  static std::uint32_t first_bits(unsigned count) { return count >= kBlock ? ~0u : (1u << count) - 1; }
  std::uint32_t valid(unsigned block) const {  // positions that have a value
    return first_bits(count_ - kBlock * block);
  }

  // ---- Quanta

  // Up to 32 values of a row.
  struct Piece {
    const std::byte* values;
    std::uint32_t* quanta;
    unsigned position, count;

    T value(unsigned i) const { return load_value<T>(values + i * sizeof(T)); }
  };
  Piece piece(const RowWalk& row, unsigned x, unsigned count) const {
    return {data_ + (row.data() + x) * sizeof(T), quanta_ + row.index() + x, row.position() + x, count};
  }
  Piece piece(const RowWalk& row, unsigned x) const {
    return piece(row, x, std::min(kBlock, box_.row() - x));
  }

  void quantise() {
    if (box_.row() == kShortRow) return quantise_short_rows();
    if (box_.row() % kBlock == 0) return quantise_rows<kBlock>();
    quantise_rows<0>();
  }

  // Whole planes at a time; one in which a value needs more is done again, row by row.
  void quantise_short_rows() {
    const Quantiser<T> by = coding_.by;  // locals: stores could change members, as far as compilers know
    const unsigned rows = box_.extents[2];
    const std::uint64_t stride = box_.strides[2] * sizeof(T);
    Vec reach = V::all(0);
    for (PlaneWalk plane(box_, lattice_); !plane.is_done(); plane.next()) {
      const std::byte* from = data_ + plane.data() * sizeof(T);
      std::uint32_t* to = quanta_ + plane.index();
      typename V::Doubt doubt{};
      Vec bits = reach;
      for (unsigned y = 0; y < rows; ++y, from += stride, to += kShortRow)
        for (unsigned x = 0; x < kShortRow; x += V::kLanes) {
          Vec q;
          doubt |= V::template quantise<T>(from + x * sizeof(T), by, q);
          V::store(to + x, q);
          bits |= V::magnitude(q);
        }
      if (!V::is_any(doubt) && !coding_.has_fill) [[likely]]
        reach = bits;
      else
        for (RowWalk row(plane); row.is_in_plane(); row.next()) {
          const Piece part = piece(row, 0);
          if (!quantise<kShortRow / V::kLanes>(part.values, part.quanta, kShortRow / V::kLanes, by, reach))
            resolve_vectors(part, part.values);
        }
    }
    reach_ |= V::union_of(reach);
  }

  // By pieces of kPiece values; or as many as there are, up to 32.
  template <unsigned kPiece>
  void quantise_rows() {
    const Quantiser<T> by = coding_.by;  // locals: stores could change members, as far as compilers know
    const unsigned length = box_.row();
    Vec reach = V::all(0);
    for (RowWalk row(box_, lattice_); !row.is_done(); row.next()) {
      const std::byte* from = data_ + row.data() * sizeof(T);
      std::uint32_t* to = quanta_ + row.index();
      std::byte together[kPiece == 0 ? kBlock * sizeof(T) : 1];
      for (unsigned x = 0, count = kPiece; x < length; x += count, from += count * sizeof(T), to += count) {
        if constexpr (kPiece == 0) {
          count = std::min(kBlock, length - x);
          if (count % V::kLanes != 0) from = in_whole_vectors(from, count, together);
        }
        if (!quantise<kPiece / V::kLanes>(from, to, ceil_div(count, V::kLanes), by, reach)) [[unlikely]]
          resolve_vectors(piece(row, x, count), from);
      }
    }
    reach_ |= V::union_of(reach);
  }

  static const std::byte* in_whole_vectors(const std::byte* from, unsigned count, std::byte* together) {
    std::memset(together, 0, kBlock * sizeof(T));
    std::memcpy(together, from, count * sizeof(T));
    return together;
  }

  // The quanta of a number of vectors (kVectors, if it is not 0); false if some values need more than that.
  template <unsigned kVectors>
  [[gnu::always_inline]] inline bool quantise(const std::byte* from, std::uint32_t* to, unsigned vectors,
                                              const Quantiser<T>& by, Vec& reach) {
    typename V::Doubt doubt{};
    Vec bits = reach;
    for (unsigned i = 0; i < (kVectors != 0 ? kVectors : vectors); ++i) {
      Vec q;
      doubt |= V::template quantise<T>(from + i * V::kLanes * sizeof(T), by, q);
      V::store(to + i * V::kLanes, q);
      bits |= V::magnitude(q);
    }
    if (V::is_any(doubt) || (coding_.has_fill && is_any_fill(from, vectors))) return false;
    reach = bits;
    return true;
  }

  std::uint32_t fill_mask(const std::byte* from, unsigned vectors) const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < vectors; ++i)
      mask |= V::template equal<T>(from + i * V::kLanes * sizeof(T), coding_.fill) << i * V::kLanes;
    return mask;
  }
  bool is_any_fill(const std::byte* from, unsigned vectors) const { return fill_mask(from, vectors) != 0; }

  // A piece with fill values, or with values whose nearest quantum does not do. `whole`: its values, in whole
  // vectors.
  void resolve_vectors(const Piece& piece, const std::byte* whole) {
    const unsigned vectors = ceil_div(piece.count, V::kLanes);
    std::uint32_t bad = 0;
    for (unsigned i = 0; i < vectors; ++i) {
      Vec q;
      const auto doubt = V::template quantise<T>(whole + i * V::kLanes * sizeof(T), coding_.by, q);
      bad |= V::mask_of(doubt) << i * V::kLanes;
    }
    resolve(piece, bad, coding_.has_fill ? fill_mask(whole, vectors) : 0);
  }

  void resolve(const Piece& piece, std::uint32_t bad, std::uint32_t fill) {
    if (!has_masks_) {
      std::memset(fill_, 0, sizeof(fill_));
      std::memset(exact_, 0, sizeof(exact_));
      has_masks_ = true;
    }
    const std::uint32_t valid = first_bits(piece.count);
    fill &= valid;
    std::uint32_t exact = 0;
    for (std::uint32_t bits = bad & valid & ~fill; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(bits));
      std::int32_t quantum = 0;
      if (!homcomp::quantise(piece.value(i), coding_.by, quantum)) exact |= 1u << i;
      piece.quanta[i] = static_cast<std::uint32_t>(quantum);
    }
    add_bits(fill_, piece.position, fill);
    add_bits(exact_, piece.position, exact);
    has_vacant_ |= (fill | exact) != 0;
    for (std::uint32_t bits = valid & ~(fill | exact); bits != 0; bits &= bits - 1)
      reach_ |= magnitude(static_cast<std::int32_t>(piece.quanta[std::countr_zero(bits)]));
  }

  // For chunks with quanta beyond the limit: the vector code does not look for them value by value.
  void quantise_all_by_value() {
    reach_ = 0;
    if (has_masks_) std::memset(exact_, 0, sizeof(exact_));
    for (RowWalk row(box_, lattice_); !row.is_done(); row.next())
      for (unsigned x = 0; x < box_.row(); x += kBlock) {
        const Piece part = piece(row, x);
        resolve(part, ~0u, has_masks_ ? bits_at(fill_, part.position) : 0);
      }
  }

  // Masks, a word a block, from any position on.
  using Masks = std::uint32_t[kBlocks + 1];
  static std::uint32_t bits_at(const Masks& masks, unsigned position) {
    const std::uint32_t* const word = masks + position / kBlock;
    return static_cast<std::uint32_t>((word[0] | std::uint64_t{word[1]} << kBlock) >> position % kBlock);
  }
  static void add_bits(Masks& masks, unsigned position, std::uint32_t bits) {
    const std::uint64_t two = std::uint64_t{bits} << position % kBlock;
    masks[position / kBlock] |= static_cast<std::uint32_t>(two);
    masks[position / kBlock + 1] |= static_cast<std::uint32_t>(two >> kBlock);
  }

  std::int32_t first_quantum() const {
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::uint32_t kept = valid(block) & ~(fill_[block] | exact_[block]);
      if (kept != 0)
        return static_cast<std::int32_t>(quanta_[lattice_.index(kBlock * block + std::countr_zero(kept))]);
    }
    return 0;
  }

  // Positions without a quantum of their own take that of the neighbour along the first axis that `orders`
  // takes differences along, and its base where there is no such neighbour: their residuals are then small,
  // mostly 0.
  void settle_vacant(const Orders& orders) {
    for (RowWalk row(box_, lattice_); !row.is_done(); row.next())
      for (unsigned x = 0; x < box_.row(); x += kBlock) {
        const Piece part = piece(row, x);
        std::uint32_t vacant = bits_at(fill_, part.position) | bits_at(exact_, part.position);
        vacant &= first_bits(part.count);
        while (vacant != 0) {
          const auto first = static_cast<unsigned>(std::countr_zero(vacant));
          const auto run = static_cast<unsigned>(std::countr_one(vacant >> first));
          vacant &= ~static_cast<std::uint32_t>(((std::uint64_t{1} << run) - 1) << first);
          settle_run(part.quanta + first, run, orders, x + first != 0, row.y() != 0, row.z() != 0);
        }
      }
  }

  // A run of vacant positions within a row, and whether there is a neighbour along each axis.
  void settle_run(std::uint32_t* to, unsigned run, const Orders& orders, bool has_x, bool has_y,
                  bool has_z) const {
    const bool along_x = orders.x != 0 && has_x;
    const unsigned back = orders.y != 0 && has_y   ? lattice_.pitch()
                          : orders.z != 0 && has_z ? lattice_.plane()
                                                   : 0;
    if (orders.x == 0 && back != 0)
      for (unsigned i = 0; i < run; ++i) to[i] = *(to + i - back);
    else
      std::fill_n(to, run,
                  along_x     ? to[-1]
                  : back != 0 ? *(to - back)
                              : static_cast<std::uint32_t>(orders.base));
  }

  // What stands in front of the quanta along y and z.
  void fill_front(std::uint32_t base) {
    if (lattice_.row_gap() + lattice_.plane_gap() == 0) return;
    for (PlaneWalk plane(box_, lattice_); !plane.is_done(); plane.next()) {
      std::uint32_t* const at = quanta_ + plane.index() - lattice_.row_gap();
      fill(at, lattice_.row_gap(), base);
      if (plane.z() == 0) fill(at - lattice_.plane_gap(), lattice_.plane_gap(), base);
    }
  }
  static void fill(std::uint32_t* to, unsigned count, std::uint32_t value) {
    unsigned i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes) V::store(to + i, V::all(value));
    for (; i < count; ++i) to[i] = value;
  }

  // ---- Residuals

  // From the start of the buffer on, without gaps.
  void take_differences() {
    if (orders_.x == 0) take_differences<0>();
    if (orders_.x == 1) take_differences<1>();
    if (orders_.x == 2) take_differences<2>();
    std::memset(quanta_ + count_, 0, (kBlock * blocks_ - count_) * sizeof(std::uint32_t));
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
    const Lattice lattice = lattice_;  // locals: stores could change members, as far as compilers know
    const unsigned length = box_.row();
    for (RowWalk row(box_, lattice_); !row.is_done(); row.next()) {
      const std::uint32_t* const from = quanta_ + row.index();
      std::uint32_t* const to = quanta_ + row.position();
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
    const Lattice lattice = lattice_;
    const unsigned rows = box_.extents[2];
    const auto front = static_cast<std::uint32_t>(orders_.front_x());
    for (PlaneWalk plane(box_, lattice_); !plane.is_done(); plane.next()) {
      const std::uint32_t* from = quanta_ + plane.index();
      std::uint32_t* to = quanta_ + plane.position();
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
      const Block<V> residuals = Block<V>::load(quanta_ + kBlock * block);
      widths_[block] = static_cast<std::uint8_t>(bit_width(residuals.magnitudes().union_of()));
    }
  }

  // ---- Blocks

  void write_blocks() {
    Prefetcher<T, false> next(next_, data_);
    for (unsigned block = 0; block < blocks_; ++block) {
      next.next_block();
      const unsigned width = widths_[block];
      const bool is_masked = has_vacant_ && (fill_[block] | exact_[block]) != 0;
      const std::uint8_t code =
          width > 1 && !is_masked ? write_dense(block, width) : write_other(block, width, is_masked);
      codes_[block] = static_cast<std::byte>(code);
    }
  }

  [[gnu::always_inline]] inline std::uint8_t write_dense(unsigned block, unsigned width) {
    const std::uint32_t* const residuals = quanta_ + kBlock * block;
    Vec sizes[V::kVectors];
    std::uint32_t signs = 0;
    for (unsigned i = 0; i < V::kVectors; ++i) {
      const Vec each = V::load(residuals + i * V::kLanes);
      signs |= V::negative(each) << i * V::kLanes;
      sizes[i] = V::magnitude(each);
    }
    std::byte* const to = words_ + words_used_;
    store_le(to, signs);
    V::planes(sizes, width, to + 4);
    words_used_ += 4 * (1 + width);
    return static_cast<std::uint8_t>(kDense + width);
  }

  // Without residuals, sparse, or with masks.
  std::uint8_t write_other(unsigned block, unsigned width, bool is_masked) {
    std::uint8_t code = kZero;
    if (is_masked) {
      if (width == 0 && fill_[block] == valid(block)) return kAllFill;
      code = write_masks(fill_[block], exact_[block]);
    }
    if (width == 0) return code;
    if (width > 1) return code | write_dense(block, width);
    const Block<V> residuals = Block<V>::load(quanta_ + kBlock * block);
    return code | write_sparse(residuals.magnitudes().not_zero(), residuals.signs());
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
    for (RowWalk row(box_, lattice_); !row.is_done(); row.next())
      for (unsigned x = 0; x < box_.row(); x += kBlock) {
        const Piece part = piece(row, x);
        std::uint32_t bits = bits_at(exact_, part.position) & first_bits(part.count);
        for (; bits != 0; bits &= bits - 1, to += sizeof(T))
          store_value(to, part.value(static_cast<unsigned>(std::countr_zero(bits))));
      }
  }

  const Coding<T>& coding_;
  const Box& box_;
  const Box& next_;
  const Lattice lattice_;
  const std::byte* const data_;
  const unsigned count_, blocks_;
  std::uint32_t* const quanta_;  // in the lattice; then residuals, from the start on
  std::byte* const words_;       // masks, signs and planes
  Orders orders_;
  std::uint32_t reach_ = 0;  // the union of the bits of all |quanta|
  bool has_masks_ = false, has_vacant_ = false;
  unsigned words_used_ = 0, exact_count_ = 0;
  Masks fill_, exact_;  // if there are any
  std::uint8_t widths_[kBlocks];
  std::byte codes_[kBlocks + ChunkHead::kCodeGroup];
  SparseWriter<V> sparse_;
};

}  // namespace homz::homcomp
