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
  enum class Reading : unsigned char { wrong, by_word, by_vector };

  const char* add_batch(unsigned first, unsigned lanes, ChunkParts<V>& parts) {
    if (!has_masks_ && all_zero(first)) {
      std::memset(&codes_[first], kZero, lanes);
      return nullptr;
    }
    if (readers_.size() == 2) return add_two(first, lanes, parts);
    std::uint32_t fill[V::kLanes] = {};
    PlaneSum<V> planes;
    PlaneBatch<V> batch;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      PlaneWords blocks[V::kLanes];
      std::uint32_t sparse[V::kLanes][1 + V::kLanes];
      unsigned width = 1;
      const Reading reading = read_blocks(i, first, lanes, blocks, sparse, width, fill);
      if (reading == Reading::wrong) return "masks of no meaning";
      load(reading, blocks, width, batch);
      planes.add(batch, width, flip(i));
    }
    write_blocks(planes.finish(batch), batch, V::all(0), first, lanes, fill, parts);
    return nullptr;
  }

  const char* add_two(unsigned first, unsigned lanes, ChunkParts<V>& parts) {
    std::uint32_t fill[V::kLanes] = {};
    PlaneWords blocks_a[V::kLanes], blocks_b[V::kLanes];
    std::uint32_t sparse_a[V::kLanes][1 + V::kLanes], sparse_b[V::kLanes][1 + V::kLanes];
    unsigned width = 1;
    const Reading a = read_blocks(0, first, lanes, blocks_a, sparse_a, width, fill);
    const Reading b = read_blocks(1, first, lanes, blocks_b, sparse_b, width, fill);
    if (a == Reading::wrong || b == Reading::wrong) return "masks of no meaning";
    constexpr unsigned kNarrow = V::kLanes < 8 ? 8 : V::kLanes, kMiddle = 2 * kNarrow;
    if (width <= kNarrow) {
      add_two<kNarrow>(a, blocks_a, b, blocks_b, first, lanes, fill, parts);
    } else if (width <= kMiddle && kMiddle < kBlock) {
      add_two<kMiddle>(a, blocks_a, b, blocks_b, first, lanes, fill, parts);
    } else {
      PlaneSum<V> planes;
      PlaneBatch<V> batch;
      load(a, blocks_a, width, batch);
      planes.add(batch, width, flip(0));
      load(b, blocks_b, width, batch);
      planes.add(batch, width, flip(1));
      write_blocks(planes.finish(batch), batch, V::all(0), first, lanes, fill, parts);
    }
    return nullptr;
  }

  template <unsigned kPlanes>
  void add_two(Reading a, const PlaneWords (&blocks_a)[V::kLanes], Reading b,
               const PlaneWords (&blocks_b)[V::kLanes], unsigned first, unsigned lanes,
               const std::uint32_t* fill, ChunkParts<V>& parts) {
    PlaneBatch<V> batch_a, batch_b;
    load(a, blocks_a, kPlanes, batch_a);
    load(b, blocks_b, kPlanes, batch_b);
    Vec top;
    add_pair<V, kPlanes>(batch_a, batch_b, flip(0), flip(1), batch_a, top);
    write_blocks(kPlanes, batch_a, top, first, lanes, fill, parts);
  }

  Vec flip(std::size_t operand) const { return V::all(factors_[operand] == 1 ? 0 : ~0u); }

  bool all_zero(unsigned first) const {
    for (std::size_t i = 0; i < readers_.size(); ++i)
      if (!readers_[i].are_zero(first)) return false;
    return true;
  }

  // The next blocks of an operand; `widest` grows to the width of the widest.
  [[gnu::always_inline]] inline Reading read_blocks(std::size_t operand, unsigned first, unsigned lanes,
                                                    PlaneWords (&blocks)[V::kLanes],
                                                    std::uint32_t (&sparse)[V::kLanes][1 + V::kLanes],
                                                    unsigned& widest, std::uint32_t* fill) {
    BlockReader<V>& reader = readers_[operand];
    if (reader.read_dense(first, blocks, widest)) return Reading::by_vector;
    for (unsigned lane = lanes; lane < V::kLanes; ++lane) {
      std::memset(sparse[lane], 0, sizeof(sparse[lane]));
      blocks[lane] = {reinterpret_cast<const std::byte*>(sparse[lane]), 1, sizeof(sparse[lane])};
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!reader.read(first + lane, sparse[lane], blocks[lane])) return Reading::wrong;
      widest = std::max(widest, blocks[lane].width);
      if (has_masks_ && reader.is_masked(first + lane)) fill[lane] |= reader.fill(first + lane);
    }
    return Reading::by_word;
  }

  [[gnu::always_inline]] static inline void load(Reading reading, const PlaneWords (&blocks)[V::kLanes],
                                                 unsigned planes, PlaneBatch<V>& batch) {
    if (reading == Reading::by_vector)
      batch.template load<true>(blocks, planes);
    else
      batch.template load<false>(blocks, planes);
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
