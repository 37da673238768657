// The parts of a chunk behind its head, while it is written: words, sparse magnitudes and sparse signs.
// Templates over the vector primitives V.
#pragma once

#include <cstring>

#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

// Where the next of each goes. To be kept in a local variable: registers then.
template <class V>
class ChunkParts {
 public:
  explicit ChunkParts(EncodeSpace& space)
      : words_(space.words), magnitudes_(space.magnitudes), signs_(space.signs) {}

  void add_word(std::uint32_t word) {
    store_le(words_, word);
    words_ += 4;
  }

  // A dense block.
  void add_planes(std::uint32_t signs, const typename V::Vec (&sizes)[V::kVectors], unsigned width) {
    store_le(words_, signs);
    V::planes(sizes, width, words_ + 4);
    words_ += 4 * (1 + width);
  }

  // The same from words at hand: any number of them, then as many as count.
  void put_words(unsigned first, typename V::Vec words) {
    V::store(reinterpret_cast<std::uint32_t*>(words_) + first, words);
  }
  void put_word(unsigned at, std::uint32_t word) { store_le(words_ + 4 * at, word); }
  void skip_words(unsigned count) { words_ += 4 * count; }

  // A block of any width, that of its largest residual; returns its code.
  [[gnu::always_inline]] inline std::uint8_t add_residuals(const std::uint32_t* residuals, unsigned width) {
    typename V::Vec sizes[V::kVectors];
    std::uint32_t signs = 0;
    for (unsigned i = 0; i < V::kVectors; ++i) {
      const typename V::Vec each = V::load(residuals + i * V::kLanes);
      signs |= V::negative(each) << i * V::kLanes;
      sizes[i] = V::magnitude(each);
    }
    if (width > 1) {
      add_planes(signs, sizes, width);
      return static_cast<std::uint8_t>(kDense + width);
    }
    std::uint32_t plane = 0;  // without a branch for those that are 0: it is as good as random
    for (unsigned i = 0; i < V::kVectors; ++i) plane |= V::not_zero(sizes[i]) << i * V::kLanes;
    return add_sparse(plane, signs);
  }

  // A block whose only magnitude plane is `plane`; returns its code. One of zeros takes nothing, and has code
  // 0.
  std::uint8_t add_sparse(std::uint32_t plane, std::uint32_t signs) {
    constexpr std::uint32_t kLow = 0x7f7f7f7f, kTops = 0x80808080;
    const std::uint32_t tops = (((plane & kLow) + kLow) | plane) & kTops;  // of the bytes that are not 0
    const std::uint32_t bytes = (tops >> 7) * 0xff;
    store_le(magnitudes_, V::bits_where(plane, bytes));
    magnitudes_ += count_bits(tops);
    pending_ |= std::uint64_t{V::bits_where(signs, plane)} << pending_bits_;
    store_le(signs_, pending_);
    const unsigned bits = pending_bits_ + count_bits(plane);
    signs_ += bits / 8;
    pending_ >>= bits / 8 * 8;
    pending_bits_ = bits % 8;
    return static_cast<std::uint8_t>(V::bits_where(tops, kTops));
  }

  // Of all parts, padded.
  unsigned bytes(const EncodeSpace& space) const {
    return static_cast<unsigned>(words_ - space.words) + ceil_div(sparse_bytes(space), 4u) * 4;
  }
  std::byte* write(const EncodeSpace& space, std::byte* to) const {  // returns the end
    std::byte* const end = to + bytes(space);
    to = append(space.words, words_, to);
    to = append(space.magnitudes, magnitudes_, to);
    to = append(space.signs, signs_ + (pending_bits_ != 0), to);
    std::memset(to, 0, static_cast<std::size_t>(end - to));
    return end;
  }

 private:
  unsigned sparse_bytes(const EncodeSpace& space) const {
    return static_cast<unsigned>(magnitudes_ - space.magnitudes + (signs_ - space.signs)) +
           (pending_bits_ != 0);
  }
  static std::byte* append(const std::byte* from, const std::byte* end, std::byte* to) {
    std::memcpy(to, from, static_cast<std::size_t>(end - from));
    return to + (end - from);
  }

  std::byte* words_;
  std::byte* magnitudes_;
  std::byte* signs_;
  std::uint64_t pending_ = 0;  // signs that do not fill a byte yet
  unsigned pending_bits_ = 0;
};

}  // namespace homz::homcomp
