// Decodes one chunk. Nothing in it is trusted, and a place is checked when it is used: a chunk that changes
// meanwhile gives wrong values, never a fault. A template over the vector primitives V.
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/block_reader.hpp"
#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
class ChunkDecoder {
 public:
  ChunkDecoder(const Coding<T>& coding, const Box& box, std::byte* data)
      : coding_(coding), box_(box), data_(data), count_(box.count()), blocks_(ceil_div(count_, kBlock)) {}

  // As DecodeChunk.
  const char* decode(ConstBytes chunk) {
    if (const char* wrong = reader_.open(chunk, count_, sizeof(T), coding_.has_fill); wrong != nullptr)
      return wrong;
    values_ = reader_.exact_values();
    return read() ? nullptr : "masks of no meaning";
  }

 private:
  using Vec = typename V::Vec;
  // What stands in front of the first values along each axis. What is in front of a single plane, or of a
  // single row, is in front of all its values.
  struct Fronts {
    bool along_y, along_z;
    std::uint32_t x, y, z;

    Fronts(const Orders& orders, const Box& box)
        : along_y(orders.y != 0 && box.extents[2] > 1),
          along_z(orders.z != 0 && box.extents[1] > 1),
          x(static_cast<std::uint32_t>(orders.offset() + orders.front_x())),
          y(static_cast<std::uint32_t>(orders.front_y())),
          z(static_cast<std::uint32_t>(orders.front_z())) {
      if (!along_z) y += z;
      if (!along_y) x += y;
    }
    bool any() const { return along_y || along_z; }
  };

  bool read() {
    const Fronts fronts(reader_.orders(), box_);
    const unsigned order = reader_.orders().x;
    const bool whole_vectors = box_.row() % V::kLanes == 0;
    if (box_.row() == count_ || (!fronts.any() && whole_vectors))
      return order == 0 ? read_rows<0>(fronts) : order == 1 ? read_rows<1>(fronts) : read_rows<2>(fronts);
    if (!read_all_residuals()) return false;
    if (box_.row() == kShortRow && !reader_.has_masks()) {
      order == 0   ? write_short_rows<0>(fronts)
      : order == 1 ? write_short_rows<1>(fronts)
                   : write_short_rows<2>(fronts);
      return true;
    }
    if (whole_vectors)
      order == 0 ? sum_rows<0>(fronts) : order == 1 ? sum_rows<1>(fronts) : sum_rows<2>(fronts);
    else
      undo_differences<V>(quanta_, box_, reader_.orders());
    Cursor cursor(box_);
    for (unsigned block = 0; block < blocks_; ++block)
      if (!write_values(cursor, block, Block<V>::load(quanta_ + kBlock * block))) return false;
    return true;
  }

  // ---- Along x

  // Values that follow from their row alone, straight to their places.
  template <unsigned kOrder>
  bool read_rows(const Fronts& fronts) {
    RowSums<V, kOrder> sums(fronts.x);
    const unsigned row = box_.row() == count_ ? kChunk : box_.row();
    unsigned left = 0;
    Cursor cursor(box_);
    for (unsigned block = 0; block < blocks_; ++block) {
      Block<V> values;
      if (!reader_.read(block, values)) return false;
      for (unsigned i = 0; i < V::kVectors; ++i) {
        if (left == 0) {
          left = row;
          sums.reset(fronts.x);
        }
        left -= V::kLanes;
        values.v[i] = sums.add(values.v[i]);
      }
      if (!write_values(cursor, block, values)) return false;
    }
    return true;
  }

  // ---- Along several axes: all residuals first, then sums in their place

  bool read_all_residuals() {
    Prefetcher<T, true> places(box_, data_);
    for (unsigned block = 0; block < blocks_; ++block) {
      places.next_block();
      Block<V> residuals;
      if (!reader_.read(block, residuals)) return false;
      residuals.store(quanta_ + kBlock * block);
    }
    return true;
  }

