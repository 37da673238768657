// Encodes whole blocks in a row, in two passes: sizes, then bytes. A template over the vector primitives V
// (simd_portable.hpp tells what they are).
#pragma once

#include "codecs/cuszp/kernels.hpp"

namespace homz::cuszp {

template <class V, class T, Mode kMode>
class RowEncoder {
 public:
  RowEncoder(const Coding<T>& coding, const std::byte* values, unsigned blocks)
      : coding_(coding), values_(values), blocks_(blocks) {}

  void measure(std::byte* metadata, Measured& measured) const {
    std::uint64_t bytes = 0;
    for (unsigned block = 0; block < blocks_; ++block) {
      Quanta quanta;
      quantise(block, quanta);
      const std::uint32_t fill = coding_.has_fill ? find_fill(block) : 0;
      Shape shape = shape_of(quanta.v);
      if (V::is_any(quanta.doubt) || fill != 0 || shape.width > kWidest) [[unlikely]]
        shape = resolve(block, quanta, fill, shape, measured);
      metadata[block] = shape.metadata();
      bytes += shape.bytes(kPlaneBytes);
    }
    measured.bytes += bytes;
  }

  std::uint64_t write(const std::byte* metadata, const BlockMask& by_value, std::byte* to,
                      std::uint64_t room) const {
    std::uint64_t left = room;
    for (unsigned block = 0; block < blocks_; ++block) {
      const std::uint64_t bytes = kBlockSizes<1, kMode>.of[std::to_integer<unsigned>(metadata[block])];
      if (bytes == 0) continue;
      if (bytes > left) break;
      Shape shape;
      read_shape<1>(metadata[block], kMode, shape);
      left -= bytes;
      if (by_value.has(block)) {
        pack_by_value(values_of(block), shape, to);
      } else if (left >= kBehindPlanes) {
        pack(values_of(block), shape, to);
      } else {
        std::byte together[Block<1>::kMaxBytes + kBehindPlanes];
        pack(values_of(block), shape, together);
        std::memcpy(to, together, bytes);
      }
      to += bytes;
    }
    return room - left;
  }

