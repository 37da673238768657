// Reads the residuals of sparse blocks: the magnitude bytes of all of them, then the signs of all of them,
// closed up. (So the place of a block's magnitudes follows from the codes alone.) A template over the vector
// primitives V, whose instruction set counts bits.
#pragma once

#include <bit>
#include <cstring>

#include "codecs/homcomp/layout.hpp"
#include "core/memory.hpp"

namespace homz::homcomp {

template <class V>
class SparseReader {
 public:
  // `rest` begins with the sparse parts, the first of which has `magnitude_bytes`. Returns nullptr or what is
  // wrong.
  const char* open(ConstBytes rest, std::size_t magnitude_bytes) {
    if (rest.size() < magnitude_bytes) return "a chunk without its sparse magnitudes";
    magnitudes_ = rest.first(magnitude_bytes);
    const std::size_t bits = sign_bits_ = count_all_bits(magnitudes_);
    bytes_ = (magnitude_bytes + (bits + 7) / 8 + 3) / 4 * 4;
    if (rest.size() < bytes_) return "a chunk without its sparse signs";
    signs_ = rest.subspan(magnitude_bytes);
    for (std::size_t bit = bits; bit < 8 * (bytes_ - magnitude_bytes); ++bit)
      if ((std::to_integer<unsigned>(signs_[bit / 8]) >> bit % 8 & 1) != 0)
        return "sparse signs that are not padded";
    return nullptr;
  }
  std::size_t bytes() const { return bytes_; }

  // Eight bytes, zeros behind the end.
  static std::uint64_t load_eight(ConstBytes from, std::size_t at) {
    if (from.size() - at >= 8) [[likely]]
      return load_le<std::uint64_t>(from.data() + at);
    std::byte last[8] = {};
    if (from.size() > at) std::memcpy(last, from.data() + at, from.size() - at);
    return load_le<std::uint64_t>(last);
  }

  // The next `count` magnitude bytes, at most 4, of which no more than exist.
  std::uint32_t magnitudes(unsigned count) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(load_eight(magnitudes_, 0));
    magnitudes_ = magnitudes_.subspan(count);
    return bytes;
  }
  // The next `count` signs, at most 32; false if there are not so many.
  bool signs(unsigned count, std::uint32_t& signs) {
    if (count > sign_bits_ - sign_) return false;
    signs = static_cast<std::uint32_t>(load_eight(signs_, sign_ / 8) >> sign_ % 8);
    sign_ += count;
    return true;
  }

 private:
  static std::size_t count_all_bits(ConstBytes bytes) {
    std::size_t bits = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 8)
      bits += static_cast<unsigned>(std::popcount(load_eight(bytes, at)));
    return bits;
  }

  ConstBytes magnitudes_, signs_;
  std::size_t sign_bits_ = 0, sign_ = 0, bytes_ = 0;
};

}  // namespace homz::homcomp
