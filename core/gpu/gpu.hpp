// The GPU as programs see it: memory, streams and copies. For programs, tests and collectives; codecs take
// the caller's memory and stream. In a build without CUDA every function fails with what to do about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/exec.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

struct CUevent_st;

namespace homz::gpu {

bool built() noexcept;       // with CUDA
Status ready();              // ok if this build has CUDA and this machine a GPU; unsupported otherwise
Result<std::string> name();  // of the current GPU
Result<std::uint64_t> free_memory();
Result<int> count();
Result<int> current();  // the current GPU's number
Status use(int gpu);    // makes it this thread's current one

// Where memory is, as kernels of the current GPU see it. `gpu`: of memory of a GPU, else -1.
struct Residence {
  bool is_reached = false;  // of that GPU, pinned or managed
  int gpu = -1;
};
Result<Residence> residence(const std::byte* memory);

// A GPU is the current one, for a while; none if negative.
class OnGpu {
 public:
  explicit OnGpu(int gpu);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  const Status& status() const noexcept { return status_; }

 private:
  static Status enter(int gpu, int* before);

  int before_ = -1;  // the one that was current, if another than `gpu`
  Status status_;
};

// Memory of the GPU, or of the host with pages pinned so that copies overlap with kernels.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> on_device(std::uint64_t bytes);
  static Result<Memory> pinned(std::uint64_t bytes);

  Bytes bytes() noexcept { return {memory_.get(), static_cast<std::size_t>(size_)}; }
  ConstBytes bytes() const noexcept { return {memory_.get(), static_cast<std::size_t>(size_)}; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  struct Free {
    bool pinned;
    Free() noexcept : pinned(false) {}
    explicit Free(bool is_pinned) noexcept : pinned(is_pinned) {}
    void operator()(std::byte* memory) const noexcept;
  };
  static Result<Memory> make(std::uint64_t bytes, bool pinned);

  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t size_ = 0;
};

// Memory of the host whose pages stay in place while this lives, so that kernels reach it across the bus.
// Pages are pinned whole, and once: what is mapped at the same time must not share any.
class Mapping {
 public:
  Mapping() = default;
  // Memory that is pinned already is taken as it is. Error: out_of_memory, where pages cannot be pinned.
  static Result<Mapping> make(Bytes memory);

  Bytes bytes() const noexcept { return bytes_; }  // as kernels see it

 private:
  struct Release {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Release> pinned_;  // as the host sees it
  Bytes bytes_;
};

// A stream that does not wait for the default stream.
class Stream {
 public:
  Stream() = default;
  static Result<Stream> make();
  CUstream_st* get() const noexcept { return stream_.get(); }

 private:
  struct Destroy {
    void operator()(CUstream_st* stream) const noexcept;
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// A mark in a stream.
class Event {
 public:
  Event() = default;
  static Result<Event> make();
  Status record(CUstream_st* stream) const;
  Result<bool> is_done() const;                              // true if never recorded
  Result<double> seconds_since(const Event& earlier) const;  // both are done
  Status hold(CUstream_st* stream) const;  // what is enqueued there from now on waits for it

 private:
  struct Destroy {
    void operator()(CUevent_st* event) const noexcept;
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Enqueues a copy between any two spaces; to.size() >= from.size().
Status copy(ConstBytes from, Bytes to, CUstream_st* stream);
// Of rows that begin `stride` bytes apart, at most 2^31 - 1.
Status copy_rows(const std::byte* from, std::uint64_t stride, std::uint64_t row_bytes, std::uint64_t rows,
                 Bytes to, CUstream_st* stream);
Status fill(Bytes memory, std::byte value, CUstream_st* stream);
Status wait(CUstream_st* stream);  // also tells what kernels before it have done wrong

// Milliseconds that the GPU takes for what f() enqueues on the stream.
class Stopwatch {
 public:
  static Result<Stopwatch> make();
  Status start(CUstream_st* stream);
  Result<double> stop(CUstream_st* stream);  // waits

 private:
  struct Events;
  std::shared_ptr<Events> events_;
};

// What f() enqueues, recorded once and launched at will.
class Graph {
 public:
  static Status begin(CUstream_st* stream);
  static Result<Graph> end(CUstream_st* stream);
  Status launch(CUstream_st* stream) const;

 private:
  struct Executable;
  std::shared_ptr<Executable> executable_;
};

}  // namespace homz::gpu
