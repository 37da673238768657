// Caller-owned memory: byte spans, and the arena that carves a scratch buffer into typed arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace homz {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

inline bool overlap(ConstBytes a, ConstBytes b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// Bump allocator over the caller's scratch, in 256-byte slots (what device memory wants).
// One function per algorithm takes its arrays from an Arena: run with a counting arena it tells how much
// scratch is needed, run with a carving one it hands it out. So the query and the use cannot disagree.
class Arena {
 public:
  Arena() = default;  // counting: take() returns nullptr
  explicit Arena(Bytes storage) : base_(storage.data()), capacity_(storage.size()) {}  // carving

  // An uninitialised array of `count` T, or nullptr when counting, when count is 0 or when the storage is
  // used up (then fits() is false).
  template <class T>
  T* take(std::uint64_t count) {
    const std::uint64_t start = used_;
    // What cannot be had stays more than any storage.
    const std::uint64_t slots =
        count > kMost / sizeof(T) ? kMost / kSlot : (count * sizeof(T) + kSlot - 1) / kSlot;
    used_ = used_ > kMost - slots * kSlot ? kMost : used_ + slots * kSlot;
    return count != 0 && base_ != nullptr && fits() ? reinterpret_cast<T*>(aligned_base() + start) : nullptr;
  }

  // Bytes from the first array to the end of the last.
  std::uint64_t used() const noexcept { return used_; }
  // What is left of the storage behind the arrays taken so far.
  Bytes rest() const noexcept {
    if (base_ == nullptr || !fits()) return {};
    std::byte* const first = used_ == 0 ? base_ : aligned_base() + used_;
    return {first, capacity_ - static_cast<std::uint64_t>(first - base_)};
  }

  // Bytes of scratch that make every take() so far succeed, whatever the alignment of the scratch.
  std::uint64_t needed() const noexcept { return used_ == 0 ? 0 : used_ + kSlot; }
  bool fits() const noexcept {
    return used_ == 0 || (base_ != nullptr && used_ + (aligned_base() - base_) <= capacity_);
  }

 private:
  static constexpr std::uint64_t kSlot = 256;
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::byte* aligned_base() const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    return base_ + (kSlot - address % kSlot) % kSlot;
  }

  std::byte* base_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace homz
