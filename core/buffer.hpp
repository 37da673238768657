// Memory that a program of its own needs for data and streams; the library proper takes the caller's memory
// instead.
#pragma once

#include <cstdint>
#include <memory>

#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

// Uninitialised, page-aligned memory on huge pages where the system has them: the first touch of memory on 4
// KiB pages costs several times a copy of it.
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> make(std::uint64_t bytes);  // error: out_of_memory with the size

  Bytes bytes() noexcept { return {memory_.get(), static_cast<std::size_t>(size_)}; }
  ConstBytes bytes() const noexcept { return {memory_.get(), static_cast<std::size_t>(size_)}; }
  std::uint64_t size() const noexcept { return size_; }
  // Makes room for at least `bytes`; the content is lost if it must grow.
  Status reserve(std::uint64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t size_ = 0;
};

}  // namespace homz
