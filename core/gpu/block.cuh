// Sums over the threads of a block, and who of a grid is last. Blocks have kThreads threads.
#pragma once

#include <cstdint>

#include "core/gpu/sums.cuh"

namespace homz::gpu {

inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarps = kThreads / 32;

// All threads call and get the sum.
__device__ __forceinline__ std::uint64_t block_sum(std::uint64_t value) {
  __shared__ std::uint64_t parts[kWarps];
  const std::uint64_t warp = warp_sum(value);
  __syncthreads();  // of earlier calls
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = warp;
  __syncthreads();
  std::uint64_t total = 0;
  for (unsigned w = 0; w < kWarps; ++w) total += parts[w];
  return total;
}

// The sum of the threads before this one; *total receives that of all.
__device__ __forceinline__ std::uint64_t block_sum_before(std::uint64_t value, std::uint64_t* total) {
  __shared__ std::uint64_t parts[kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint64_t upto = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint64_t other = __shfl_up_sync(~0u, upto, step);
    if (lane >= step) upto += other;
  }
  __syncthreads();
  if (lane == 31) parts[warp] = upto;
  __syncthreads();
  std::uint64_t before = 0, all = 0;
  for (unsigned w = 0; w < kWarps; ++w) {
    before += w < warp ? parts[w] : 0;
    all += parts[w];
  }
  *total = all;
  return before + upto - value;
}

// True, for all threads, in the block that comes here last; it sees what the others have written.
__device__ __forceinline__ bool is_last_block(std::uint32_t* arrived) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace homz::gpu
