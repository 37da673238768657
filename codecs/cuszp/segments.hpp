// What encoder and decoder share on the host: segments of blocks, which are the tasks of the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "codecs/cuszp/kernels.hpp"
#include "codecs/cuszp/trailer.hpp"
#include "core/exceptions.hpp"

namespace homz::cuszp {

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

// The most that any data can take: every block at its widest, every value an exception in a run of its own.
template <class Layout>
std::uint64_t largest_payload(const Layout& layout, std::uint64_t value_bytes) {
  const std::uint64_t positions = layout.positions();
  const ExceptionCounts all{0, positions, positions};
  return layout.metadata_bytes() + layout.blocks() * Block<Layout::kDim>::kMaxBytes +
         exception_bytes(positions, all, value_bytes) + Trailer::kBytes;
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
