// What encoder and decoder share on the host: segments of blocks, which are the tasks of the threads, and
// access to data of any alignment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/layout.hpp"
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

inline Segment* carve_segments(Arena& arena, std::uint64_t count) {
  return arena.take<Segment>(count);
}

// Turns the sizes of the segments into their places.
inline Totals scan(Segment* segments, std::uint64_t count) {
  Totals totals;
  for (std::uint64_t s = 0; s < count; ++s) {
    segments[s].offset = totals.bytes;
    segments[s].preceding = totals.exceptions;
    totals.bytes += segments[s].bytes;
    totals.exceptions += segments[s].exceptions;
  }
  return totals;
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

// Reads the values of a block; in place of elements behind the array, the last one.
template <class T, unsigned kDim>
void gather(const std::byte* data, std::uint64_t count, const Place<kDim>& place,
            T (&values)[Block<kDim>::kValues]) {
  constexpr unsigned kRun = Place<kDim>::kRun;
  for (unsigned run = 0; run < Place<kDim>::kRuns; ++run) {
    T* const to = values + kRun * run;
    const std::uint64_t first = place.first[run];
    if (((place.coded | place.owned) >> kRun * run & 1) == 0) {
      std::fill_n(to, kRun, T(0));
    } else if (count - first >= kRun) {
      std::memcpy(to, data + first * sizeof(T), kRun * sizeof(T));
    } else {
      for (unsigned i = 0; i < kRun; ++i)
        to[i] = load_value<T>(data + std::min(first + i, count - 1) * sizeof(T));
    }
  }
}

// Writes the values of a block to the elements that it owns.
template <class T, unsigned kDim>
void scatter(const T (&values)[Block<kDim>::kValues], const Place<kDim>& place, std::uint64_t count,
             std::byte* data) {
  constexpr unsigned kRun = Place<kDim>::kRun;
  for (unsigned run = 0; run < Place<kDim>::kRuns; ++run) {
    if ((place.owned >> kRun * run & 1) == 0) continue;
    const std::uint64_t first = place.first[run];
    const std::uint64_t inside = std::min<std::uint64_t>(kRun, count - first);
    std::memcpy(data + first * sizeof(T), values + kRun * run, inside * sizeof(T));
  }
}

// Calls f(position) for every set bit, lowest first.
template <class F>
void for_each_bit(std::uint64_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace homz::cuszp
