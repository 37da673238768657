// The exception list: what a payload cannot restore. Runs of positions that hold the fill value, and runs of
// positions whose exact values follow. docs/stream_format.md, "Exception list", is normative:
//
//   table       a row a segment of 65 536 positions: fill runs, exact runs, exact values (u32 each)
//   fill runs   first, last (u16 each, within the segment), all segments in order
//   exact runs  the same
//   values      the exact values, in the order of their positions
//
// Positions are the codec's own numbering of the values (for 1D codecs the index). A list without runs has 0
// bytes. Segments are counted and written independently, so threads (or thread blocks) need no order among
// them.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/hd.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

struct ExceptionCounts {
  std::uint64_t fill_runs = 0, exact_runs = 0, exact_values = 0;

  HOMZ_HD void operator+=(const ExceptionCounts& other) {
    fill_runs += other.fill_runs;
    exact_runs += other.exact_runs;
    exact_values += other.exact_values;
  }
};

inline constexpr std::uint64_t kExceptionSegment = 65536;  // positions
inline constexpr std::uint64_t kExceptionRow = 12;         // bytes

// Size in bytes of the list of `positions` positions with the given totals.
HOMZ_HD inline std::uint64_t exception_bytes(std::uint64_t positions, const ExceptionCounts& total,
                                             std::uint64_t value_bytes) {
  if (total.fill_runs == 0 && total.exact_runs == 0) return 0;
  return kExceptionRow * ceil_div(positions, kExceptionSegment) + 4 * (total.fill_runs + total.exact_runs) +
         value_bytes * total.exact_values;
}

// Counts the runs of one segment. Positions are told in increasing order; those not told are no exceptions.
class ExceptionCounter {
 public:
  void fill(std::uint32_t position) { counts_.fill_runs += fills_.starts_run(position); }
  template <class T>
  void exact(std::uint32_t position, T) {
    counts_.exact_runs += exacts_.starts_run(position);
    ++counts_.exact_values;
  }
  const ExceptionCounts& counts() const { return counts_; }

 private:
  struct Runs {
    std::uint32_t next = ~0u;  // the position that would continue the run
    bool starts_run(std::uint32_t position) {
      const bool starts = position != next;
      next = position + 1;
      return starts;
    }
  };
  Runs fills_, exacts_;
  ExceptionCounts counts_;
};

// Where the parts of a list lie, and how much of each the segments before a given one have.
struct ExceptionLayout {
  std::byte* table = nullptr;
  std::byte* fill_runs = nullptr;
  std::byte* exact_runs = nullptr;
  std::byte* values = nullptr;

  ExceptionLayout(std::byte* list, std::uint64_t positions, const ExceptionCounts& total)
      : table(list),
        fill_runs(table + kExceptionRow * ceil_div(positions, kExceptionSegment)),
        exact_runs(fill_runs + 4 * total.fill_runs),
        values(exact_runs + 4 * total.exact_runs) {}
};

// Writes one segment: told the same positions as the counter before it.
class ExceptionWriter {
 public:
  // `before`: the sum of the counts of all earlier segments. `counts`: those of this segment.
  ExceptionWriter(const ExceptionLayout& list, std::uint64_t segment, const ExceptionCounts& before,
                  const ExceptionCounts& counts, std::uint64_t value_bytes)
      : fills_{list.fill_runs + 4 * before.fill_runs},
        exacts_{list.exact_runs + 4 * before.exact_runs},
        values_(list.values + value_bytes * before.exact_values) {
    std::byte* const row = list.table + kExceptionRow * segment;
    store_le(row, static_cast<std::uint32_t>(counts.fill_runs));
    store_le(row + 4, static_cast<std::uint32_t>(counts.exact_runs));
    store_le(row + 8, static_cast<std::uint32_t>(counts.exact_values));
  }

  void fill(std::uint32_t position) { fills_.extend(position); }
  template <class T>
  void exact(std::uint32_t position, T value) {
    exacts_.extend(position);
    store_le(values_, bits_of(value));
    values_ += sizeof(T);
  }

