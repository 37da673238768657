// What encoder and decoder share on the host: segments of blocks, which are the tasks of the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "codecs/cuszp/kernels.hpp"
#include "core/exceptions.hpp"

namespace homz::cuszp {

// The end of a payload: the dimension of the blocks in the top byte, the size of upstream's part below it.
struct Trailer {
  static constexpr std::uint64_t kBytes = 8;
  static constexpr unsigned kDimShift = 56;

  unsigned dim;
  std::uint64_t upstream;

  void store(std::byte* to) const { store_le(to, std::uint64_t{dim} << kDimShift | upstream); }
  static Trailer load(const std::byte* end) {
    const auto word = load_le<std::uint64_t>(end - kBytes);
    return {static_cast<unsigned>(word >> kDimShift), word & ((std::uint64_t{1} << kDimShift) - 1)};
  }
};

// The blocks of one segment of the exception list.
struct Segment {
  std::uint64_t bytes, offset;            // of its blocks, and of all blocks before it
  ExceptionCounts exceptions, preceding;  // in it, and in all segments before it
};

struct Totals {
  std::uint64_t bytes = 0;
  ExceptionCounts exceptions;
};

template <class Layout>
std::uint64_t segment_count(const Layout& layout) {
  return ceil_div(layout.positions(), kExceptionSegment);
}

inline Segment* carve_segments(Arena& arena, std::uint64_t count) {
  return arena.take<Segment>(count);
}

// Turns the sizes of segments [first, end) into their places; `totals` of those before them become those of
// all.
inline void scan(Segment* segments, std::uint64_t first, std::uint64_t end, Totals& totals) {
  for (std::uint64_t s = first; s < end; ++s) {
    segments[s].offset = totals.bytes;
    segments[s].preceding = totals.exceptions;
    totals.bytes += segments[s].bytes;
    totals.exceptions += segments[s].exceptions;
  }
}

// The places of a segment: [first, end).
struct PlaceRange {
  std::uint64_t first, end;

  template <class Layout>
  PlaceRange(const Layout& layout, std::uint64_t segment) {
    constexpr std::uint64_t kPlaces = kExceptionSegment / Block<Layout::kDim>::kValues;
    first = segment * kPlaces;
    end = std::min(layout.places(), first + kPlaces);
  }
};

}  // namespace homz::cuszp
