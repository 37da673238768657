// One pass over values in device memory, at the bandwidth of the memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/bits.hpp"
#include "core/gpu/block.cuh"
#include "core/gpu/check.cuh"

namespace homz::gpu {

// Calls f(value) for each of the grid's values once: 16 bytes a load, between values in front and behind that
// do not lie on such a border. Values are aligned to their size; blocks have kThreads threads.
template <class T, class F>
__device__ __forceinline__ void for_each_value(const T* values, std::uint64_t count, F&& f) {
  constexpr unsigned kWidth = 16 / sizeof(T), kAtOnce = 4;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kThreads;
  const std::uint64_t misplaced = reinterpret_cast<std::uintptr_t>(values) % 16 / sizeof(T);
  const std::uint64_t front = min(count, std::uint64_t{(kWidth - misplaced) % kWidth});
  const std::uint64_t quads = (count - front) / kWidth, rest = front + quads * kWidth;
  const auto* const whole = reinterpret_cast<const uint4*>(values + front);
  const auto take = [&](const uint4& quad) {
    T some[kWidth];
    memcpy(some, &quad, sizeof some);
#pragma unroll
    for (unsigned i = 0; i < kWidth; ++i) f(some[i]);
  };
  std::uint64_t first = thread;
  for (; first + (kAtOnce - 1) * threads < quads; first += kAtOnce * threads) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) loaded[k] = __ldcs(whole + first + k * threads);
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) take(loaded[k]);
  }
  for (; first < quads; first += threads) take(__ldcs(whole + first));
  if (thread < front) f(values[thread]);
  if (thread < count - rest) f(values[rest + thread]);
}

// Thread blocks that a pass over so many bytes is worth.
inline unsigned grid_for_each(std::uint64_t bytes) {
  return grid_of(ceil_div<std::uint64_t>(bytes, 64 * kThreads), 8);
}

}  // namespace homz::gpu
