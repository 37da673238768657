// Which values of a chunk are in a region, and where in it.
#pragma once

#include <cstring>

#include "codecs/homcomp/rows.hpp"
#include "core/region.hpp"

namespace homz::homcomp {

class RegionMap {
 public:
  // Field and region are those without unit extents.
  RegionMap(const Field& field, const Region& region, unsigned dim)
      : field_(field), region_(region), dim_(dim) {}

  bool touches_any(const Grid& grid, std::uint64_t first, std::uint64_t end) const {
    for (; first < end; ++first)
      if (touches(grid, first)) return true;
    return false;
  }
  bool touches(const Grid& grid, std::uint64_t chunk) const {
    const Box box = grid.box(chunk);
    const unsigned merged = dim_ == 1 ? field_.rank : field_.rank - dim_;  // axes of the field in w, or in x
    std::uint64_t at = box.first;
    for (unsigned axis = field_.rank; axis-- > merged;) {
      const unsigned of_box = kAxes - field_.rank + axis;
      const std::uint64_t start = at % field_.extents[axis];
      at /= field_.extents[axis];
      if (start >= region_.first[axis] + region_.extents[axis]) return false;
      if (start + box.extents[of_box] <= region_.first[axis]) return false;
    }
    if (merged == 0) return true;
    bool found = false;
    for_each_run(at, box.extents[dim_ == 1 ? 3 : 0], merged,
                 [&](std::uint64_t, std::uint64_t, std::uint64_t) { found = true; });
    return found;
  }

  // Copies what a chunk has of the region. `values` are all of the chunk's, without gaps.
  void copy(const Box& box, const std::byte* values, std::uint64_t value_bytes, std::byte* part) const {
    for (RowWalk row(box); !row.is_done(); row.next())
      for_each_run(row.data(), box.row(), field_.rank,
                   [&](std::uint64_t from, std::uint64_t to, std::uint64_t length) {
                     std::memcpy(part + to * value_bytes, values + (row.position() + from) * value_bytes,
                                 length * value_bytes);
                   });
  }

 private:
  // Of `count` positions from `first` on in the array of the first `axes` extents: calls f(start within them,
  // place in the region, length) for each run that is in the region.
  template <class F>
  void for_each_run(std::uint64_t first, std::uint64_t count, unsigned axes, F&& f) const {
    const unsigned last = axes - 1;
    for (std::uint64_t done = 0; done < count;) {
      std::uint64_t outer = (first + done) / field_.extents[last];
      const std::uint64_t start = (first + done) % field_.extents[last];
      const std::uint64_t length = std::min(count - done, field_.extents[last] - start);
      const std::uint64_t low = std::max(start, region_.first[last]);
      const std::uint64_t high = std::min(start + length, region_.first[last] + region_.extents[last]);
      std::uint64_t place = low - region_.first[last], stride = region_.extents[last];
      bool inside = low < high;
      for (unsigned axis = last; axis-- > 0 && inside;
           outer /= field_.extents[axis], stride *= region_.extents[axis]) {
        const std::uint64_t index = outer % field_.extents[axis] - region_.first[axis];  // wraps where below
        inside = index < region_.extents[axis];
        place += index * stride;
      }
      if (inside) f(done + low - start, place, high - low);
      done += length;
    }
  }

  Field field_;
  Region region_;
  unsigned dim_;
};

}  // namespace homz::homcomp
