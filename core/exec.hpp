// Where a call runs and where its pointers live. Always the last argument, never defaulted inside the
// library.
#pragma once

#include <cstdint>

struct CUstream_st;  // the only name of CUDA in a header of core

namespace homz {

enum class Space : std::uint8_t { host, device };

// Host: `threads` worker threads at most, 0 = one a core; the bytes produced never depend on it.
// Device: work is enqueued on `stream`; nothing is allocated or synchronised inside.
struct Exec {
  Space space = Space::host;
  CUstream_st* stream = nullptr;
  unsigned threads = 1;
};

inline Exec host(unsigned threads = 1) {
  return Exec{Space::host, nullptr, threads};
}

}  // namespace homz
