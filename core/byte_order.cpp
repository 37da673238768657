#include "core/byte_order.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

template <class T>
void swap_values(std::byte* data, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, data += sizeof(T)) {
    if constexpr (sizeof(T) == 4)
      store_value(data, __builtin_bswap32(load_value<std::uint32_t>(data)));
    else
      store_value(data, __builtin_bswap64(load_value<std::uint64_t>(data)));
  }
}

}  // namespace

void swap_bytes(Dtype dtype, Bytes data, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 20;  // bytes a task
  parallel_for(ceil_div<std::uint64_t>(data.size(), kSlice), threads, [&](std::uint64_t task) {
    const std::uint64_t first = task * kSlice, bytes = std::min<std::uint64_t>(kSlice, data.size() - first);
    with_dtype(dtype,
               [&](auto zero) { swap_values<decltype(zero)>(data.data() + first, bytes / sizeof(zero)); });
  });
}

}  // namespace homz
