// Memory for what is enqueued on a stream: to take it and to give it back wait for nothing.
#pragma once

#include <utility>

#include "core/gpu/check.cuh"
#include "core/memory.hpp"

namespace homz::gpu {

// Given back behind what is enqueued on the stream by then.
class StreamMemory {
 public:
  static Result<StreamMemory> take(std::uint64_t bytes, cudaStream_t stream) {
    void* memory = nullptr;
    const cudaError_t error = cudaMallocAsync(&memory, bytes, stream);
    if (error != cudaSuccess) cudaGetLastError();  // it is told here, and not behind the next launch
    HOMZ_TRY(status_of(error, "taking memory of the GPU"));
    return StreamMemory({static_cast<std::byte*>(memory), bytes}, stream);
  }
  ~StreamMemory() {
    if (memory_.data() != nullptr) cudaFreeAsync(memory_.data(), stream_);
  }
  StreamMemory(StreamMemory&& other) noexcept
      : memory_(std::exchange(other.memory_, {})), stream_(other.stream_) {}
  StreamMemory& operator=(StreamMemory&&) = delete;

  Bytes bytes() const { return memory_; }

 private:
  StreamMemory(Bytes memory, cudaStream_t stream) : memory_(memory), stream_(stream) {}
  Bytes memory_;
  cudaStream_t stream_;
};

}  // namespace homz::gpu
