#include "core/checksum.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "core/bits.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

std::uint32_t word_at(const std::byte* bytes) {
  if constexpr (std::endian::native == std::endian::little) return load_value<std::uint32_t>(bytes);
  return load_le<std::uint32_t>(bytes);
}

// A plain loop: compilers vectorise it.
ChecksumState words(const std::byte* bytes, std::uint64_t count) {
  ChecksumState state;
  for (std::uint64_t i = 0; i < count; ++i) state.add(i, word_at(bytes + 4 * i));
  return state;
}

}  // namespace

std::uint64_t checksum(ConstBytes bytes, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 18;  // words a task
  const std::uint64_t count = bytes.size() / 4;
  ChecksumState total;
  std::mutex guard;
  parallel_for(ceil_div(count, kSlice), threads, [&](std::uint64_t task) {
    const std::uint64_t first = task * kSlice;
    const ChecksumState part = words(bytes.data() + 4 * first, std::min(kSlice, count - first));
    const std::lock_guard lock(guard);
    total.join(part, first);
  });
  std::uint32_t last = 0;
  for (std::uint64_t i = 4 * count; i < bytes.size(); ++i)
    last |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i - 4 * count));
  total.add(count, last);
  return total.finish(bytes.size());
}

}  // namespace homz
