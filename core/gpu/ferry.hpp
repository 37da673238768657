// Copies between the host's pageable memory and the GPU by way of pinned pieces.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/gpu/gpu.hpp"
#include "core/threads.hpp"

namespace homz::gpu {

// Each piece has a thread of its own: while the GPU copies some, the host fills or empties others. One thread
// copies slower than the bus.
class Ferry {
 public:
  explicit Ferry(unsigned threads = 1) : threads_(threads) {}

  // Pieces for copies of up to `largest` bytes, at best. (Small ones are quicker to pin.)
  Status prepare(std::uint64_t largest) {
    const std::uint64_t piece = std::clamp<std::uint64_t>(largest / threads_, 1 << 20, 4 << 20);
    const std::uint64_t berths = std::clamp<std::uint64_t>((largest + piece - 1) / piece, 1, threads_);
    if (piece <= piece_ && berths <= berths_.size()) return Status();
    berths_.clear();
    HOMZ_ASSIGN(gpu_, current());
    piece_ = std::max(piece, piece_);
    for (std::uint64_t i = 0; i < berths; ++i) {
      Berth berth;
      HOMZ_ASSIGN(berth.memory, Memory::pinned(piece_));
      HOMZ_ASSIGN(berth.stream, Stream::make());
      berths_.push_back(std::move(berth));
    }
    return Status();
  }

  // Both are done when they return.
  Status to_gpu(ConstBytes from, Bytes to) {
    HOMZ_TRY(for_pieces(from.size(), [&](Berth& berth, std::uint64_t first, std::uint64_t size) -> Status {
      HOMZ_TRY(wait(berth.stream.get()));
      std::memcpy(berth.memory.bytes().data(), from.data() + first, size);
      return copy(ConstBytes(berth.memory.bytes()).first(size), to.subspan(first, size), berth.stream.get());
    }));
    for (const Berth& berth : berths_) HOMZ_TRY(wait(berth.stream.get()));
    return Status();
  }

  Status to_host(ConstBytes from, Bytes to) {
    return for_pieces(from.size(), [&](Berth& berth, std::uint64_t first, std::uint64_t size) -> Status {
      HOMZ_TRY(copy(from.subspan(first, size), berth.memory.bytes(), berth.stream.get()));
      HOMZ_TRY(wait(berth.stream.get()));
      std::memcpy(to.data() + first, berth.memory.bytes().data(), size);
      return Status();
    });
  }

 private:
  struct Berth {
    Memory memory;
    Stream stream;
  };

  template <class F>
  Status for_pieces(std::uint64_t bytes, F&& f) {
    return try_parallel_for_workers((bytes + piece_ - 1) / piece_, static_cast<unsigned>(berths_.size()),
                                    [&](std::uint64_t i, std::uint64_t worker) -> Status {
                                      HOMZ_TRY(use(gpu_));  // threads begin with GPU 0
                                      return f(berths_[worker], i * piece_,
                                               std::min(piece_, bytes - i * piece_));
                                    });
  }

  unsigned threads_;
  std::uint64_t piece_ = 0;
  int gpu_ = 0;  // of the berths
  std::vector<Berth> berths_;
};

}  // namespace homz::gpu
