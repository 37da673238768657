// Exception lists read by a grid: what core/exceptions.hpp says of lists that may be hostile holds here.
#pragma once

#include <cstdint>

#include "core/exceptions.hpp"
#include "core/gpu/block.cuh"
#include "core/status.hpp"

namespace homz::gpu {

struct ListView {
  const std::byte* bytes = nullptr;
  std::uint64_t size = 0, positions = 0;
  bool fills_declared = false, exacts_allowed = true;

  __device__ std::uint64_t segments() const { return ceil_div<std::uint64_t>(positions, kExceptionSegment); }
  __device__ ExceptionCounts row(std::uint64_t segment) const {
    const std::byte* const at = bytes + kExceptionRow * segment;
    return {load_word(at), load_word(at + 4), load_word(at + 8)};
  }
};

__device__ __forceinline__ void raise(std::uint32_t* fault, Code code = Code::corrupt_stream) {
  atomicMax(fault, static_cast<std::uint32_t>(code));
}

// The counts of all segments from `first` to `end`; all threads of a block call.
__device__ inline ExceptionCounts sum_rows(const ListView& list, std::uint64_t first, std::uint64_t end) {
  ExceptionCounts mine;
  for (std::uint64_t s = first + threadIdx.x; s < end; s += kThreads) mine += list.row(s);
  return {block_sum(mine.fill_runs), block_sum(mine.exact_runs), block_sum(mine.exact_values)};
}

// Calls visit(position, number) for the positions of a segment's runs, `number` counting them, by all threads
// of a block. Returns how many there are; ~0 if the runs are not increasing and disjoint, or reach past
// `limit`.
template <class Visit>
__device__ std::uint64_t visit_runs(const std::byte* runs, std::uint64_t count, std::uint32_t limit,
                                    Visit visit) {
  constexpr std::uint32_t kShort = 8;  // longer runs are shared by the threads of a warp
  std::uint64_t told = 0;
  bool sound = true;
  for (std::uint64_t base = 0; base < count; base += kThreads) {
    const std::uint64_t r = base + threadIdx.x;
    std::uint32_t first = 0, length = 0;
    if (r < count) {
      const std::uint32_t run = load_word(runs + 4 * r), last = run >> 16;
      const std::uint32_t lowest = r == 0 ? 0 : (load_word(runs + 4 * r - 4) >> 16) + 2;
      first = run & 0xffff;
      if (first < lowest || last < first || last >= limit)
        sound = false;
      else
        length = last - first + 1;
    }
    std::uint64_t total = 0;
    const std::uint64_t number = told + block_sum_before(length, &total);
    told += total;
    if (length <= kShort)
      for (std::uint32_t i = 0; i < length; ++i) visit(first + i, number + i);
    for (unsigned waiting = __ballot_sync(~0u, length > kShort); waiting != 0; waiting &= waiting - 1) {
      const int owner = __ffs(static_cast<int>(waiting)) - 1;
      const std::uint32_t from = __shfl_sync(~0u, first, owner), many = __shfl_sync(~0u, length, owner);
      const std::uint64_t start = __shfl_sync(~0u, number, owner);
      for (std::uint32_t i = threadIdx.x % 32; i < many; i += 32) visit(from + i, start + i);
    }
  }
  return __syncthreads_and(sound) ? told : ~std::uint64_t{0};
}

// Calls put(position, bits) for all exceptions of a list: fill values first, then exact values. The blocks of
// the grid share the segments. Faults go to *fault; what they spoil is not put.
template <class T, class Put>
__device__ void put_exceptions(const ListView& list, BitsOf<T> fill, std::uint32_t* fault, Put put) {
  if (list.size == 0) return;
  const std::uint64_t segments = list.segments();
  const bool leads = threadIdx.x == 0;
  if (list.size / kExceptionRow < segments) {
    if (leads) raise(fault);
    return;
  }
  const std::uint64_t share = ceil_div<std::uint64_t>(segments, gridDim.x);
  const std::uint64_t begin = share * blockIdx.x < segments ? share * blockIdx.x : segments;
  const std::uint64_t end = begin + share < segments ? begin + share : segments;
  if (begin == end && blockIdx.x != 0) return;
  ExceptionCounts before = sum_rows(list, 0, begin);
  ExceptionCounts total = before;
  total += sum_rows(list, begin, segments);
  if (exception_bytes(list.positions, total, sizeof(T)) != list.size ||
      (total.fill_runs != 0 && !list.fills_declared) || (total.exact_runs != 0 && !list.exacts_allowed)) {
    if (leads) raise(fault);
    return;
  }
  const std::byte* const fills = list.bytes + kExceptionRow * segments;
  const std::byte* const exacts = fills + 4 * total.fill_runs;
  const std::byte* const values = exacts + 4 * total.exact_runs;
  for (std::uint64_t s = begin; s < end; ++s) {
    const ExceptionCounts counts = list.row(s);
    const std::uint64_t base = s * kExceptionSegment;
    const auto limit = static_cast<std::uint32_t>(
        list.positions - base < kExceptionSegment ? list.positions - base : kExceptionSegment);
    const std::uint64_t filled =
        visit_runs(fills + 4 * before.fill_runs, counts.fill_runs, limit,
                   [&](std::uint32_t position, std::uint64_t) { put(base + position, fill); });
    __syncthreads();  // where a position is in both lists the exact value counts
    const std::byte* const from = values + sizeof(T) * before.exact_values;
    const std::uint64_t read = visit_runs(exacts + 4 * before.exact_runs, counts.exact_runs, limit,
                                          [&](std::uint32_t position, std::uint64_t number) {
                                            if (number >= counts.exact_values) return;
                                            const std::byte* const at = from + sizeof(T) * number;
                                            BitsOf<T> bits = load_word(at);
                                            if constexpr (sizeof(T) == 8)
                                              bits |= std::uint64_t{load_word(at + 4)} << 32;
                                            put(base + position, bits);
                                          });
    if (leads && (filled == ~std::uint64_t{0} || read != counts.exact_values)) raise(fault);
    before += counts;
  }
}

}  // namespace homz::gpu