  void list(const Marks& marks, ExceptionWriter& writer) const {
    for (unsigned word = 0; 64 * word < blocks_; ++word)
      for (std::uint64_t bits = marks.listed.bits[word] | marks.filled.bits[word]; bits != 0;
           bits &= bits - 1) {
        const unsigned block = 64 * word + static_cast<unsigned>(std::countr_zero(bits));
        if (block >= blocks_) return;
        if (marks.filled.has(block))
          for (unsigned i = 0; i < kValues; ++i) writer.fill(kValues * block + i);
        else if (marks.by_value.has(block))
          block_by_value(coding_, values_of(block)).tell(kValues * block, writer);
        else
          list_exact(block, writer);
      }
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kValues = Block<1>::kValues, kPlaneBytes = Block<1>::kPlaneBytes;
  static constexpr unsigned kWidest = Block<1>::kMaxWidth, kBehindPlanes = 8 * kPlaneBytes;

  const std::byte* values_of(unsigned block) const {
    return values_ + std::size_t{block} * kValues * sizeof(T);
  }

  T value_of(unsigned block, unsigned i) const { return load_value<T>(values_of(block) + i * sizeof(T)); }

  // ---- Quanta

  struct Quanta {
    Vec v[V::kVectors];
    typename V::Doubt doubts[V::kVectors], doubt{};  // of each vector, and of all
  };

  void quantise(unsigned block, Quanta& quanta) const {
    for (unsigned i = 0; i < V::kVectors; ++i)
      quanta.doubt |= quanta.doubts[i] =
          V::quantise(values_of(block) + i * V::kLanes * sizeof(T), coding_, quanta.v[i]);
  }

  std::uint32_t find_fill(unsigned block) const {
    std::uint32_t fill = 0;
    for (unsigned i = 0; i < V::kVectors; ++i)
      fill |= V::template equal<T>(values_of(block) + i * V::kLanes * sizeof(T), coding_.fill)
              << i * V::kLanes;
    return fill;
  }

  static void difference(Vec (&q)[V::kVectors]) {
    if (kMode == Mode::fixed) return;
    for (unsigned i = V::kVectors; i-- > 1;) q[i] -= V::behind(q[i - 1], q[i]);
    q[0] -= V::behind(V::all(0), q[0]);
  }

  // The width is above kWidest if a residual is -2^31, which the block code loses.
  static Shape shape_of(const Vec (&quanta)[V::kVectors]) {
    Vec r[V::kVectors];
    for (unsigned i = 0; i < V::kVectors; ++i) r[i] = quanta[i];
    difference(r);
    Vec sizes = V::magnitude(kMode == Mode::outlier ? V::without_first(r[0]) : r[0]);
    for (unsigned i = 1; i < V::kVectors; ++i) sizes |= V::magnitude(r[i]);
    return shape_from<1, kMode>(V::first(quanta[0]), V::union_of(sizes));
  }

  // ---- Exceptions

  // A block with fill values, with values that may not come back within the bound, or with lost residuals.
  [[gnu::noinline]] Shape resolve(unsigned block, const Quanta& quanta, std::uint32_t fill, Shape shape,
                                  Measured& measured) const {
    const std::uint32_t first = kValues * block;
    std::uint32_t exact = 0;
    if (fill == ~0u) {
      measured.marks.filled.set(block);
      for (unsigned i = 0; i < kValues; ++i) measured.exceptions.fill(first + i);
      return Shape();
    }
    if (fill != 0 || shape.width > kWidest || !find_exact(block, quanta, exact)) {
      const CodedBlock<T, 1> coded = block_by_value(coding_, values_of(block));
      measured.marks.by_value.set(block);
      if (coded.tell(first, measured.exceptions)) measured.marks.listed.set(block);
      return coded.shape();
    }
    if (exact != 0) measured.marks.listed.set(block);
    for (; exact != 0; exact &= exact - 1)
      measured.exceptions.exact(first + static_cast<std::uint32_t>(std::countr_zero(exact)), T(0));
    return shape;
  }

  void list_exact(unsigned block, ExceptionWriter& writer) const {
    Quanta quanta;
    quantise(block, quanta);
    std::uint32_t exact = 0;
    find_exact(block, quanta, exact);
    for (; exact != 0; exact &= exact - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(exact));
      writer.exact(kValues * block + i, value_of(block, i));
    }
  }

  // The values that do not come back within the bound; false if there are any out of the range of quanta.
  bool find_exact(unsigned block, const Quanta& quanta, std::uint32_t& exact) const {
    std::uint32_t q[kValues], bad = 0;
    for (unsigned i = 0; i < V::kVectors; ++i) {
      V::store(q + i * V::kLanes, quanta.v[i]);
      bad |= V::mask_of(quanta.doubts[i]) << i * V::kLanes;
    }
    for (; bad != 0; bad &= bad - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(bad));
      if (is_out_of_range(q[i])) return false;
      if (!within_bound(value_of(block, i), coding_.by.restore(q[i]), coding_.abs_error)) exact |= 1u << i;
    }
    return true;
  }

  // ---- Bytes

  // May write kBehindPlanes bytes more than the block has.
  void pack(const std::byte* from, Shape shape, std::byte* to) const {
    Vec r[V::kVectors];
    for (unsigned i = 0; i < V::kVectors; ++i)
      r[i] = V::quantise_unchecked(from + i * V::kLanes * sizeof(T), coding_);
    difference(r);
    if (kMode == Mode::outlier && shape.outlier_bytes != 0) {
      const std::uint32_t first = V::first(r[0]);
      r[0] = V::without_first(r[0]);
      V::template write_planes<kPlaneBytes>(r, shape.width, to + shape.outlier_bytes);
      store_outlier(first, shape.outlier_bytes, to);
    } else {
      V::template write_planes<kPlaneBytes>(r, shape.width, to);
    }
  }

  void pack_by_value(const std::byte* from, Shape shape, std::byte* to) const {
    block_by_value(coding_, from).pack(shape, to);
  }

  const Coding<T>& coding_;
  const std::byte* const values_;
  const unsigned blocks_;
};

}  // namespace homz::cuszp
