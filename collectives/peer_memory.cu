// Peer access and handles of memory (IPC), as CUDA has them.
#include <cudaTypedefs.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "collectives/peer_memory.hpp"
#include "core/gpu/check.cuh"

namespace homz::gpu {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(Exported::handle));

// The driver's function, without linking the driver.
Result<PFN_cuMemGetAddressRange_v3020> address_range() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault, &found);
#endif
  HOMZ_TRY(status_of(error, "asking the driver for cuMemGetAddressRange"));
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    return Status(Code::unsupported, "this driver has no cuMemGetAddressRange: install a newer one");
  return reinterpret_cast<PFN_cuMemGetAddressRange_v3020>(function);
}

Result<Uuid> uuid_of(int gpu) {
  cudaDeviceProp properties;
  HOMZ_TRY(status_of(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU's properties"));
  Uuid uuid;
  static_assert(sizeof properties.uuid == sizeof uuid);
  std::memcpy(uuid.data(), &properties.uuid, sizeof uuid);
  return uuid;
}

std::uint64_t drawn_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

cudaError_t open(const Exported& memory, void** address) {
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, memory.handle.data(), sizeof handle);
  const cudaError_t error = cudaIpcOpenMemHandle(address, handle, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) cudaGetLastError();  // it is told elsewhere
  return error;
}

// Once; the application may have done so, too.
Status let_reach(int current, int other) {
  static std::mutex guard;
  static std::set<std::pair<int, int>> done;
  const std::lock_guard lock(guard);
  if (done.contains({current, other})) return Status();
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error != cudaSuccess) cudaGetLastError();
  if (error != cudaErrorPeerAccessAlreadyEnabled) HOMZ_TRY(status_of(error, "letting GPUs reach each other"));
  done.insert({current, other});
  return Status();
}

}  // namespace

Result<Uuid> uuid() {
  int current = 0;
  HOMZ_TRY(status_of(cudaGetDevice(&current), "asking for the current GPU"));
  return uuid_of(current);
}

Status reach(const Uuid& gpu, bool by_address) {
  int current = 0, count = 0, reaches = 0;
  HOMZ_TRY(status_of(cudaGetDevice(&current), "asking for the current GPU"));
  HOMZ_TRY(status_of(cudaGetDeviceCount(&count), "counting GPUs"));
  for (int other = 0; other < count; ++other) {
    HOMZ_ASSIGN(const Uuid of_other, uuid_of(other));
    if (of_other != gpu) continue;
    if (other == current) return Status();
    HOMZ_TRY(
        status_of(cudaDeviceCanAccessPeer(&reaches, current, other), "asking whether GPUs reach each other"));
    if (reaches == 0)
      return Status(Code::unsupported, "GPU " + std::to_string(current) +
                                           " does not reach the memory of GPU " + std::to_string(other) +
                                           ": take GPUs that do (nvidia-smi topo -p2p r), or NCCL");
    if (!by_address) return Status();
    return let_reach(current, other);
  }
  return Status();
}

std::uint64_t process() {
  static const std::uint64_t number = drawn_number();
  return number;
}

Result<Exported> exported(const std::byte* memory) {
  HOMZ_ASSIGN(const auto range_of, address_range());
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  if (range_of(&base, &bytes, address) != CUDA_SUCCESS)
    return Status(Code::invalid_argument, "a message of a GPU whose bytes are not in memory of a GPU");
  cudaIpcMemHandle_t handle;
  const cudaError_t error = cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(base));
  if (error != cudaSuccess) {
    cudaGetLastError();
    return status_of(error, "sharing memory with another process (it must be of cudaMalloc)");
  }
  Exported result;
  result.base = base;
  result.offset = address - base;
  std::memcpy(result.handle.data(), &handle, sizeof handle);
  return result;
}

// An allocation at the same address, but with another handle, replaces one that is gone. Some drivers do not
// map it until that is unmapped, or any that it overlaps with: then all is unmapped.
Result<const std::byte*> Imports::mapped(const Exported& memory, CUstream_st* stream) {
  const auto found = std::ranges::find(mappings_, memory.base, &Mapping::base);
  if (found != mappings_.end() && found->handle == memory.handle) return found->memory + memory.offset;
  if (found != mappings_.end() || mappings_.size() >= kMost) {
    HOMZ_TRY(status_of(cudaStreamSynchronize(stream), "waiting for copies from another process"));
    clear();
  }
  mappings_.reserve(mappings_.size() + 1);
  void* address = nullptr;
  cudaError_t error = open(memory, &address);
  if (error != cudaSuccess && !mappings_.empty()) {
    HOMZ_TRY(status_of(cudaStreamSynchronize(stream), "waiting for copies from another process"));
    clear();
    error = open(memory, &address);
  }
  HOMZ_TRY(status_of(error, "reaching memory of another process"));
  mappings_.push_back({memory.base, memory.handle, static_cast<std::byte*>(address)});
  return mappings_.back().memory + memory.offset;
}

void Imports::clear() noexcept {
  for (const Mapping& mapping : mappings_)
    if (cudaIpcCloseMemHandle(mapping.memory) != cudaSuccess) cudaGetLastError();
  mappings_.clear();
}

}  // namespace homz::gpu
