// The sum of chunks of the same orders as bit planes, a vector of blocks at a time. A template over the
// vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_writer.hpp"
#include "homomorphic/homcomp/plane_sum.hpp"

namespace homz::homcomp {

template <class V>
class ChunkPlanes {
 public:
  // `readers`: one an operand, opened; `factors`: 1 or -1 each. `count`: values of the chunk.
  ChunkPlanes(std::span<BlockReader<V>> readers, std::span<const std::int32_t> factors, bool has_masks,
              unsigned count, EncodeSpace& space)
      : readers_(readers),
        factors_(factors),
        has_masks_(has_masks),
        count_(count),
        blocks_(ceil_div(count, kBlock)),
        space_(space),
        parts_(space) {}

  // Returns nullptr, or what is wrong.
  const char* add() {
    ChunkParts<V> parts(space_);
    for (unsigned first = 0; first < blocks_; first += V::kLanes)
      if (const char* wrong = add_batch(first, std::min(V::kLanes, blocks_ - first), parts); wrong != nullptr)
        return wrong;
    parts_ = parts;
    return nullptr;
  }

  // Bytes of the chunk; 0, with nothing written, if that is not below `raw_bytes`.
  unsigned write(const Orders& orders, unsigned range, unsigned raw_bytes, std::byte* to) {
    return ChunkWriter<V>(orders, range, codes_, blocks_, has_masks_).write(space_, parts_, 0, raw_bytes, to);
  }

 private:
  using Vec = typename V::Vec;
  static constexpr const char* kWrong = "masks of no meaning";
  // Planes that are added without a loop of unknown length. Sums must not reach the modulus.
  static constexpr unsigned kNarrow = V::kLanes < 8 ? 8 : V::kLanes;
  static constexpr unsigned kMiddle = 2 * kNarrow < kBlock ? 2 * kNarrow : kNarrow;
  using Sparse = std::uint32_t[V::kLanes][1 + V::kLanes];

  const char* add_batch(unsigned first, unsigned lanes, ChunkParts<V>& parts) {
    if (!has_masks_ && all_zero(first)) {
      std::memset(&codes_[first], kZero, lanes);
      return nullptr;
    }
    if (readers_.size() != 2) return add_many(first, lanes, parts);
    if (has_masks_) return add_two(first, lanes, parts);
    if (readers_[0].are_sparse(first) && readers_[1].are_sparse(first)) return add_sparse(first, parts);
    if (add_dense(first, parts)) return nullptr;
    DenseRun<V> a, b;
    constexpr std::size_t kRoom = 4 * (1 + kNarrow);
    if (readers_[0].find_mixed(first, kRoom, a) && readers_[1].find_mixed(first, kRoom, b) &&
        !is_any_above(V::greater(a.widths, b.widths), kNarrow))
      return add_mixed(a, b, first, parts);
    return add_two(first, lanes, parts);
  }

  const char* add_many(unsigned first, unsigned lanes, ChunkParts<V>& parts) {
    std::uint32_t fill[V::kLanes] = {};
    PlaneSum<V> planes;
    PlaneBatch<V> batch;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      bool sound = true;
      unsigned width = load_run(i, first, batch, &sound);
      if (!sound) return kWrong;
      if (width == 0) {
        PlaneWords blocks[V::kLanes];
        Sparse sparse;
        width = 1;
        if (!read_blocks(i, first, lanes, blocks, sparse, width, fill)) return kWrong;
        batch.load(blocks, width);
      }
      planes.add(batch, width, flip(i));
    }
    write_blocks(planes.finish(batch), batch, V::all(0), first, lanes, fill, parts);
    return nullptr;
  }