  // What a plane begins with: what is in front of each of its rows, of its first row, and whether the plane
  // in front of it counts.
  struct PlaneStart {
    std::uint32_t x, y;
    bool has_z;

    PlaneStart(const Fronts& fronts, unsigned z) : x(fronts.x), y(fronts.y), has_z(fronts.along_z && z != 0) {
      if (fronts.along_z && z == 0) (fronts.along_y ? y : x) += fronts.z;
    }
  };

  // Values to their places, too; the sums of the row in front stay in registers.
  template <unsigned kOrder>
  void write_short_rows(const Fronts& fronts) {
    constexpr unsigned kVectors = kShortRow / V::kLanes;
    const unsigned rows = box_.extents[2], plane = box_.plane();
    const std::uint64_t stride = box_.strides[2] * sizeof(T);
    const Vec keep_y = V::all(fronts.along_y ? ~0u : 0);
    const T step = coding_.by.step;
    for (PlaneWalk walk(box_); !walk.is_done(); walk.next()) {
      std::uint32_t* at = quanta_ + walk.position();
      std::byte* to = data_ + walk.data() * sizeof(T);
      const PlaneStart start(fronts, walk.z());
      const Vec keep_z = V::all(start.has_z ? ~0u : 0);
      const unsigned back = start.has_z ? plane : 0;
      Vec above[kVectors];
      for (Vec& v : above) v = V::all(start.y);
      for (unsigned y = 0; y < rows; ++y, at += kShortRow, to += stride) {
        RowSums<V, kOrder> sums(start.x);
        for (unsigned i = 0; i < kVectors; ++i) {
          above[i] = (above[i] & keep_y) + sums.add(V::load(at + i * V::kLanes));
          const Vec quanta = above[i] + (V::load(at + i * V::kLanes - back) & keep_z);
          V::store(at + i * V::kLanes, quanta);
          V::template restore<T>(quanta, step, to + i * V::kLanes * sizeof(T));
        }
      }
    }
  }

  template <unsigned kOrder>
  void sum_rows(const Fronts& fronts) {
    const unsigned length = box_.row(), plane = box_.plane();
    for (RowWalk row(box_); !row.is_done(); row.next()) {
      std::uint32_t* const at = quanta_ + row.position();
      const PlaneStart start(fronts, row.z());
      RowSums<V, kOrder> sums(start.x);
      for (unsigned x = 0; x < length; x += V::kLanes) {
        Vec values = sums.add(V::load(at + x));
        if (fronts.along_y) {
          values += row.y() == 0 ? V::all(start.y) : V::load(above_ + x);
          V::store(above_ + x, values);
        }
        if (start.has_z) values += V::load(at + x - plane);
        V::store(at + x, values);
      }
    }
  }

  // ---- Values

  [[gnu::always_inline]] inline bool write_values(Cursor& cursor, unsigned block, const Block<V>& quanta) {
    const unsigned count = std::min(kBlock, count_ - kBlock * block);
    const bool is_masked = reader_.is_masked(block);
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
    return write_by_value(cursor, block, quanta);
  }

  [[gnu::noinline]] bool write_by_value(Cursor& cursor, unsigned block, const Block<V>& quanta) {
    std::byte together[kBlock * sizeof(T)];
    restore(quanta, together);
    if (reader_.is_masked(block) && !patch(block, together)) return false;
    scatter(cursor, together, std::min(kBlock, count_ - kBlock * block));
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
    for (std::uint32_t bits = reader_.fill(block); bits != 0; bits &= bits - 1)
      std::memcpy(values + std::countr_zero(bits) * sizeof(T), &coding_.fill, sizeof(T));
    for (std::uint32_t bits = reader_.exact(block); bits != 0; bits &= bits - 1) {
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
  BlockReader<V> reader_;
  ConstBytes values_;                            // what is left of them
  alignas(64) std::uint32_t quanta_[kChunk];     // residuals, then quanta in their place
  alignas(64) std::uint32_t above_[kChunk / 2];  // sums of the row in front
};

}  // namespace homz::homcomp
