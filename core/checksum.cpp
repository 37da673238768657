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

// Eight columns of words, summed without a product: the sums of each column after its words 0, 1, .. n-1 add
// up to n w[0] + (n-1) w[1] + .. + w[n-1], from which the weighted sum follows. Compilers use vectors, for
// whatever machine the caller is made for.
[[gnu::always_inline]] inline ChecksumState sum_columns(const std::byte* words, std::uint64_t count) {
  constexpr unsigned kColumns = 8;
  const std::uint64_t rows = count / kColumns;
  std::uint64_t sums[kColumns] = {}, sums_of_sums[kColumns] = {};
  for (std::uint64_t row = 0; row < rows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      sums[column] += word_at(words + 4 * (kColumns * row + column));
      sums_of_sums[column] += sums[column];
    }
  ChecksumState state;
  for (unsigned column = 0; column < kColumns; ++column) {
    state.sum += sums[column];
    state.weighted += kColumns * (rows * sums[column] - sums_of_sums[column]) + (column + 1) * sums[column];
  }
  for (std::uint64_t i = kColumns * rows; i < count; ++i) state.add(i, word_at(words + 4 * i));
  return state;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] ChecksumState sum_words_avx2(const std::byte* words, std::uint64_t count) {
  return sum_columns(words, count);
}
#endif

}  // namespace

ChecksumState sum_words(const std::byte* words, std::uint64_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_words_avx2(words, count);
#endif
  return sum_columns(words, count);
}

ChecksumState sums_of(ConstBytes bytes, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 18;  // words a task
  const std::uint64_t count = bytes.size() / 4;
  ChecksumState total;
  std::mutex guard;
  if (count <= kSlice)
    total = sum_words(bytes.data(), count);
  else
    parallel_for(ceil_div(count, kSlice), threads, [&](std::uint64_t task) {
      const std::uint64_t first = task * kSlice;
      const ChecksumState part = sum_words(bytes.data() + 4 * first, std::min(kSlice, count - first));
      const std::lock_guard lock(guard);
      total.join(part, first);
    });
  std::uint32_t last = 0;
  for (std::uint64_t i = 4 * count; i < bytes.size(); ++i)
    last |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i - 4 * count));
  total.add(count, last);
  return total;
}

std::uint64_t checksum(ConstBytes bytes, unsigned threads) {
  return sums_of(bytes, threads).finish(bytes.size());
}

}  // namespace homz