 private:
  struct Runs {
    std::byte* at;
    std::uint32_t next = ~0u;
    void extend(std::uint32_t position) {
      if (position != next) {
        store_le(at, static_cast<std::uint16_t>(position));
        at += 4;
      }
      store_le(at - 2, static_cast<std::uint16_t>(position));
      next = position + 1;
    }
  };
  Runs fills_, exacts_;
  std::byte* values_;
};

// A list read from a payload that may be hostile.
class ExceptionList {
 public:
  // Checks that the bytes are exactly one list of `positions` positions (sizes, not yet the runs), in time
  // linear in the segments. Errors: corrupt_stream.
  static Result<ExceptionList> open(ConstBytes bytes, std::uint64_t positions, std::uint64_t value_bytes);

  // Counts of all segments before each one are found by adding rows up; callers that visit segments from many
  // threads start from a prefix that they computed once.
  ExceptionCounts row(std::uint64_t segment) const;
  const ExceptionCounts& total() const { return total_; }
  bool empty() const { return bytes_.empty(); }
  std::uint64_t segments() const { return ceil_div(positions_, kExceptionSegment); }

  // The exact values of a segment, in the order of their positions.
  const std::byte* values_of(const ExceptionCounts& before, std::uint64_t value_bytes) const {
    return bytes_.data() + kExceptionRow * segments() + 4 * (total_.fill_runs + total_.exact_runs) +
           value_bytes * before.exact_values;
  }

  // Calls fill(position) and exact(position, bits) for every exception of the segment, positions within the
  // segment. Errors: corrupt_stream for runs that are not increasing and disjoint, reach past the segment or
  // the positions, or do not add up to the table's count of values; positions in front of the fault have been
  // told by then.
  template <class T, class OnFill, class OnExact>
  Status visit(std::uint64_t segment, const ExceptionCounts& before, OnFill fill, OnExact exact) const;

 private:
  std::uint32_t segment_positions(std::uint64_t segment) const {
    const std::uint64_t left = positions_ - segment * kExceptionSegment;
    return static_cast<std::uint32_t>(left < kExceptionSegment ? left : kExceptionSegment);
  }

  ConstBytes bytes_;
  std::uint64_t positions_ = 0;
  ExceptionCounts total_;
};

Status exceptions_corrupt(const char* what);

template <class T, class OnFill, class OnExact>
Status ExceptionList::visit(std::uint64_t segment, const ExceptionCounts& before, OnFill fill,
                            OnExact exact) const {
  if (empty()) return Status();
  const ExceptionCounts counts = row(segment);
  const std::byte* const runs = bytes_.data() + kExceptionRow * segments();
  const std::byte* const fills = runs + 4 * before.fill_runs;
  const std::byte* const exacts = runs + 4 * (total_.fill_runs + before.exact_runs);
  const std::byte* value = values_of(before, sizeof(T));
  std::uint64_t values_left = counts.exact_values;

  const auto each_run = [&](const std::byte* at, std::uint64_t run_count, auto visit_position) {
    std::uint32_t lowest = 0;
    for (; run_count != 0; --run_count, at += 4) {
      const std::uint32_t first = load_le<std::uint16_t>(at), last = load_le<std::uint16_t>(at + 2);
      if (first < lowest || last < first || last >= segment_positions(segment)) return false;
      for (std::uint32_t position = first; position <= last; ++position)
        if (!visit_position(position)) return false;
      lowest = last + 2;  // two runs without a gap would be one
    }
    return true;
  };
  const bool good =
      each_run(fills, counts.fill_runs, [&](std::uint32_t position) { return fill(position), true; }) &&
      each_run(exacts, counts.exact_runs, [&](std::uint32_t position) {
        if (values_left == 0) return false;
        --values_left;
        exact(position, load_le<BitsOf<T>>(value));
        value += sizeof(T);
        return true;
      });
  if (!good || values_left != 0)
    return exceptions_corrupt("runs out of order, out of range or without values");
  return Status();
}

}  // namespace homz
