// A chunk of a stream plus the values at its place, in one pass: HomComp's fused kernel. A template over the
// vector primitives V.
#pragma once

#include "codecs/homcomp/chunk_decoder.hpp"
#include "codecs/homcomp/chunk_encoder.hpp"
#include "homomorphic/homcomp/chunk_sum.hpp"

namespace homz::homcomp {

// Where no value of either is stored exactly or fill, and no quantum can leave the range: the values' quanta
// are predicted as the stream's are, so that residuals add up.
template <class V, class T>
class FusedChunk : private ChunkEncoder<V, T> {
  using Encoder = ChunkEncoder<V, T>;

 public:
  FusedChunk(const Coding<T>& coding, const Box& box, const std::byte* data, EncodeSpace& space)
      : Encoder(coding, box, none_, data, space) {}

  enum class Outcome : unsigned char { done, unsuitable, wrong };
  // *words: of the chunk, or 0 if it would not be smaller than its values.
  Outcome write(BlockReader<V>& other, std::byte* to, std::uint32_t* words) {
    this->quanta_.make();
    if (this->quanta_.has_vacant() || !take_range(other.range())) return Outcome::unsuitable;
    const Orders& orders = other.orders();
    // Nothing stands in front of a single row or plane: no encoder of ours takes differences there, others
    // may.
    if ((orders.y != 0 && this->box_.extents[2] == 1) || (orders.z != 0 && this->box_.extents[1] == 1))
      return Outcome::unsuitable;
    const bool any = orders.x + orders.y + orders.z != 0;
    this->orders_ = orders;
    this->orders_.base = any ? static_cast<std::int32_t>(first_quantum()) : 0;
    this->take_differences();
    for (unsigned block = 0; block < this->blocks_; ++block)
      if (!add(other, block)) return Outcome::wrong;
    this->orders_.base = static_cast<std::int32_t>(static_cast<std::uint32_t>(this->orders_.base) +
                                                   static_cast<std::uint32_t>(orders.base));
    this->find_widths();
    this->template write_blocks<false>();
    *words = this->assemble(to);
    return Outcome::done;
  }

 private:
  bool take_range(unsigned other) {
    const std::uint64_t reach = (std::uint64_t{1} << bit_width(this->quanta_.reach())) - 1;
    const std::uint64_t sum = reach + ((std::uint64_t{1} << other) - 1);
    this->range_ = bit_width(static_cast<std::uint32_t>(sum));
    return sum < kQuantumLimit;
  }
  std::uint32_t first_quantum() const { return this->words_[this->quanta_.lattice().first()]; }

  [[gnu::always_inline]] inline bool add(BlockReader<V>& other, unsigned block) {
    Block<V> residuals;
    if (!other.read(block, residuals)) return false;
    std::uint32_t* const at = this->words_ + kBlock * block;
    for (unsigned i = 0; i < V::kVectors; ++i)
      V::store(at + i * V::kLanes, V::load(at + i * V::kLanes) + residuals.v[i]);
    return true;
  }

  static constexpr Box none_{};  // no chunk is wanted next
};

template <class V, class T>
class ChunkAccumulation {
 public:
  ChunkAccumulation(const Coding<T>& coding, const Linear<T>& linear, const Box& box, SumSpace& space)
      : coding_(coding), linear_(linear), box_(box), space_(space) {}

  // As AccumulateChunk.
  ChunkResult write(const std::byte* data, const ChunkRef& chunk, std::byte* to, std::byte* decoded) {
    ChunkResult result = fuse(data, chunk, to);
    if (result.wrong == nullptr && decoded != nullptr) result.wrong = decode(result, to, decoded);
    return result;
  }

 private:
  ChunkResult fuse(const std::byte* data, const ChunkRef& chunk, std::byte* to) {
    ChunkResult result;
    if (!chunk.is_raw) {
      auto& reader = *new (space_.readers) BlockReader<V>;
      result.wrong = reader.open(chunk.bytes, box_.count(), sizeof(T), linear_.has_fill);
      if (result.wrong != nullptr) return result;
      if (!reader.has_masks()) {
        using Fused = FusedChunk<V, T>;
        const auto outcome = Fused(coding_, box_, data, space_.encode).write(reader, to, &result.words);
        if (outcome == Fused::Outcome::wrong) result.wrong = "masks of no meaning";
        if (outcome == Fused::Outcome::wrong || result.words != 0) return result;
      }
    }
    return encode_and_add(data, chunk, to);
  }

  ChunkResult encode_and_add(const std::byte* data, const ChunkRef& chunk, std::byte* to) {
    const Box none;
    const std::uint64_t words =
        ChunkEncoder<V, T>(coding_, box_, none, data, space_.encode).encode(space_.local);
    const ChunkRef local{{space_.local, words != 0 ? 4 * words : box_.count() * sizeof(T)},
                         words == 0,
                         space_.local + sizeof(space_.local)};
    if (words == 0)
      for (RowWalk row(box_); !row.is_done(); row.next())
        std::memcpy(space_.local + row.position() * sizeof(T), data + row.data() * sizeof(T),
                    box_.row() * sizeof(T));
    const ChunkRef both[] = {chunk, local};
    return ChunkSum<V, T>(linear_, box_, both, space_).write(to);
  }

  const char* decode(const ChunkResult& result, const std::byte* chunk, std::byte* data) const {
    if (result.words != 0)
      return ChunkDecoder<V, T>(coding_, box_, data).decode({chunk, 4 * std::size_t{result.words}});
    for (RowWalk row(box_); !row.is_done(); row.next())
      std::memcpy(data + row.data() * sizeof(T), chunk + row.position() * sizeof(T), box_.row() * sizeof(T));
    return nullptr;
  }

  const Coding<T>& coding_;
  const Linear<T>& linear_;
  const Box& box_;
  SumSpace& space_;
};

}  // namespace homz::homcomp
