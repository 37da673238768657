// Memory for many chunks at a time.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "core/buffer.hpp"

namespace homz::hdf5 {

// Buffers of one size, side by side. None shares a page with its neighbours: where a GPU has no room for a
// buffer, the buffer's pages are pinned, and no page can be pinned by two workers.
class Slots {
 public:
  Slots() = default;
  static Result<Slots> make(std::uint64_t count, std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    Slots slots;
    slots.bytes_ = bytes;
    slots.stride_ = (bytes + page - 1) / page * page;
    HOMZ_ASSIGN(slots.memory_, Buffer::make(count * slots.stride_));
    return Result<Slots>(std::move(slots));
  }

  Bytes operator[](std::uint64_t i) { return memory_.bytes().subspan(i * stride_, bytes_); }
  ConstBytes operator[](std::uint64_t i) const { return memory_.bytes().subspan(i * stride_, bytes_); }

 private:
  std::uint64_t bytes_ = 0, stride_ = 0;
  Buffer memory_;
};

}  // namespace homz::hdf5
