// The threads that code the chunks of a file, and the memory that each keeps from chunk to chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/offload.hpp"
#include "core/stream.hpp"
#include "core/threads.hpp"
#include "tools/hdf5/coding.hpp"

namespace homz::hdf5 {

// What one thread codes with: scratch, or a stream and memory of the GPU. All buffers are the host's.
class Coder {
 public:
  explicit Coder(Space space) : space_(space) {}
  // `threads`: of the host, for a chunk.
  void use(unsigned threads);

  Status encode(const Compression& compression, ConstBytes data, Bytes stream, std::uint64_t* stream_bytes);
  // `stream` holds what `coding` says, or is refused. The host decodes what was made by a codec without a
  // coder for GPUs.
  Status decode(const ChunkCoding& coding, ConstBytes stream, Bytes data);

 private:
  Exec host_exec() const { return host(threads_); }
  Status reach_gpu();

  Space space_;
  unsigned threads_ = 1;
  Buffer scratch_;
  std::optional<gpu::Offload> offload_;
};

class Workers {
 public:
  // 0 threads: one a core. On a device: the GPU that is the current one now.
  explicit Workers(unsigned threads, Space space = Space::host);

  unsigned threads() const { return threads_; }
  Result<StreamFootprint> footprint(const Compression& compression) const;  // for Coder::encode()

  // Runs work(i, coder) for i < count. A single task gets all threads for itself.
  template <class F>
  Status each(std::uint64_t count, F work) {
    const std::uint64_t workers = std::min<std::uint64_t>(most(), count);
    while (coders_.size() < workers) coders_.emplace_back(space_);
    for (Coder& coder : coders_) coder.use(count == 1 ? threads_ : 1);
    return try_parallel_for_workers(count, static_cast<unsigned>(workers),
                                    [&](std::uint64_t i, std::uint64_t worker) -> Status {
                                      if (gpu_ >= 0) HOMZ_TRY(gpu::use(gpu_));  // threads begin with GPU 0
                                      return work(i, coders_[worker]);
                                    });
  }

 private:
  unsigned most() const;

  unsigned threads_;
  Space space_;
  int gpu_ = -1;  // none
  std::vector<Coder> coders_;
};

}  // namespace homz::hdf5
