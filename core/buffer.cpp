#include "core/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace homz {

void Buffer::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Result<Buffer> Buffer::make(std::uint64_t bytes) {
  constexpr std::uint64_t kHugePage = 2 << 20;
  static const auto kPage = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  Buffer buffer;
  if (bytes == 0) return buffer;
  const std::uint64_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  if (bytes < UINT64_MAX - alignment) {
    const std::uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
    if (buffer.memory_ && alignment == kHugePage)
      madvise(buffer.memory_.get(), rounded, MADV_HUGEPAGE);  // a hint
  }
  if (!buffer.memory_)
    return Status(Code::out_of_memory, fmt::format("cannot allocate {} bytes of memory", bytes));
  buffer.size_ = bytes;
  return buffer;
}

Status Buffer::reserve(std::uint64_t bytes) {
  if (bytes <= size_) return Status();
  *this = Buffer();
  HOMZ_ASSIGN(*this, make(bytes));
  return Status();
}

}  // namespace homz
