// The range of values in device memory: one pass, atomics on keys of the same order.
#include "core/bits.hpp"
#include "core/gpu/check.cuh"
#include "core/gpu/each_value.cuh"
#include "core/gpu/gpu.hpp"
#include "core/gpu/stream_memory.cuh"
#include "core/gpu/value_range.hpp"

namespace homz::gpu {
namespace {

// Doubles as integers of the same order.
__device__ unsigned long long key_of(double value) {
  const auto bits = bits_of(value);
  return bits >> 63 != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}
__device__ double value_of_key(std::uint64_t key) {
  return value_of<double>(key >> 63 != 0 ? key ^ std::uint64_t{1} << 63 : ~key);
}

// While the search runs, the extremes of a range are kept as keys.
__device__ unsigned long long* key_at(double* extreme) {
  return reinterpret_cast<unsigned long long*>(extreme);
}

__device__ void keep_as_keys(ValueRange& range) {
  *key_at(&range.min) = key_of(range.min);
  *key_at(&range.max) = key_of(range.max);
}
__device__ void join(ValueRange& range, unsigned long long low, unsigned long long high) {
  atomicMin(key_at(&range.min), low);
  atomicMax(key_at(&range.max), high);
}

__global__ void begin_range(ValueRange* range) {
  *range = ValueRange();
  keep_as_keys(*range);
}

template <class T>
__global__ __launch_bounds__(kThreads) void search_range(const T* __restrict__ data, std::uint64_t count,
                                                         bool has_fill, BitsOf<T> fill, ValueRange* range) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  T low = kInfinity, high = -kInfinity;
  std::uint32_t finite = 0, fills = 0;
  for_each_value(data, count, [&](T x) {
    const bool is_fill = has_fill && bits_of(x) == fill;
    const bool counts = !is_fill && x - x == 0;
    fills += is_fill;
    finite += counts;
    low = min(low, counts ? x : kInfinity);
    high = max(high, counts ? x : -kInfinity);
  });
  __shared__ ValueRange of_block;
  if (threadIdx.x == 0) {
    of_block = ValueRange();
    keep_as_keys(of_block);
  }
  const std::uint64_t finite_sum = block_sum(finite), fill_sum = block_sum(fills);
  for (unsigned step = 16; step != 0; step /= 2) {
    low = min(low, __shfl_xor_sync(~0u, low, step));
    high = max(high, __shfl_xor_sync(~0u, high, step));
  }
  if (threadIdx.x % 32 == 0) join(of_block, key_of(low), key_of(high));
  __syncthreads();
  if (threadIdx.x != 0) return;
  join(*range, *key_at(&of_block.min), *key_at(&of_block.max));
  const auto add = [](std::uint64_t* to, std::uint64_t value) {
    if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), value);
  };
  add(&range->finite, finite_sum);
  add(&range->fill, fill_sum);
}

__global__ void end_range(std::uint64_t count, ValueRange* range) {
  range->min = value_of_key(*key_at(&range->min));
  range->max = value_of_key(*key_at(&range->max));
  range->non_finite = count - range->finite - range->fill;
}

}  // namespace

Status enqueue_value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                           ValueRange* range, Exec exec) {
  begin_range<<<1, 1, 0, exec.stream>>>(range);
  if (field.count() != 0)
    with_dtype(field.dtype, [&](auto zero) {
      using T = decltype(zero);
      search_range<T><<<grid_for_each(data.size()), kThreads, 0, exec.stream>>>(
          reinterpret_cast<const T*>(data.data()), field.count(), fill_bits.has_value(),
          static_cast<BitsOf<T>>(fill_bits.value_or(0)), range);
    });
  end_range<<<1, 1, 0, exec.stream>>>(field.count(), range);
  return launched("searching the value range");
}

Result<ValueRange> value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                               Exec exec) {
  ValueRange range;
  HOMZ_ASSIGN(const StreamMemory memory, StreamMemory::take(sizeof range, exec.stream));
  auto* const found = reinterpret_cast<ValueRange*>(memory.bytes().data());
  HOMZ_TRY(enqueue_value_range(field, data, fill_bits, found, exec));
  HOMZ_TRY(gpu::copy(memory.bytes(), std::as_writable_bytes(std::span(&range, 1)), exec.stream));
  HOMZ_TRY(gpu::wait(exec.stream));
  return range;
}

}  // namespace homz::gpu
