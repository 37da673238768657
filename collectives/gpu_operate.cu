// What reductions do to values of a GPU, and what they ask of them.
#include <limits>

#include "collectives/gpu_operate.hpp"
#include "collectives/operation_on.hpp"
#include "core/bits.hpp"
#include "core/gpu/check.cuh"

namespace homz::gpu {
namespace {

constexpr unsigned kThreads = 256, kWaves = 8;

template <class T, class Op>
__global__ void operate_kernel(const T* left, const T* right, T* to, std::uint64_t count, Op op) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = op(left[i], right[i]);
}

template <class T>
__global__ void divide_kernel(T* values, std::uint64_t count, T divisor) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    values[i] = Quotient{}(values[i], divisor);
}

// Magnitudes have the order of their bits as integers; those of infinities and NaN are the largest.
template <class T>
__device__ BitsOf<T> finite_magnitude(T value) {
  constexpr int kBits = 8 * sizeof(T);
  const BitsOf<T> magnitude = bits_of(value) & ~(BitsOf<T>{1} << (kBits - 1));
  return magnitude < bits_of(std::numeric_limits<T>::infinity()) ? magnitude : 0;
}

// 16 bytes a load, between values in front and behind that do not lie on such a border.
template <class T>
__global__ __launch_bounds__(kThreads) void magnitude_kernel(const T* values, std::uint64_t count,
                                                             unsigned long long* largest) {
  constexpr unsigned kWidth = 16 / sizeof(T), kAtOnce = 4;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kThreads;
  const std::uint64_t misplaced = reinterpret_cast<std::uintptr_t>(values) % 16 / sizeof(T);
  const std::uint64_t front = min(count, std::uint64_t{(kWidth - misplaced) % kWidth});
  const std::uint64_t quads = (count - front) / kWidth, rest = front + quads * kWidth;
  const auto* const whole = reinterpret_cast<const uint4*>(values + front);
  BitsOf<T> most = 0;
  const auto take = [&](const T* some, unsigned number) {
    for (unsigned i = 0; i < number; ++i) most = max(most, finite_magnitude(some[i]));
  };
  for (std::uint64_t first = thread; first < quads; first += kAtOnce * threads) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::uint64_t at = first + k * threads;
      loaded[k] = at < quads ? __ldcs(whole + at) : uint4{};
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      T some[kWidth];
      memcpy(some, &loaded[k], sizeof some);
      take(some, kWidth);
    }
  }
  if (thread < front) take(values + thread, 1);
  if (thread < count - rest) take(values + rest + thread, 1);
  __shared__ unsigned long long of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  for (unsigned step = 16; step != 0; step /= 2) most = max(most, __shfl_xor_sync(~0u, most, step));
  if (threadIdx.x % 32 == 0) atomicMax(&of_block, static_cast<unsigned long long>(most));
  __syncthreads();
  if (threadIdx.x == 0 && of_block != 0) atomicMax(largest, of_block);
}

}  // namespace

Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to, CUstream_st* stream) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::uint64_t count = to.size() / sizeof(T);
    with_operation(op, [&](auto operation) {
      operate_kernel<<<grid_of(count / kThreads, kWaves), kThreads, 0, stream>>>(
          reinterpret_cast<const T*>(left.data()), reinterpret_cast<const T*>(right.data()),
          reinterpret_cast<T*>(to.data()), count, operation);
    });
  });
  return launched("operating on values");
}

Status divide(Dtype dtype, Bytes values, int ranks, CUstream_st* stream) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::uint64_t count = values.size() / sizeof(T);
    divide_kernel<<<grid_of(count / kThreads, kWaves), kThreads, 0, stream>>>(
        reinterpret_cast<T*>(values.data()), count, static_cast<T>(ranks));
  });
  return launched("dividing values");
}

Status largest_magnitude(Dtype dtype, ConstBytes values, std::uint64_t* bits, CUstream_st* stream) {
  HOMZ_TRY(status_of(cudaMemsetAsync(bits, 0, sizeof *bits, stream), "clearing memory of the GPU"));
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::uint64_t count = values.size() / sizeof(T);
    magnitude_kernel<T><<<grid_of(values.size() / (64 * kThreads), kWaves), kThreads, 0, stream>>>(
        reinterpret_cast<const T*>(values.data()), count, reinterpret_cast<unsigned long long*>(bits));
  });
  return launched("looking for the largest magnitude");
}

}  // namespace homz::gpu
