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

}  // namespace

// With indices of 32 bits the products are what vector units have, and compilers use them.
ChecksumState sum_words(const std::byte* bytes, std::uint32_t count) {
  ChecksumState state;
  std::uint64_t before = 0;  // weighted sum with weights from 0
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t word = word_at(bytes + std::size_t{4} * i);
    state.sum += word;
    before += std::uint64_t{i} * word;
  }
  state.weighted = before + state.sum;
  return state;
}

std::uint64_t checksum(ConstBytes bytes, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 18;  // words a task
  const std::uint64_t count = bytes.size() / 4;
  ChecksumState total;
  std::mutex guard;
  parallel_for(ceil_div(count, kSlice), threads, [&](std::uint64_t task) {
    const std::uint64_t first = task * kSlice;
    const auto length = static_cast<std::uint32_t>(std::min(kSlice, count - first));
    const ChecksumState part = sum_words(bytes.data() + 4 * first, length);
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
