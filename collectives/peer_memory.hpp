// Memory of other GPUs of this host: which of them the current GPU reaches, and how processes hand each other
// what they have allocated.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/memory.hpp"
#include "core/status.hpp"

struct CUstream_st;

namespace homz::gpu {

using Uuid = std::array<std::byte, 16>;

Result<Uuid> uuid();  // of the current GPU: the same in all processes
// Whether the current GPU can copy from memory of that one. by_address: that this process has there; then it
// is enabled. Ok, too, for a GPU that this process does not see: then only memory that is mapped can tell.
Status reach(const Uuid& gpu, bool by_address);

std::uint64_t process();  // no other process has the same number, not even in another container

// Memory as another process of the host finds it.
struct Exported {
  std::uint64_t base = 0, offset = 0;  // of the allocation in its own process, and in the allocation
  std::array<std::byte, 64> handle{};
};

// Of memory of cudaMalloc.
Result<Exported> exported(const std::byte* memory);

// Memory of one other process, mapped into this one. It stays so, since mapping takes long.
class Imports {
 public:
  Imports() = default;
  ~Imports() { clear(); }
  Imports(Imports&&) noexcept = default;
  Imports& operator=(Imports&&) = delete;

  // `stream`: the only one that uses what is mapped; waited for if some of it has to go.
  Result<const std::byte*> mapped(const Exported& memory, CUstream_st* stream);
  // Nothing may use it any more.
  void clear() noexcept;

 private:
  struct Mapping {
    std::uint64_t base;
    std::array<std::byte, 64> handle;
    std::byte* memory;
  };
  static constexpr std::size_t kMost = 1024;
  std::vector<Mapping> mappings_;
};

}  // namespace homz::gpu
