// Puts a payload together, group by group, by any number of threads.
#pragma once

#include <cstring>
#include <mutex>

#include "codecs/homcomp/layout.hpp"
#include "core/bits.hpp"
#include "core/codec.hpp"
#include "core/threads.hpp"

namespace homz::homcomp {

// The checksum of a group: its chunk data, whose sums are given, then the sizes of its chunks as words.
inline std::uint64_t group_checksum(ChecksumState state, std::uint32_t words, const std::byte* sizes,
                                    unsigned chunks) {
  for (unsigned i = 0; i < chunks; ++i) state.add(words + i, load_le<std::uint16_t>(sizes + 2 * i));
  return state.finish(4 * (std::uint64_t{words} + chunks));
}

// The checksum of what is in front of the sizes: the step, then the table.
inline std::uint64_t table_checksum(const std::byte* payload, const Layout& layout) {
  ChecksumState state = sum_words(payload + Layout::kStepAt, 2);
  state.join(sum_words(payload + Layout::kTable, Layout::kRow / 4 * layout.groups), 2);
  return state.finish(8 + Layout::kRow * layout.groups);
}

// What the writer needs beside the payload.
struct WriterSpace {
  unsigned workers;
  ChecksumState* sums;  // of the chunk data of each group

  WriterSpace(Arena& arena, const Grid& grid, unsigned threads) {
    const std::uint64_t groups = Layout(grid.chunks()).groups;
    workers = worker_count(groups, threads);
    sums = arena.take<ChecksumState>(groups);
  }
};

// A chunk that was written: its bytes, as its size says, or raw.
struct ChunkSize {
  std::uint64_t bytes;
  bool is_raw;
};

// The chunk data of all groups is closed up, but a thread that begins a group before those in front of it are
// done does not know its place yet: it then writes to the place that the group has if all before it are raw.
// Whoever completes the group that others wait for moves them down. No thread waits for another but for such
// a move.
//
// The chunks come from a source, for each of several workers: its begin(group, worker) gives a Status; its
// write(chunk, worker, to) writes the chunk and gives a Result<ChunkSize>.
template <class Source>
class PayloadWriter {
 public:
  PayloadWriter(const Grid& grid, double step, std::uint64_t value_bytes, Source& source, std::byte* payload,
                const WriterSpace& space)
      : grid_(grid),
        layout_(grid.chunks()),
        step_(step),
        value_bytes_(value_bytes),
        source_(source),
        payload_(payload),
        space_(space) {}

  Status write(Encoded* encoded) {
    std::memset(payload_, 0, layout_.data);
    store_le(payload_ + Layout::kStepAt, bits_of(step_));
    HOMZ_TRY(try_parallel_for_workers(
        layout_.groups, space_.workers,
        [&](std::uint64_t group, std::uint64_t worker) { return write_group(group, worker); }));
    store_le(payload_ + Layout::kTableChecksumAt, table_checksum(payload_, layout_));
    *encoded = Encoded{end_, sums_of_payload()};
    return Status();
  }

 private:
  Status write_group(std::uint64_t group, std::uint64_t worker) {
    const std::uint64_t first = group * kGroup;
    const std::uint64_t place = begin(group);
    std::uint64_t at = place;
    ChecksumState& sums = space_.sums[group];
    sums = ChecksumState();
    HOMZ_TRY(source_.begin(group, worker));
    for (std::uint64_t chunk = first; chunk < layout_.group_end(group); ++chunk) {
      HOMZ_ASSIGN(const ChunkSize size, source_.write(chunk, worker, payload_ + at));
      store_le(payload_ + layout_.size(chunk), static_cast<std::uint16_t>(size.is_raw ? 0 : size.bytes / 4));
      sums.join(sum_words(payload_ + at, size.bytes / 4),
                (at - place) / 4);  // while it is in the first-level cache
      at += size.bytes;
    }
    const auto words = static_cast<std::uint32_t>((at - place) / 4);
    std::byte* const row = payload_ + layout_.row(group);
    store_le(row + Layout::kRowChecksumAt,
             group_checksum(sums, words, payload_ + layout_.size(first),
                            static_cast<unsigned>(layout_.group_end(group) - first)));
    complete(group, words);
    return Status();
  }

  // Where the group has room if all in front of it are raw.
  std::uint64_t last_resort(std::uint64_t group) const {
    return layout_.data + grid_.values_before(group * kGroup) * value_bytes_;
  }

  // Where to write the group.
  std::uint64_t begin(std::uint64_t group) {
    const std::lock_guard lock(guard_);
    if (group != next_) return last_resort(group);
    direct_ = group;
    return end_;
  }

  // Until a group has its place, its row of the table tells its length instead: 0 for one that is not
  // complete.
  void complete(std::uint64_t group, std::uint64_t words) {
    const std::lock_guard lock(guard_);
    store_le(payload_ + layout_.row(group), words);
    for (; next_ < layout_.groups; ++next_) {
      std::byte* const row = payload_ + layout_.row(next_);
      const std::uint64_t bytes = 4 * load_le<std::uint64_t>(row);
      if (bytes == 0) return;
      store_le(row, (end_ - layout_.data) / 4);
      if (next_ != direct_) std::memmove(payload_ + end_, payload_ + last_resort(next_), bytes);
      end_ += bytes;
    }
  }

  ChecksumState sums_of_payload() const {
    ChecksumState all = sum_words(payload_, layout_.data / 4);
    for (std::uint64_t group = 0; group < layout_.groups; ++group)
      all.join(space_.sums[group], layout_.data / 4 + load_le<std::uint64_t>(payload_ + layout_.row(group)));
    return all;
  }

  const Grid& grid_;
  const Layout layout_;
  const double step_;
  const std::uint64_t value_bytes_;
  Source& source_;
  std::byte* const payload_;
  const WriterSpace space_;
  std::mutex guard_;
  std::uint64_t next_ = 0;            // the first group without a place
  std::uint64_t direct_ = ~0ull;      // the last group that was written straight to its place
  std::uint64_t end_ = layout_.data;  // of those that have one
};

}  // namespace homz::homcomp
