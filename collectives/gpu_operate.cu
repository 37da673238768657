// What reductions do to values of a GPU, and what they ask of them.
#include <limits>

#include "collectives/gpu_operate.hpp"
#include "collectives/operation_on.hpp"
#include "core/bits.hpp"
#include "core/gpu/check.cuh"
#include "core/gpu/each_value.cuh"

namespace homz::gpu {
namespace {

constexpr unsigned kWaves = 8;

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

template <class T>
__global__ __launch_bounds__(kThreads) void magnitude_kernel(const T* values, std::uint64_t count,
                                                             unsigned long long* largest) {
  BitsOf<T> most = 0;
  for_each_value(values, count, [&](T value) { most = max(most, finite_magnitude(value)); });
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
    magnitude_kernel<T><<<grid_for_each(values.size()), kThreads, 0, stream>>>(
        reinterpret_cast<const T*>(values.data()), count, reinterpret_cast<unsigned long long*>(bits));
  });
  return launched("looking for the largest magnitude");
}

}  // namespace homz::gpu
