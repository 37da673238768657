// The last bytes of a payload.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/hd.hpp"

namespace homz::cuszp {

// The end of a payload: the dimension of the blocks in the top byte, the size of upstream's part below it.
struct Trailer {
  static constexpr std::uint64_t kBytes = 8;
  static constexpr unsigned kDimShift = 56;

  unsigned dim;
  std::uint64_t upstream;

  HOMZ_HD std::uint64_t word() const { return std::uint64_t{dim} << kDimShift | upstream; }
  void store(std::byte* to) const { store_le(to, word()); }
  static Trailer load(const std::byte* end) { return from(load_le<std::uint64_t>(end - kBytes)); }
  HOMZ_HD static Trailer from(std::uint64_t word) {
    return {static_cast<unsigned>(word >> kDimShift), word & ((std::uint64_t{1} << kDimShift) - 1)};
  }
};

}  // namespace homz::cuszp
