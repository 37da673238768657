// Where a call runs and where its pointers live. Always the last argument, never defaulted inside the
// library.
#pragma once

#include <cstdint>

struct CUstream_st;  // the only name of CUDA in a header of core

namespace homz {

enum class Space : std::uint8_t { host, device };

// Host: `threads` worker threads at most, 0 = one a core; the bytes produced never depend on it.
// Device: work is enqueued on `stream`; nothing is allocated or synchronised inside. What kernels find wrong
// with a stream goes to *fault, if there is one: a Code, 0 for none, in memory that the device can write
// (device or pinned), the caller's to read after the stream has been waited for. Some calls set it to 0 as
// they begin: what is under way at once needs a word each.
struct Exec {
  Space space = Space::host;
  CUstream_st* stream = nullptr;
  unsigned threads = 1;
  std::uint32_t* fault = nullptr;
};

inline Exec host(unsigned threads = 1) {
  return Exec{Space::host, nullptr, threads, nullptr};
}

inline Exec device(CUstream_st* stream, std::uint32_t* fault = nullptr) {
  return Exec{Space::device, stream, 0, fault};
}

}  // namespace homz