  // Blocks at once, if they are dense, or of any kind but wide; returns how many planes they may have, 0 if
  // they are neither. *sound: false if signs are missing.
  unsigned load_run(std::size_t operand, unsigned first, PlaneBatch<V>& batch, bool* sound) {
    BlockReader<V>& reader = readers_[operand];
    constexpr std::size_t kRoom = 4 * (1 + kMiddle);
    DenseRun<V> run;
    const bool is_dense = reader.find_dense(first, kRoom, run);
    if ((!is_dense && !reader.find_mixed(first, kRoom, run)) || is_any_above(run.widths, kMiddle)) return 0;
    const bool is_narrow = !is_any_above(run.widths, kNarrow);
    reader.skip(run);
    if (is_dense) {
      is_narrow ? batch.template load<kNarrow>(run) : batch.template load<kMiddle>(run);
    } else {
      std::uint32_t planes[V::kLanes], signs[V::kLanes];
      *sound = reader.read_others(first, planes, signs);
      is_narrow ? batch.template load<kNarrow>(run, planes, signs)
                : batch.template load<kMiddle>(run, planes, signs);
    }
    return is_narrow ? kNarrow : kMiddle;
  }

  const char* add_two(unsigned first, unsigned lanes, ChunkParts<V>& parts) {
    std::uint32_t fill[V::kLanes] = {};
    PlaneWords blocks_a[V::kLanes], blocks_b[V::kLanes];
    Sparse sparse_a, sparse_b;
    unsigned width = 1;
    if (!read_blocks(0, first, lanes, blocks_a, sparse_a, width, fill) ||
        !read_blocks(1, first, lanes, blocks_b, sparse_b, width, fill))
      return kWrong;
    PlaneBatch<V> a, b;
    Vec top = V::all(0);
    if (width <= kNarrow) {
      a.load(blocks_a, kNarrow);
      b.load(blocks_b, kNarrow);
      add_pair<V, kNarrow>(a, b, flip(0), flip(1), a, top);
      write_blocks(kNarrow, a, top, first, lanes, fill, parts);
    } else {
      PlaneSum<V> planes;
      a.load(blocks_a, width);
      planes.add(a, width, flip(0));
      b.load(blocks_b, width);
      planes.add(b, width, flip(1));
      write_blocks(planes.finish(a), a, top, first, lanes, fill, parts);
    }
    return nullptr;
  }

  // Blocks that are all sparse, in both: values from -2 to 2, a block at a time.
  const char* add_sparse(unsigned first, ChunkParts<V>& parts) {
    const std::uint32_t flip_a = factors_[0] == 1 ? 0 : ~0u, flip_b = factors_[1] == 1 ? 0 : ~0u;
    for (unsigned block = first; block < first + V::kLanes; ++block) {
      std::uint32_t a, b, signs_a, signs_b;
      if (!readers_[0].read_sparse(block, a, signs_a) || !readers_[1].read_sparse(block, b, signs_b))
        return kWrong;
      signs_a = (signs_a ^ flip_a) & a;
      signs_b = (signs_b ^ flip_b) & b;
      const std::uint32_t ones = a ^ b, twos = a & b & ~(signs_a ^ signs_b);
      const std::uint32_t signs = (signs_a | signs_b) & (ones | twos);
      std::uint8_t code = kDense + 2;
      if (twos == 0) {
        code = parts.add_sparse(ones, signs);
      } else {
        parts.add_word(signs);
        parts.add_word(ones);
        parts.add_word(twos);
      }
      codes_[block] = static_cast<std::byte>(code);
    }
    return nullptr;
  }

  // Blocks that are all dense, in both, if they can be added at once.
  bool add_dense(unsigned first, ChunkParts<V>& parts) {
    DenseRun<V> a, b;
    BlockReader<V>&reader_a = readers_[0], &reader_b = readers_[1];
    constexpr std::size_t kRoom = 4 * (1 + kMiddle);
    if (!reader_a.find_dense(first, kRoom, a) || !reader_b.find_dense(first, kRoom, b)) return false;
    const Vec wider = V::greater(a.widths, b.widths);
    if (is_any_above(wider, kMiddle)) return false;
    reader_a.skip(a);
    reader_b.skip(b);
    if (is_any_above(wider, kNarrow))
      add_dense<kMiddle>(a, b, first, parts);
    else
      add_dense<kNarrow>(a, b, first, parts);
    return true;
  }

