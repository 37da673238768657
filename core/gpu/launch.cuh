// Launching kernels of which one may begin while the one before ends, and what a GPU has room for.
#pragma once

#include <array>
#include <atomic>

#include "core/gpu/check.cuh"

namespace homz::gpu {

// A chained kernel may be launched while the one before it ends: the latter lets it, and it waits for all
// that the latter writes. Every thread block of it waits, or those behind it would not know of those before.
// Our first kernel is not chained: what the caller's kernels have written is there for all of ours at once.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_last() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Of the current GPU, asked once.
struct Facts {
  int multiprocessors = 1;
  bool chains = false;
};
inline const Facts& facts() {
  static const Facts known = [] {
    Facts facts;
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&facts.multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    facts.chains = major >= 9;
    return facts;
  }();
  return known;
}

struct Launch {
  dim3 grid;
  unsigned threads;
  cudaStream_t stream;
  std::size_t shared = 0;  // bytes
  bool chained = true;     // behind another kernel of ours
};

template <class... Parameters, class... Arguments>
Status launch(const Launch& how, void (*kernel)(Parameters...), Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = how.grid;
  config.blockDim = dim3(how.threads);
  config.dynamicSmemBytes = how.shared;
  config.stream = how.stream;
  config.attrs = &attribute;
  config.numAttrs = how.chained && facts().chains ? 1 : 0;
  return status_of(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
                   "launching a kernel");
}

// Lets a kernel have `shared` bytes of shared memory, once a GPU. Returns how many of its thread blocks the
// GPU has room for.
template <auto kKernel>
Result<unsigned> room_for(unsigned threads, std::size_t shared) {
  constexpr int kDevices = 64;
  static std::array<std::atomic<unsigned>, kDevices> known{};
  int device = 0, multiprocessors = 0, each = 0;
  HOMZ_TRY(status_of(cudaGetDevice(&device), "asking for the GPU"));
  if (device < kDevices && known[device] != 0) return known[device].load();
  HOMZ_TRY(status_of(
      cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
      "asking for shared memory"));
  HOMZ_TRY(status_of(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kKernel, threads, shared),
                     "asking how many thread blocks fit"));
  HOMZ_TRY(status_of(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
                     "asking for the GPU's properties"));
  const auto blocks = static_cast<unsigned>(each * multiprocessors);
  if (blocks == 0)
    return Status(Code::unsupported, "this GPU has too little shared memory for homz's kernels");
  if (device < kDevices) known[device] = blocks;
  return blocks;
}

}  // namespace homz::gpu
