// Decodes one chunk. Nothing in it is trusted, and a place is checked when it is used: a chunk that changes
// meanwhile gives wrong values, never a fault. A template over the vector primitives V.
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/chunk_reader.hpp"
#include "codecs/homcomp/chunk_rows.hpp"
#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkDecoder {
 public:
  ChunkDecoder(const Coding<T>& coding, const Box& box, std::byte* data)
      : coding_(coding), box_(box), data_(data), count_(box.count()), blocks_(ceil_div(count_, kBlock)) {}

  // As DecodeChunk.
  const char* decode(ConstBytes chunk) {
    if (const char* wrong = reader_.open(chunk, blocks_, sizeof(T), coding_.has_fill); wrong != nullptr)
      return wrong;
    words_ = reader_.words;
    values_ = reader_.values;
    return read() ? nullptr : "masks of no meaning";
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kRowUnit = 16;  // rows of a multiple of it consist of whole vectors

  std::uint32_t valid(unsigned block) const {  // positions that have a value
    const unsigned values = count_ - kBlock * block;
    return values >= kBlock ? ~0u : (1u << values) - 1;
  }

  bool read() {
    const Orders& orders = reader_.orders();
    const bool by_vectors = orders.x == 0 || box_.row() == count_ || box_.row() % kRowUnit == 0;
    const bool direct = orders.y + orders.z == 0 && by_vectors;  // values follow from a row alone
    if (!(direct ? read_rows<true>(orders.x) : read_rows<false>(by_vectors ? orders.x : 0))) return false;
    if (direct) return true;
    if (!by_vectors) sum_rows_by_value();
    undo_planes_and_rows<V>(quanta_, box_, orders);
    Cursor cursor(box_);
    for (unsigned block = 0; block < blocks_; ++block)
      if (!write_values(cursor, block, Block<V>::load(quanta_ + kBlock * block))) return false;
    return true;
  }

  // ---- Along x

  template <unsigned kOrder>
  struct RowSums {
    Vec first, second;

    void reset(std::uint32_t front) {
      first = V::all(kOrder == 1 ? front : 0);
      second = V::all(front);
    }
    Vec add(Vec residuals) {
      if constexpr (kOrder == 0) return residuals + second;
      Vec sums = V::prefix_sums(residuals);
      const Vec total = V::last(sums);  // off the chain from vector to vector
      sums += first;
      first += total;
      if constexpr (kOrder == 1) return sums;
      sums = V::prefix_sums(sums);
      const Vec second_total = V::last(sums);
      sums += second;
      second += second_total;
      return sums;
    }
  };

  template <bool kDirect>
  bool read_rows(unsigned order) {
    return order == 0   ? read_rows<kDirect, 0>()
           : order == 1 ? read_rows<kDirect, 1>()
                        : read_rows<kDirect, 2>();
  }

  // Residuals, then sums along x; then values to their places, or quanta to the buffer.
  template <bool kDirect, unsigned kOrder>
  bool read_rows() {
    const Orders& orders = reader_.orders();
    const auto front = static_cast<std::uint32_t>(kOrder == 0 ? orders.offset() : orders.front_x());
    const unsigned row = box_.row() == count_ || kOrder == 0 ? kChunk : box_.row();
    unsigned left = row;
    RowSums<kOrder> sums;
    sums.reset(front);
    Cursor cursor(box_);
    Prefetcher<T, true> places(kDirect ? Box{} : box_, data_);
    for (unsigned block = 0; block < blocks_; ++block) {
      Block<V> values;
      if (!kDirect) places.next_block();
      if (!read_residuals(block, values)) return false;
      for (unsigned i = 0; i < V::kVectors; ++i) {
        if (left == 0) {
          left = row;
          sums.reset(front);
        }
        values.v[i] = sums.add(values.v[i]);
        left -= V::kLanes;
      }
      if (kDirect && !write_values(cursor, block, values)) return false;
      if (!kDirect) values.store(quanta_ + kBlock * block);
    }
    return true;
  }

  // The same for rows of other lengths.
  void sum_rows_by_value() {
    const auto front = static_cast<std::uint32_t>(reader_.orders().front_x());
    const bool twice = reader_.orders().x == 2;
    for (unsigned at = 0; at < count_; at += box_.row()) {
      std::uint32_t slope = 0, sum = front;
      for (unsigned i = at; i < at + box_.row(); ++i) {
        slope = quanta_[i] + (twice ? slope : 0);
        sum += slope;
        quanta_[i] = sum;
      }
    }
  }

  // ---- Blocks

  [[gnu::always_inline]] inline bool read_residuals(unsigned block, Block<V>& residuals) {
    const std::uint8_t code = reader_.code(block);
    if (code >= kAllFill && !read_masks(block, code)) return false;
    if (is_dense(code)) {
      const unsigned width = width_of(code);
      const auto signs = load_le<std::uint32_t>(words_);
      V::join_planes(words_ + 4, width, residuals.v);
      words_ += 4 * (1 + width);
      apply_signs(signs, residuals);
      return true;
    }
    if (is_sparse(code)) return read_sparse(code & 15, residuals);
    for (Vec& v : residuals.v) v = V::all(0);
    return true;
  }

  static void apply_signs(std::uint32_t signs, Block<V>& residuals) {
    for (unsigned i = 0; i < V::kVectors; ++i)
      residuals.v[i] = V::negate_where(signs >> i * V::kLanes & V::kAll, residuals.v[i]);
  }

  bool read_masks(unsigned block, std::uint8_t code) {
    fill_[block] = code == kAllFill ? valid(block) : 0;
    exact_[block] = 0;
    if (code == kAllFill) return true;
    if ((code & kFillMask) != 0) {
      fill_[block] = load_le<std::uint32_t>(words_);
      words_ += 4;
    }
    if ((code & kExactMask) != 0) {
      exact_[block] = load_le<std::uint32_t>(words_);
      words_ += 4;
    }
    return (fill_[block] & exact_[block]) == 0 && ((fill_[block] | exact_[block]) & ~valid(block)) == 0;
  }

  bool read_sparse(std::uint8_t code, Block<V>& residuals) {
    const std::uint32_t bytes = sparse_bytes_mask(code);
    const std::uint32_t plane = V::bits_to(reader_.sparse.magnitudes(count_bits(bytes) / 8), bytes);
    std::uint32_t signs = 0;
    if (!reader_.sparse.signs(count_bits(plane), signs)) return false;
    for (unsigned i = 0; i < V::kVectors; ++i)
      residuals.v[i] = V::select(plane >> i * V::kLanes & V::kAll, V::all(1), V::all(0));
    apply_signs(V::bits_to(signs, plane), residuals);
    return true;
  }

  // ---- Values

  bool write_values(Cursor& cursor, unsigned block, const Block<V>& quanta) {
    const unsigned count = std::min(kBlock, count_ - kBlock * block);
    const bool is_masked = reader_.code(block) >= kAllFill;
    if (cursor.left() >= kBlock && !is_masked) {
      restore(quanta, data_ + cursor.at() * sizeof(T));
      cursor.advance(kBlock);
      return true;
    }
    if (box_.row() % V::kLanes == 0 && count == kBlock && !is_masked) {
      for (const Vec v : quanta.v) {
        V::template restore<T>(v, coding_.by.step, data_ + cursor.at() * sizeof(T));
        cursor.advance(V::kLanes);
      }
      return true;
    }
    std::byte together[kBlock * sizeof(T)];
    restore(quanta, together);
    if (is_masked && !patch(block, together)) return false;
    scatter(cursor, together, count);
    return true;
  }

  void restore(const Block<V>& quanta, std::byte* to) const {
    for (unsigned i = 0; i < V::kVectors; ++i)
      V::template restore<T>(quanta.v[i], coding_.by.step, to + i * V::kLanes * sizeof(T));
  }

  void scatter(Cursor& cursor, const std::byte* from, unsigned have) const {
    while (have != 0) {
      const unsigned piece = std::min(have, cursor.left());
      std::memcpy(data_ + cursor.at() * sizeof(T), from, piece * sizeof(T));
      from += piece * sizeof(T);
      have -= piece;
      cursor.advance(piece);
    }
  }

  bool patch(unsigned block, std::byte* values) {
    for (std::uint32_t bits = fill_[block]; bits != 0; bits &= bits - 1)
      std::memcpy(values + std::countr_zero(bits) * sizeof(T), &coding_.fill, sizeof(T));
    for (std::uint32_t bits = exact_[block]; bits != 0; bits &= bits - 1) {
      if (values_.size() < sizeof(T)) return false;
      std::memcpy(values + std::countr_zero(bits) * sizeof(T), values_.data(), sizeof(T));
      values_ = values_.subspan(sizeof(T));
    }
    return true;
  }

  const Coding<T>& coding_;
  const Box& box_;
  std::byte* const data_;
  const unsigned count_, blocks_;
  ChunkReader<V> reader_;
  const std::byte* words_ = nullptr;
  ConstBytes values_;                             // what is left of them
  std::uint32_t fill_[kBlocks], exact_[kBlocks];  // masks of the blocks that have such
  alignas(64) std::uint32_t quanta_[kChunk];
};

}  // namespace homz::homcomp
