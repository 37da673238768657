// The memory of a message: its frame, and the payload. On the host the payload lies right behind the frame,
// so that both travel as they lie.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <vector>

#include "collectives/frame.hpp"
#include "core/bits.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {

// Where the payload of a message lies: in memory of the host, in such that GPUs reach, or in that of a GPU.
enum class Home : std::uint8_t { host, pinned, device };

class Block {
 public:
  // Room for `capacity` bytes of payload. Throws bad_alloc.
  explicit Block(std::uint64_t capacity, Home home = Home::host) : home_(home), capacity_(capacity) {
    const std::uint64_t in_front = Frame::kBytes + (home == Home::device ? 0 : capacity);
    if (home == Home::pinned) {
      pinned_ = taken(gpu::Memory::pinned(in_front));
      memory_ = pinned_.bytes().data();
    } else {
      if (home == Home::device) device_ = taken(gpu::Memory::on_device(capacity));
      memory_ = static_cast<std::byte*>(::operator new(in_front, kAlign));
    }
    payload_ = home == Home::device ? device_.bytes().data() : memory_ + Frame::kBytes;
  }
  ~Block() {
    if (home_ != Home::pinned) ::operator delete(memory_, kAlign);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Home home() const { return home_; }
  std::uint64_t capacity() const { return capacity_; }
  Bytes room() { return {payload_, capacity_}; }  // for a payload
  Bytes payload() { return room().first(frame.payload_bytes); }
  ConstBytes payload() const { return {payload_, frame.payload_bytes}; }
  std::span<std::byte, Frame::kBytes> front() {
    return std::span<std::byte, Frame::kBytes>(memory_, Frame::kBytes);
  }
  // Frame and payload as they lie: not in the memory of a GPU.
  Bytes whole() { return {memory_, Frame::kBytes + capacity_}; }
  Bytes message() { return whole().first(Frame::kBytes + frame.payload_bytes); }

  Frame frame;
  bool is_sealed = false;  // the frame is written in front, and nothing changes any more

 private:
  static constexpr std::align_val_t kAlign{64};
  static gpu::Memory taken(Result<gpu::Memory> memory) {
    if (!memory.ok()) throw std::bad_alloc();
    return std::move(*memory);
  }

  Home home_;
  gpu::Memory pinned_, device_;
  std::byte* memory_ = nullptr;
  std::byte* payload_ = nullptr;
  std::uint64_t capacity_;
};

using BlockPtr = std::shared_ptr<Block>;

// Blocks come back when nobody holds them any more. Not for several threads.
class BlockPool {
 public:
  BlockPool() : free_(std::make_shared<Free>()) {}

  BlockPtr take(std::uint64_t capacity, Home home = Home::host) {
    std::unique_ptr<Block> block;
    auto& blocks = (*free_)[static_cast<std::size_t>(home)];
    const auto found = home == Home::device ? tightest(blocks, capacity) : first(blocks, capacity);
    if (found != blocks.end()) {
      std::swap(*found, blocks.back());
      block = std::move(blocks.back());
      blocks.pop_back();
    }
    if (!block) block = fresh(blocks, home == Home::device ? rounded(capacity) : capacity, home);
    block->frame = Frame{};
    block->is_sealed = false;
    return BlockPtr(block.release(), [free = free_](Block* done) {
      std::unique_ptr<Block> back(done);
      try {
        auto& blocks = (*free)[static_cast<std::size_t>(back->home())];
        if (blocks.size() < kMost) blocks.push_back(std::move(back));
      } catch (const std::bad_alloc&) {  // then it is freed
      }
    });
  }

 private:
  using Blocks = std::vector<std::unique_ptr<Block>>;
  static Blocks::iterator first(Blocks& blocks, std::uint64_t capacity) {
    return std::ranges::find_if(blocks, [&](const auto& block) { return block->capacity() >= capacity; });
  }
  // Memory of GPUs is scarce, and slow to be had.
  static Blocks::iterator tightest(Blocks& blocks, std::uint64_t capacity) {
    const auto waste = [&](const auto& block) {
      return block->capacity() < capacity ? UINT64_MAX : block->capacity() - capacity;
    };
    const auto best = std::ranges::min_element(blocks, {}, waste);
    return best != blocks.end() && waste(*best) != UINT64_MAX ? best : blocks.end();
  }
  // Where there is no more memory, what lies here, too small, makes room.
  static std::unique_ptr<Block> fresh(Blocks& blocks, std::uint64_t capacity, Home home) {
    try {
      return std::make_unique<Block>(capacity, home);
    } catch (const std::bad_alloc&) {
      if (blocks.empty()) throw;
      blocks.clear();
    }
    return std::make_unique<Block>(capacity, home);
  }
  static std::uint64_t rounded(std::uint64_t capacity) {
    const std::uint64_t unit = std::max<std::uint64_t>(std::bit_floor(capacity) / 8, 1 << 16);
    return ceil_div(capacity, unit) * unit;
  }

  using Free = std::array<Blocks, 3>;  // by home
  static constexpr std::size_t kMost = 4096;
  std::shared_ptr<Free> free_;
};

}  // namespace homz
