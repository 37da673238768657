// The front of a chunk: its orders, the codes of its blocks, and where its parts stand. Nothing is trusted.
#pragma once

#include <array>
#include <cstring>

#include "codecs/homcomp/layout.hpp"
#include "core/memory.hpp"

namespace homz::homcomp {

inline constexpr std::uint8_t kNoCode = 255;
// words_of() of every code, kNoCode for what is none.
inline constexpr std::array<std::uint8_t, 256> kWords = [] {
  std::array<std::uint8_t, 256> words{};
  for (unsigned i = 0; i < words.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    words[i] = is_code(code) ? static_cast<std::uint8_t>(words_of(code)) : kNoCode;
  }
  return words;
}();

class ChunkReader {
 public:
  // Returns nullptr, or what is wrong. `chunk` must outlive the reader.
  const char* open(ConstBytes chunk, unsigned blocks, unsigned value_bytes, bool has_fill) {
    const char* wrong = read_head(chunk, blocks);
    if (wrong == nullptr) wrong = read_codes(chunk, blocks);
    if (wrong != nullptr) return wrong;
    if (!has_fill && ((all_codes_ & kFillMask) != 0 || any_all_fill_)) return "fill values, but none is declared";
    return place_parts(chunk, blocks, value_bytes);
  }

  const Orders& orders() const { return orders_; }
  std::uint8_t code(unsigned block) const { return codes_[block]; }

  const std::byte* words = nullptr;  // masks, signs and planes: as many as the codes say
  ConstBytes values;                 // exact ones
  ConstBytes sparse;                 // bytes of sparse blocks, with the padding

 private:
  const char* read_head(ConstBytes chunk, unsigned blocks) {
    if (chunk.size() < ChunkHead::kBytes) return "a chunk without a head";
    const auto flags = std::to_integer<std::uint8_t>(chunk[0]);
    orders_.x = flags & ChunkHead::kOrderX;
    orders_.y = (flags & ChunkHead::kOrderY) != 0;
    orders_.z = (flags & ChunkHead::kOrderZ) != 0;
    if (flags >= 2 * ChunkHead::kElseFill || orders_.x == 3) return "orders of no meaning";
    if (std::to_integer<unsigned>(chunk[1]) > ChunkHead::kMaxRange) return "quanta beyond the limit";
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

  const char* read_codes(ConstBytes chunk, unsigned blocks) {
    std::size_t bitmap = at_;
    at_ += count_bits(top_);
    if (chunk.size() < at_) return "a chunk without its bitmap";
    std::memset(codes_, otherwise_, blocks);
    any_all_fill_ = otherwise_ == kAllFill;
    for (unsigned groups = top_; groups != 0; groups &= groups - 1) {
      const unsigned first = static_cast<unsigned>(std::countr_zero(groups)) * ChunkHead::kCodeGroup;
      auto coded = std::to_integer<unsigned>(chunk[bitmap++]);
      if (coded == 0 || (first + ChunkHead::kCodeGroup > blocks && coded >> (blocks - first) != 0))
        return "a bitmap of no meaning";
      if (chunk.size() - at_ < count_bits(coded)) return "a chunk without its codes";
      for (; coded != 0; coded &= coded - 1) {
        const auto code = std::to_integer<std::uint8_t>(chunk[at_++]);
        if (kWords[code] == kNoCode) return "a code of no meaning";
        codes_[first + static_cast<unsigned>(std::countr_zero(coded))] = code;
        word_count_ += kWords[code];
        all_codes_ |= code;
        any_all_fill_ |= code == kAllFill;
      }
    }
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
      for (unsigned block = 0; block < blocks; word += 4 * kWords[codes_[block]], ++block)
        if ((codes_[block] & kExactMask) != 0)
          value_count += count_bits(load_le<std::uint32_t>((codes_[block] & kFillMask) != 0 ? word + 4 : word));
    }
    if ((chunk.size() - at_) / value_bytes < value_count) return "a chunk without its exact values";
    values = chunk.subspan(at_, value_count * value_bytes);
    sparse = chunk.subspan(at_ + values.size());
    return nullptr;
  }

  Orders orders_;
  unsigned top_ = 0;
  std::uint8_t otherwise_ = kZero;  // the code of blocks without one
  std::uint8_t all_codes_ = 0;      // union
  bool any_all_fill_ = false;
  std::size_t at_ = 0;
  std::size_t word_count_ = 0;
  std::uint8_t codes_[kBlocks];
};

}  // namespace homz::homcomp