  template <unsigned kPlanes>
  void add_dense(const DenseRun<V>& run_a, const DenseRun<V>& run_b, unsigned first, ChunkParts<V>& parts) {
    PlaneBatch<V> a, b;
    a.template load<kPlanes>(run_a);
    b.template load<kPlanes>(run_b);
    Vec top;
    add_pair<V, kPlanes>(a, b, flip(0), flip(1), a, top);
    const Vec widths = widths_of<kPlanes>(a, top);
    if (is_any_above(V::all(2), widths)) {
      constexpr std::uint32_t kNone[V::kLanes] = {};
      write_blocks(kPlanes, a, top, first, V::kLanes, kNone, parts);
      return;
    }
    V::store_bytes(&codes_[first], widths + V::all(kDense));
    const Vec words = widths + V::all(1), ends = V::prefix_sums(words);
    std::uint32_t signs[V::kLanes], tops[V::kLanes], at[V::kLanes];
    V::store(signs, a.signs);
    V::store(tops, top);
    V::store(at, ends - words);
    a.transpose(kPlanes);
    for (unsigned lane = 0; lane < V::kLanes; ++lane) {
      parts.put_word(at[lane], signs[lane]);
      for (unsigned group = 0; group * V::kLanes < kPlanes; ++group)
        parts.put_words(at[lane] + 1 + group * V::kLanes, a.row(group, lane));
      parts.put_word(at[lane] + 1 + kPlanes, tops[lane]);
    }
    parts.skip_words(ends[V::kLanes - 1]);
  }

  // Blocks of any kind but wide ones, without branches on their kind: it is as good as random.
  const char* add_mixed(const DenseRun<V>& run_a, const DenseRun<V>& run_b, unsigned first,
                        ChunkParts<V>& parts) {
    std::uint32_t planes_a[V::kLanes], signs_a[V::kLanes], planes_b[V::kLanes], signs_b[V::kLanes];
    if (!readers_[0].read_others(first, planes_a, signs_a) ||
        !readers_[1].read_others(first, planes_b, signs_b))
      return kWrong;
    readers_[0].skip(run_a);
    readers_[1].skip(run_b);
    PlaneBatch<V> a, b;
    a.template load<kNarrow>(run_a, planes_a, signs_a);
    b.template load<kNarrow>(run_b, planes_b, signs_b);
    Vec top;
    add_pair<V, kNarrow>(a, b, flip(0), flip(1), a, top);
    std::uint32_t signs[V::kLanes], tops[V::kLanes], widths[V::kLanes];
    V::store(signs, a.signs);
    V::store(tops, top);
    V::store(widths, widths_of<kNarrow>(a, top));
    a.transpose(kNarrow);
    for (unsigned lane = 0; lane < V::kLanes; ++lane) {
      const bool is_dense = widths[lane] > 1;
      parts.put_word(0, signs[lane]);
      for (unsigned group = 0; group * V::kLanes < kNarrow; ++group)
        parts.put_words(1 + group * V::kLanes, a.row(group, lane));
      parts.put_word(1 + kNarrow, tops[lane]);
      parts.skip_words(is_dense ? 1 + widths[lane] : 0);
      const std::uint8_t sparse = parts.add_sparse(is_dense ? 0 : a.row(0, lane)[0], signs[lane]);
      codes_[first + lane] = static_cast<std::byte>(is_dense ? kDense + widths[lane] : sparse);
    }
    return nullptr;
  }

  template <unsigned kPlanes>
  static Vec widths_of(const PlaneBatch<V>& sum, Vec top) {
    Vec widths = V::where_not_zero(top, V::all(kPlanes + 1));
    for (unsigned k = 0; k < kPlanes; ++k)
      widths = V::greater(widths, V::where_not_zero(sum.plane(k), V::all(k + 1)));
    return widths;
  }

