// The quanta of one chunk: from its values, with masks of those that have none. A template over the vector
// primitives V (simd_portable.hpp tells what they are).
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/chunk_rows.hpp"
#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkQuanta {
 public:
  // `to`: room for Lattice::kWords quanta. `next`: the chunk that will be wanted next.
  ChunkQuanta(const Coding<T>& coding, const Box& box, const Box& next, const std::byte* data,
              std::uint32_t* to)
      : coding_(coding),
        box_(box),
        next_(next),
        lattice_(box),
        data_(data),
        count_(box.count()),
        blocks_(ceil_div(count_, kBlock)),
        quanta_(to) {}

  // Afterwards the quanta stand in the lattice, the first of them in front of it along y and z.
  void make() {
    quantise();
    if (reach_ >> kLimitBit != 0) quantise_all_by_value();
    if (has_vacant_) settle_vacant({1, 1, 1, first_quantum()});
    fill_front(quanta_[lattice_.first()]);
  }
  // Once the orders are known, positions without a quantum get one that suits them.
  void suit(const Orders& orders) {
    if (has_vacant_ && orders.x == 0) settle_vacant(orders);
  }

  const Lattice& lattice() const { return lattice_; }
  std::uint32_t reach() const { return reach_; }   // the union of the bits of all |quanta|
  bool has_vacant() const { return has_vacant_; }  // positions without a quantum; else there are no masks:
  std::uint32_t fill(unsigned block) const { return fill_[block]; }
  std::uint32_t exact(unsigned block) const { return exact_[block]; }
  std::uint32_t valid(unsigned block) const {  // positions that have a value
    return first_bits(count_ - kBlock * block);
  }

  void write_exact_values(std::byte* to) const {
    for (RowWalk row(box_); !row.is_done(); row.next())
      for (unsigned x = 0; x < box_.row(); x += kBlock) {
        const Piece part = piece(row, x);
        std::uint32_t bits = bits_at(exact_, part.position) & first_bits(part.count);
        for (; bits != 0; bits &= bits - 1, to += sizeof(T))
          store_value(to, part.value(static_cast<unsigned>(std::countr_zero(bits))));
      }
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kLimitBit = 30;
  static_assert(kQuantumLimit == 1 << kLimitBit);
  static_assert(V::kLanes <= Lattice::kSlack);

  // Up to 32 values of a row.
  struct Piece {
    const std::byte* values;
    std::uint32_t* quanta;
    unsigned position, count;

    T value(unsigned i) const { return load_value<T>(values + i * sizeof(T)); }
  };
  Piece piece(const RowWalk& row, unsigned x, unsigned count) const {
    return {data_ + (row.data() + x) * sizeof(T), quanta_ + lattice_.index(row) + x, row.position() + x,
            count};
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
    for (PlaneWalk plane(box_); !plane.is_done(); plane.next()) {
      const std::byte* from = data_ + plane.data() * sizeof(T);
      std::uint32_t* to = quanta_ + lattice_.index(plane);
      typename V::Doubt doubt{};
      Vec bits = reach;
      const std::byte* ahead = from + box_.strides[1] * sizeof(T);
      const std::byte* next = data_ + (next_.first + plane.z() * next_.strides[1]) * sizeof(T);
      for (unsigned y = 0; y < rows; ++y, from += stride, to += kShortRow, ahead += stride, next += stride) {
        prefetch_row<2>(next);
        prefetch_row<3>(ahead);
        for (unsigned x = 0; x < kShortRow; x += V::kLanes) {
          Vec q;
          doubt |= V::template quantise<T>(from + x * sizeof(T), by, q);
          V::store(to + x, q);
          bits |= V::magnitude(q);
        }
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

  // Into the cache of a level: 3 is the first, 2 the second.
  template <int kLocality>
  static void prefetch_row(const std::byte* row) {
    constexpr unsigned kLine = 64, kBytes = kShortRow * sizeof(T);
    for (unsigned at = 0; at < kBytes; at += kLine) __builtin_prefetch(row + at, 0, kLocality);
    __builtin_prefetch(row + kBytes - 1, 0, kLocality);
  }

  // By pieces of kPiece values; or as many as there are, up to 32.
  template <unsigned kPiece>
  void quantise_rows() {
    const Quantiser<T> by = coding_.by;  // locals: stores could change members, as far as compilers know
    const unsigned length = box_.row();
    Vec reach = V::all(0);
    for (RowWalk row(box_); !row.is_done(); row.next()) {
      const std::byte* from = data_ + row.data() * sizeof(T);
      std::uint32_t* to = quanta_ + lattice_.index(row);
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
    if (V::is_any(doubt) || (coding_.has_fill && fill_mask(from, vectors) != 0)) return false;
    reach = bits;
    return true;
  }

  std::uint32_t fill_mask(const std::byte* from, unsigned vectors) const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < vectors; ++i)
      mask |= V::template equal<T>(from + i * V::kLanes * sizeof(T), coding_.fill) << i * V::kLanes;
    return mask;
  }

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
    for (RowWalk row(box_); !row.is_done(); row.next())
      for (unsigned x = 0; x < box_.row(); x += kBlock) {
        const Piece part = piece(row, x);
        resolve(part, ~0u, has_masks_ ? bits_at(fill_, part.position) : 0);
      }
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
    for (RowWalk row(box_); !row.is_done(); row.next())
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
    for (PlaneWalk plane(box_); !plane.is_done(); plane.next()) {
      std::uint32_t* const at = quanta_ + lattice_.index(plane) - lattice_.row_gap();
      fill(at, lattice_.row_gap(), base);
      if (plane.z() == 0) fill(at - lattice_.plane_gap(), lattice_.plane_gap(), base);
    }
  }
  static void fill(std::uint32_t* to, unsigned count, std::uint32_t value) {
    unsigned i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes) V::store(to + i, V::all(value));
    for (; i < count; ++i) to[i] = value;
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

  const Coding<T>& coding_;
  const Box& box_;
  const Box& next_;
  const Lattice lattice_;
  const std::byte* const data_;
  const unsigned count_, blocks_;
  std::uint32_t* const quanta_;
  std::uint32_t reach_ = 0;
  bool has_masks_ = false, has_vacant_ = false;
  Masks fill_, exact_;  // if there are any
};

}  // namespace homz::homcomp
