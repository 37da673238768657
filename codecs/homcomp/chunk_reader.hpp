// The front of a chunk: its orders, the codes of its blocks, and where its parts stand. Nothing is trusted.
#pragma once

#include <cstring>

#include "codecs/homcomp/chunk_head.hpp"
#include "codecs/homcomp/sparse_reader.hpp"
#include "core/memory.hpp"

namespace homz::homcomp {

template <class V>
class ChunkReader {
 public:
  // Returns nullptr, or what is wrong. `chunk` must outlive the reader.
  const char* open(ConstBytes chunk, unsigned blocks, unsigned value_bytes, bool has_fill) {
    const char* wrong = read_head(chunk, blocks);
    if (wrong == nullptr) wrong = read_codes(chunk, blocks);
    if (wrong != nullptr) return wrong;
    if (!has_fill && ((all_codes_ & kFillMask) != 0 || any_all_fill_))
      return "fill values, but none is declared";
    return place_parts(chunk, blocks, value_bytes);
  }

  const Orders& orders() const { return orders_; }
  std::uint8_t code(unsigned block) const { return codes_[block]; }
  const std::uint8_t* codes() const { return codes_; }  // readable by eights
  unsigned range() const { return range_; }
  bool has_masks() const { return any_all_fill_ || (all_codes_ & (kFillMask | kExactMask)) != 0; }
  bool has_exact_masks() const { return (all_codes_ & kExactMask) != 0; }

  const std::byte* words = nullptr;  // masks, signs and planes: as many as the codes say
  SparseReader<V> sparse;
  ConstBytes values;  // exact ones, as many as the masks say

 private:
  const char* read_head(ConstBytes chunk, unsigned blocks) {
    if (chunk.size() < ChunkHead::kBytes) return "a chunk without a head";
    const auto flags = std::to_integer<std::uint8_t>(chunk[0]);
    orders_.x = flags & ChunkHead::kOrderX;
    orders_.y = (flags & ChunkHead::kOrderY) != 0;
    orders_.z = (flags & ChunkHead::kOrderZ) != 0;
    if (flags >= 2 * ChunkHead::kElseFill || orders_.x == 3) return "orders of no meaning";
    range_ = std::to_integer<unsigned>(chunk[1]);
    if (range_ > ChunkHead::kMaxRange) return "quanta beyond the limit";
    top_ = load_le<std::uint16_t>(&chunk[2]);
    if (top_ >> ceil_div(blocks, ChunkHead::kCodeGroup) != 0) return "codes behind the last block";
    otherwise_ = (flags & ChunkHead::kElseFill) != 0 ? kAllFill : kZero;
    at_ = ChunkHead::kBytes;
    if ((flags & ChunkHead::kHasBase) == 0) return nullptr;
    if (chunk.size() < at_ + 4) return "a chunk without its base";
    orders_.base = static_cast<std::int32_t>(load_le<std::uint32_t>(&chunk[at_]));
    at_ += 4;
    return nullptr;
  }

  // A group of codes at a time, spread to their blocks.
  const char* read_codes(ConstBytes chunk, unsigned blocks) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    std::size_t bitmap = at_, at = at_ + count_bits(top_);
    if (chunk.size() < at) return "a chunk without its bitmap";
    std::memset(codes_, otherwise_, blocks);
    // Locals: a store of a code could change any member, as far as compilers know.
    std::uint64_t all_codes = 0;
    CodeSums sums;
    for (unsigned groups = top_; groups != 0; groups &= groups - 1) {
      const unsigned first = static_cast<unsigned>(std::countr_zero(groups)) * ChunkHead::kCodeGroup;
      const auto coded = std::to_integer<std::uint8_t>(chunk[bitmap++]);
      if (coded == 0 || (first + ChunkHead::kCodeGroup > blocks && coded >> (blocks - first) != 0))
        return "a bitmap of no meaning";
      if (chunk.size() - at < count_bits(coded)) return "a chunk without its codes";
      std::uint64_t codes = V::bytes_to(SparseReader<V>::load_eight(chunk, at), coded);
      at += count_bits(coded);
      all_codes |= codes;
      codes |= otherwise_ * kOnes & ~V::bytes_to(~std::uint64_t{0}, coded);
      store_le(reinterpret_cast<std::byte*>(codes_ + first), codes);
      for (unsigned i = 0; i < ChunkHead::kCodeGroup; ++i)
        sums.fields += kSumsOfCode[codes >> 8 * i & 0xff].fields;
    }
    if (sums.any_no_code()) return "a code of no meaning";
    at_ = at;
    word_count_ = sums.words();
    magnitude_bytes_ = sums.magnitude_bytes();
    for (unsigned half = 32; half >= 8; half /= 2) all_codes |= all_codes >> half;
    all_codes_ = static_cast<std::uint8_t>(all_codes);
    any_all_fill_ = otherwise_ == kAllFill || sums.any_all_fill();
    return nullptr;
  }

  const char* place_parts(ConstBytes chunk, unsigned blocks, unsigned value_bytes) {
    for (; at_ % 4 != 0; ++at_)
      if (at_ >= chunk.size() || chunk[at_] != std::byte{0}) return "a head that is not padded";
    if ((chunk.size() - at_) / 4 < word_count_) return "a chunk without its planes";
    words = chunk.data() + at_;
    at_ += 4 * word_count_;
    std::size_t value_count = 0;
    if ((all_codes_ & kExactMask) != 0) {
      const std::byte* word = words;
      for (unsigned block = 0; block < blocks; word += 4 * kSumsOfCode[codes_[block]].words(), ++block)
        if ((codes_[block] & kExactMask) != 0)
          value_count +=
              count_bits(load_le<std::uint32_t>((codes_[block] & kFillMask) != 0 ? word + 4 : word));
    }
    if (const char* wrong = sparse.open(chunk.subspan(at_), magnitude_bytes_); wrong != nullptr) return wrong;
    values = chunk.subspan(at_ + sparse.bytes());
    return values.size() == value_count * value_bytes ? nullptr
                                                      : "a chunk whose length does not fit its content";
  }

  Orders orders_;
  unsigned range_ = 0;
  unsigned top_ = 0;
  std::uint8_t otherwise_ = kZero;  // the code of blocks without one
  std::uint8_t all_codes_ = 0;      // union
  bool any_all_fill_ = false;
  std::size_t at_ = 0;
  std::size_t word_count_ = 0, magnitude_bytes_ = 0;
  std::uint8_t codes_[kBlocks + ChunkHead::kCodeGroup];
};

}  // namespace homz::homcomp