  static bool is_any_above(Vec a, Vec b) { return V::not_zero(V::above(a, b)) != 0; }
  static bool is_any_above(Vec a, unsigned limit) { return is_any_above(a, V::all(limit)); }

  Vec flip(std::size_t operand) const { return V::all(factors_[operand] == 1 ? 0 : ~0u); }

  bool all_zero(unsigned first) const {
    for (std::size_t i = 0; i < readers_.size(); ++i)
      if (!readers_[i].are_zero(first)) return false;
    return true;
  }

  // The next blocks of an operand; `widest` grows to the width of the widest.
  [[gnu::always_inline]] inline bool read_blocks(std::size_t operand, unsigned first, unsigned lanes,
                                                 PlaneWords (&blocks)[V::kLanes], Sparse& sparse,
                                                 unsigned& widest, std::uint32_t* fill) {
    BlockReader<V>& reader = readers_[operand];
    for (unsigned lane = lanes; lane < V::kLanes; ++lane) {
      std::memset(sparse[lane], 0, sizeof(sparse[lane]));
      blocks[lane] = {reinterpret_cast<const std::byte*>(sparse[lane]), 1, sizeof(sparse[lane])};
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!reader.read(first + lane, sparse[lane], blocks[lane])) return false;
      widest = std::max(widest, blocks[lane].width);
      if (has_masks_ && reader.is_masked(first + lane)) fill[lane] |= reader.fill(first + lane);
    }
    return true;
  }

  // The blocks of a sum: `planes` magnitude planes, a multiple of the lanes, and one above them.
  [[gnu::always_inline]] inline void write_blocks(unsigned planes, PlaneBatch<V>& sum, Vec top,
                                                  unsigned first, unsigned lanes, const std::uint32_t* fill,
                                                  ChunkParts<V>& parts) {
    std::uint32_t signs[V::kLanes], tops[V::kLanes];
    V::store(signs, sum.signs);
    V::store(tops, top);
    sum.transpose(planes);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      std::uint32_t used = 0;  // bit k: plane k is not 0
      for (unsigned group = 0; group * V::kLanes < planes; ++group)
        used |= V::not_zero(sum.row(group, lane)) << group * V::kLanes;
      const unsigned width = tops[lane] != 0 ? planes + 1 : bit_width(used);
      std::uint8_t code = 0;
      if (fill[lane] != 0) code = write_fill(fill[lane], first + lane, width, parts);
      if (code != kAllFill) code |= write_planes(sum, planes, lane, signs[lane], tops[lane], width, parts);
      codes_[first + lane] = static_cast<std::byte>(code);
    }
  }

  // The part of a code that a mask of fill is.
  std::uint8_t write_fill(std::uint32_t fill, unsigned block, unsigned width, ChunkParts<V>& parts) {
    if (width == 0 && fill == first_bits(count_ - kBlock * block)) return kAllFill;
    parts.add_word(fill);
    return kFillMask;
  }

  [[gnu::always_inline]] inline std::uint8_t write_planes(const PlaneBatch<V>& sum, unsigned planes,
                                                          unsigned lane, std::uint32_t signs,
                                                          std::uint32_t top, unsigned width,
                                                          ChunkParts<V>& parts) {
    if (width <= 1) return parts.add_sparse(sum.row(0, lane)[0], signs);
    parts.put_word(0, signs);
    for (unsigned group = 0; group * V::kLanes < planes; ++group)
      parts.put_words(1 + group * V::kLanes, sum.row(group, lane));
    parts.put_word(1 + planes, top);
    parts.skip_words(1 + width);
    return static_cast<std::uint8_t>(kDense + width);
  }

  const std::span<BlockReader<V>> readers_;
  const std::span<const std::int32_t> factors_;
  const bool has_masks_;
  const unsigned count_, blocks_;
  EncodeSpace& space_;
  ChunkParts<V> parts_;
  BlockCodes codes_;
};

}  // namespace homz::homcomp
