// CUDA's errors as Status.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/status.hpp"

namespace homz::gpu {

inline Status status_of(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status();
  const Code code = error == cudaErrorMemoryAllocation ? Code::out_of_memory
                    : error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
                            error == cudaErrorNoKernelImageForDevice
                        ? Code::unsupported
                        : Code::internal;
  return Status(code, std::string(what) + ": " + cudaGetErrorString(error));
}

// After a launch.
inline Status launched(const char* what) {
  return status_of(cudaGetLastError(), what);
}

// Thread blocks for work that is cut in `parts`, at most `waves` of them a multiprocessor.
inline unsigned grid_of(std::uint64_t parts, unsigned waves) {
  static const int multiprocessors = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count > 0 ? count : 1;
  }();
  const std::uint64_t most = std::uint64_t{waves} * static_cast<unsigned>(multiprocessors);
  return static_cast<unsigned>(parts < most ? (parts == 0 ? 1 : parts) : most);
}

}  // namespace homz::gpu
