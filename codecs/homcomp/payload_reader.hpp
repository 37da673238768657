// Finds the chunks of a payload. Nothing in it is trusted.
#pragma once

#include <limits>
#include <string>

#include "codecs/homcomp/payload_writer.hpp"
#include "core/status.hpp"

namespace homz::homcomp {

inline Status corrupt(const char* what) {
  return Status(Code::corrupt_stream, std::string("damaged payload of homcomp: ") + what);
}

// A group of chunks with its sizes: the data are as long as they say.
struct Group {
  std::uint64_t first = 0;  // chunk
  unsigned chunks = 0;
  const std::byte* data = nullptr;
  std::uint32_t words = 0;
  std::uint16_t sizes[kGroup];  // in words, 0: raw
};

class PayloadReader {
 public:
  // The grid must outlive the reader.
  PayloadReader(const Grid& grid, std::uint64_t value_bytes, ConstBytes payload)
      : grid_(grid), layout_(grid.chunks()), value_bytes_(value_bytes), payload_(payload) {}

  Status open() const {
    if (payload_.size() < layout_.data || (payload_.size() - layout_.data) % 4 != 0)
      return corrupt("shorter than its tables");
    for (std::uint64_t at = layout_.size(layout_.chunks); at < layout_.data; ++at)
      if (payload_[at] != std::byte{0}) return corrupt("sizes behind the last chunk");
    return Status();
  }
  Result<double> step(Dtype dtype) const {
    const auto step = value_of<double>(load_le<std::uint64_t>(&payload_[Layout::kStepAt]));
    const bool is_sound = with_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      return step > 0 && step <= std::numeric_limits<T>::max() &&
             static_cast<double>(static_cast<T>(step)) == step;
    });
    return is_sound ? Result<double>(step) : corrupt("its step is no number of its type");
  }
  std::uint64_t groups() const { return layout_.groups; }

  // Reads everything once: what is found is what is used.
  Status find(std::uint64_t index, Group& group) const {
    const std::uint64_t all_words = (payload_.size() - layout_.data) / 4;
    const std::uint64_t start = offset(index);
    const std::uint64_t end = index + 1 < layout_.groups ? offset(index + 1) : all_words;
    if (start > end || end > all_words || (index == 0 && start != 0))
      return corrupt("groups that are out of place");
    group.first = index * kGroup;
    group.chunks = static_cast<unsigned>(layout_.group_end(index) - group.first);
    std::uint64_t words = 0;
    for (unsigned i = 0; i < group.chunks; ++i) {
      group.sizes[i] = load_le<std::uint16_t>(&payload_[layout_.size(group.first + i)]);
      const std::uint64_t raw = raw_words(group.first + i);
      if (group.sizes[i] > raw) return corrupt("a chunk that is larger than its values");
      words += group.sizes[i] != 0 ? group.sizes[i] : raw;
    }
    if (words != end - start) return corrupt("sizes that do not add up to their group");
    group.words = static_cast<std::uint32_t>(words);
    group.data = payload_.data() + layout_.data + 4 * start;
    return Status();
  }

  std::uint64_t words_of_chunk(const Group& group, unsigned i) const {
    return group.sizes[i] != 0 ? group.sizes[i] : raw_words(group.first + i);
  }

  // Calls chunk(index, bytes, is_raw) for the chunks of a group until one fails.
  template <class F>
  Status for_each_chunk(const Group& group, F&& chunk) const {
    const std::byte* at = group.data;
    for (unsigned i = 0; i < group.chunks; ++i) {
      const std::uint64_t bytes = 4 * words_of_chunk(group, i);
      HOMZ_TRY(chunk(group.first + i, ConstBytes(at, bytes), group.sizes[i] == 0));
      at += bytes;
    }
    return Status();
  }

  Status verify_tables() const {
    if (table_checksum(payload_.data(), layout_) ==
        load_le<std::uint64_t>(&payload_[Layout::kTableChecksumAt]))
      return Status();
    return corrupt("the checksum of its table does not match");
  }
  // Gives the sums of the group's chunk data besides.
  Status verify(std::uint64_t index, const Group& group, ChecksumState& sums) const {
    sums = sum_words(group.data, group.words);
    const std::uint64_t sum =
        group_checksum(sums, group.words, &payload_[layout_.size(group.first)], group.chunks);
    if (sum == load_le<std::uint64_t>(&payload_[layout_.row(index) + Layout::kRowChecksumAt]))
      return Status();
    return corrupt("the checksum of a group of chunks does not match");
  }
  // Of what is in front of the chunk data.
  ChecksumState sums_of_tables() const { return sum_words(payload_.data(), layout_.data / 4); }
  std::uint64_t first_word(const Group& group) const {
    return static_cast<std::uint64_t>(group.data - payload_.data()) / 4;
  }

 private:
  std::uint64_t raw_words(std::uint64_t chunk) const { return grid_.box(chunk).count() * value_bytes_ / 4; }
  std::uint64_t offset(std::uint64_t group) const {
    return load_le<std::uint64_t>(&payload_[layout_.row(group)]);
  }

  const Grid& grid_;
  const Layout layout_;
  const std::uint64_t value_bytes_;
  const ConstBytes payload_;
};

}  // namespace homz::homcomp
