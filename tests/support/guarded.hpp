// A buffer between guards, at any alignment, poisoned before use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace homz::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // tests do less then, to stay within minutes
#else
inline constexpr bool kSanitized = false;
#endif

class Guarded {
 public:
  // `misalign`: distance of the first byte from a multiple of 64.
  Guarded(std::uint64_t size, unsigned misalign, std::byte poison)
      : size_(size), whole_(size + misalign + 3 * kGuard), memory_(new std::byte[whole_]) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    begin_ = memory_.get() + (kGuard - address % kGuard) % kGuard + kGuard + misalign;
    std::fill(memory_.get(), begin_, kCanary);
    std::fill_n(begin_, size, poison);
    std::fill(begin_ + size, memory_.get() + whole_, kCanary);
    fence(true);
  }
  Guarded(std::uint64_t size, unsigned misalign, ConstBytes content) : Guarded(size, misalign, std::byte{0}) {
    std::copy(content.begin(), content.end(), begin_);
  }
  ~Guarded() { fence(false); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  Bytes bytes() const { return {begin_, static_cast<std::size_t>(size_)}; }

  // No byte around the buffer was written.
  bool intact() {
    fence(false);
    const auto is_canary = [](std::byte b) { return b == kCanary; };
    return std::all_of(memory_.get(), begin_, is_canary) &&
           std::all_of(begin_ + size_, memory_.get() + whole_, is_canary);
  }

 private:
  static constexpr std::uint64_t kGuard = 64;
  static constexpr std::byte kCanary{0xc3};

  void fence([[maybe_unused]] bool up) {
#if defined(__SANITIZE_ADDRESS__)  // reads outside are found too
    std::byte* const end = begin_ + size_;
    std::byte* const memory_end = memory_.get() + whole_;
    if (up) {
      ASAN_POISON_MEMORY_REGION(memory_.get(), begin_ - memory_.get());
      ASAN_POISON_MEMORY_REGION(end, memory_end - end);
      ASAN_UNPOISON_MEMORY_REGION(begin_, size_);
    } else {
      ASAN_UNPOISON_MEMORY_REGION(memory_.get(), whole_);
    }
#endif
  }

  std::uint64_t size_, whole_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* begin_ = nullptr;
};

}  // namespace homz::test
