// Puts a payload together, group by group, by any number of threads.
#pragma once

#include <cstring>
#include <mutex>

#include "codecs/homcomp/kernels.hpp"
#include "codecs/homcomp/rows.hpp"
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
  ChecksumState* sums;    // of the chunk data of each group
  EncodeSpace* encoders;  // one a worker

  WriterSpace(Arena& arena, const Grid& grid, unsigned threads) {
    const std::uint64_t groups = Layout(grid.chunks()).groups;
    workers = worker_count(groups, threads);
    sums = arena.take<ChecksumState>(groups);
    encoders = arena.take<EncodeSpace>(workers);
  }
};

// The chunk data of all groups is closed up, but a thread that begins a group before those in front of it are
// done does not know its place yet: it then writes to the place that the group has if all before it are raw.
// Whoever completes the group that others wait for moves them down. No thread waits for another but for such
// a move.
template <class T>
class PayloadWriter {
 public:
  PayloadWriter(const Coding<T>& coding, const Grid& grid, EncodeChunk<T> encode, const std::byte* data,
                std::byte* payload, const WriterSpace& space)
      : coding_(coding),
        grid_(grid),
        layout_(grid.chunks()),
        encode_(encode),
        data_(data),
        payload_(payload),
        space_(space) {}

  Encoded write() {
    std::memset(payload_, 0, layout_.data);
    store_le(payload_ + Layout::kStepAt, bits_of(static_cast<double>(coding_.by.step)));
    parallel_for_workers(layout_.groups, space_.workers, [&](std::uint64_t group, std::uint64_t worker) {
      write_group(group, space_.encoders[worker]);
    });
    store_le(payload_ + Layout::kTableChecksumAt, table_checksum(payload_, layout_));
    return Encoded{end_, sums_of_payload()};
  }

 private:
  void write_group(std::uint64_t group, EncodeSpace& space) {
    const std::uint64_t first = group * kGroup;
    const std::uint64_t place = begin(group);
    std::uint64_t at = place;
    ChecksumState& sums = space_.sums[group];
    sums = ChecksumState();
    Box box = grid_.box(first);
    for (std::uint64_t chunk = first; chunk < layout_.group_end(group); ++chunk) {
      const bool is_last = chunk + 1 == layout_.chunks;
      const Box next = is_last ? Box{} : grid_.box(chunk + 1);
      const std::uint64_t bytes = write_chunk(chunk, box, next, space, at);
      sums.join(sum_words(payload_ + at, bytes / 4),
                (at - place) / 4);  // while it is in the first-level cache
      at += bytes;
      box = next;
    }
    const auto words = static_cast<std::uint32_t>((at - place) / 4);
    std::byte* const row = payload_ + layout_.row(group);
    store_le(row + Layout::kRowChecksumAt,
             group_checksum(sums, words, payload_ + layout_.size(first),
                            static_cast<unsigned>(layout_.group_end(group) - first)));
    complete(group, words);
  }

  // Returns its bytes.
  std::uint64_t write_chunk(std::uint64_t chunk, const Box& box, const Box& next, EncodeSpace& space,
                            std::uint64_t at) {
    const std::uint64_t bytes = 4 * std::uint64_t{encode_(coding_, box, next, data_, space, payload_ + at)};
    store_le(payload_ + layout_.size(chunk), static_cast<std::uint16_t>(bytes / 4));
    if (bytes != 0) return bytes;
    for (RowWalk row(box); !row.is_done(); row.next())
      std::memcpy(payload_ + at + row.position() * sizeof(T), data_ + row.data() * sizeof(T),
                  box.row() * sizeof(T));
    return box.count() * sizeof(T);
  }

  // Where the group has room if all in front of it are raw.
  std::uint64_t last_resort(std::uint64_t group) const {
    return layout_.data + grid_.values_before(group * kGroup) * sizeof(T);
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

  const Coding<T>& coding_;
  const Grid& grid_;
  const Layout layout_;
  const EncodeChunk<T> encode_;
  const std::byte* const data_;
  std::byte* const payload_;
  const WriterSpace space_;
  std::mutex guard_;
  std::uint64_t next_ = 0;            // the first group without a place
  std::uint64_t direct_ = ~0ull;      // the last group that was written straight to its place
  std::uint64_t end_ = layout_.data;  // of those that have one
};

}  // namespace homz::homcomp
