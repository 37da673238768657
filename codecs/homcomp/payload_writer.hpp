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
  ChecksumState* sums;         // of the chunk data of each group
  std::uint64_t room;          // bytes of a group, at most
  std::byte* desks = nullptr;  // of each worker, if there are several: room for a group

  WriterSpace(Arena& arena, const Grid& grid, std::uint64_t value_bytes, unsigned threads) {
    const std::uint64_t groups = Layout(grid.chunks()).groups;
    workers = worker_count(groups, threads);
    sums = arena.take<ChecksumState>(groups);
    room = kGroup * kChunk * value_bytes;
    if (workers > 1) desks = arena.take<std::byte>(workers * room);
  }
  std::byte* desk(std::uint64_t worker) const { return desks + worker * room; }
};

// A chunk that was written: its bytes, as its size says, or raw.
struct ChunkSize {
  std::uint64_t bytes;
  bool is_raw;
};

// The chunk data of all groups is closed up, but a thread that begins a group before those in front of it are
// done does not know its place yet: it then writes to its desk, which stays in its cache, and from there to
// the place when the group is complete. If those in front are not done even then, the group goes to the place
// that it has if all before it are raw, and whoever completes the group that others wait for moves them down.
// No thread waits for another but for such a move.
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
    std::byte* const start = begin(group, worker);
    std::byte* at = start;
    ChecksumState& sums = space_.sums[group];
    sums = ChecksumState();
    HOMZ_TRY(source_.begin(group, worker));
    for (std::uint64_t chunk = first; chunk < layout_.group_end(group); ++chunk) {
      HOMZ_ASSIGN(const ChunkSize size, source_.write(chunk, worker, at));
      store_le(payload_ + layout_.size(chunk), static_cast<std::uint16_t>(size.is_raw ? 0 : size.bytes / 4));
      sums.join(sum_words(at, size.bytes / 4), words_between(start, at));  // in the first-level cache still
      at += size.bytes;
    }
    const std::uint32_t words = words_between(start, at);
    std::byte* const row = payload_ + layout_.row(group);
    store_le(row + Layout::kRowChecksumAt,
             group_checksum(sums, words, payload_ + layout_.size(first),
                            static_cast<unsigned>(layout_.group_end(group) - first)));
    complete(group, start, words);
    return Status();
  }

  // Where the group has room if all in front of it are raw.
  std::uint64_t last_resort(std::uint64_t group) const {
    return layout_.data + grid_.values_before(group * kGroup) * value_bytes_;
  }

  static std::uint32_t words_between(const std::byte* start, const std::byte* end) {
    return static_cast<std::uint32_t>((end - start) / 4);
  }

  // Where to write the group.
  std::byte* begin(std::uint64_t group, std::uint64_t worker) {
    const std::lock_guard lock(guard_);
    return group == next_ ? payload_ + end_ : space_.desk(worker);
  }

  // The group was written to `at`. Copies are made without the lock: by then its place is its own.
  void complete(std::uint64_t group, const std::byte* at, std::uint32_t words) {
    const std::uint64_t bytes = 4 * std::uint64_t{words};
    std::unique_lock lock(guard_);
    if (group == next_) {
      std::byte* const place = payload_ + end_;
      settle(words);
      settle_those_kept();
      lock.unlock();
      if (place != at) std::memcpy(place, at, bytes);
    } else {
      lock.unlock();
      std::memcpy(payload_ + last_resort(group), at, bytes);
      lock.lock();
      keep(group, words);
      settle_those_kept();
    }
  }

  // The next group has its place.
  void settle(std::uint64_t words) {
    store_le(payload_ + layout_.row(next_), (end_ - layout_.data) / 4);
    end_ += 4 * words;
    ++next_;
  }

  // Until a group has its place, its row of the table tells its length instead: 0 for one that is not
  // complete.
  void keep(std::uint64_t group, std::uint64_t words) { store_le(payload_ + layout_.row(group), words); }

  void settle_those_kept() {
    while (next_ < layout_.groups) {
      const auto words = load_le<std::uint64_t>(payload_ + layout_.row(next_));
      if (words == 0) return;
      std::memmove(payload_ + end_, payload_ + last_resort(next_), 4 * words);
      settle(words);
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
  std::uint64_t end_ = layout_.data;  // of those that have one
};

}  // namespace homz::homcomp
