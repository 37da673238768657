#include "collectives/gpu_operate.hpp"
#include "collectives/operation_on.hpp"
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

}  // namespace homz::gpu
