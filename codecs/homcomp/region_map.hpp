// Which values of a chunk are in a region, and where in it.
#pragma once

#include <cstring>

#include "codecs/homcomp/chunk_range.hpp"
#include "codecs/homcomp/rows.hpp"
#include "core/region.hpp"

namespace homz::homcomp {

class RegionMap {
 public:
  // Field and region are those without unit extents.
  RegionMap(const Field& field, const Region& region, const Grid& grid)
      : field_(field),
        region_(region),
        grid_(grid),
        merged_(grid.dim() == 1 ? field.rank : field.rank - grid.dim()),
        range_(grid) {
    std::uint64_t low = 0, high = 0;  // of the merged axes, as one
    for (unsigned axis = 0; axis < merged_; ++axis) {
      low = low * field.extents[axis] + region.first[axis];
      high = high * field.extents[axis] + region.first[axis] + region.extents[axis] - 1;
    }
    limit(of_merged(), low, high);
    for (unsigned axis = merged_; axis < field.rank; ++axis)
      limit(of_box(axis), region.first[axis], region.first[axis] + region.extents[axis] - 1);
  }

  // All chunks that have some of the region are among these.
  std::uint64_t first_chunk() const { return range_.first(); }
  std::uint64_t last_chunk() const { return range_.last(); }

  bool touches_any(std::uint64_t first, std::uint64_t end) const {
    for (first = range_.at_or_behind(first); first < end; first = range_.at_or_behind(first + 1))
      if (touches(first)) return true;
    return false;
  }
  bool touches(std::uint64_t chunk) const {
    if (range_.at_or_behind(chunk) != chunk) return false;
    if (merged_ == 0) return true;
    const Box box = grid_.box(chunk);
    bool found = false;
    for_each_run(box.first / grid_.stride(of_merged()), box.extents[of_merged()], merged_,
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
  // The axes of boxes that those of the field are, and that the merged ones are together.
  unsigned of_box(unsigned axis) const { return kAxes - field_.rank + axis; }
  unsigned of_merged() const { return grid_.dim() == 1 ? 3 : 0; }

  void limit(unsigned axis, std::uint64_t low, std::uint64_t high) {
    range_.limit(axis, low / grid_.side(axis), high / grid_.side(axis));
  }

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
  const Grid& grid_;
  const unsigned merged_;  // axes of the field in w, or in x
  ChunkRange range_;
};

}  // namespace homz::homcomp
