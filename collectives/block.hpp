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
  // Room for `capacity` bytes of payload on the host. Throws bad_alloc.
  explicit Block(std::uint64_t capacity) : Block(capacity, Home::host, gpu::Memory()) {}
  // Anywhere. Errors are those of gpu::Memory; on the host, and for the frame, it throws bad_alloc.
  static Result<std::unique_ptr<Block>> make(std::uint64_t capacity, Home home) {
    gpu::Memory memory;
    if (home == Home::pinned) {
      HOMZ_ASSIGN(memory, gpu::Memory::pinned(Frame::kBytes + capacity));
    } else if (home == Home::device) {
      HOMZ_ASSIGN(memory, gpu::Memory::on_device(capacity));
    }
    return std::unique_ptr<Block>(new Block(capacity, home, std::move(memory)));
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
  Block(std::uint64_t capacity, Home home, gpu::Memory of_gpu)
      : home_(home), of_gpu_(std::move(of_gpu)), capacity_(capacity) {
    const std::uint64_t bytes = Frame::kBytes + (home == Home::device ? 0 : capacity);
    memory_ = home == Home::pinned ? of_gpu_.bytes().data()
                                   : static_cast<std::byte*>(::operator new(bytes, kAlign));
    payload_ = home == Home::device ? of_gpu_.bytes().data() : memory_ + Frame::kBytes;
  }

  Home home_;
  gpu::Memory of_gpu_;  // pinned or on a device
  std::byte* memory_ = nullptr;
  std::byte* payload_ = nullptr;
  std::uint64_t capacity_;
};

using BlockPtr = std::shared_ptr<Block>;

// Blocks come back when nobody holds them any more. Not for several threads.
class BlockPool {
 public:
  BlockPool() : free_(std::make_shared<Free>()) {}

  // Of the host. Throws bad_alloc.
  BlockPtr take(std::uint64_t capacity) {
    Result<BlockPtr> taken = take(capacity, Home::host);
    if (!taken.ok()) throw std::bad_alloc();
    return *taken;
  }
  Result<BlockPtr> take(std::uint64_t capacity, Home home) {
    std::unique_ptr<Block> block;
    auto& blocks = (*free_)[static_cast<std::size_t>(home)];
    const auto found = home == Home::device ? tightest(blocks, capacity) : first(blocks, capacity);
    if (found != blocks.end()) {
      std::swap(*found, blocks.back());
      block = std::move(blocks.back());
      blocks.pop_back();
    }
    if (!block) {
      HOMZ_ASSIGN(block, fresh(blocks, home == Home::device ? rounded(capacity) : capacity, home));
    }
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
  static Result<std::unique_ptr<Block>> fresh(Blocks& blocks, std::uint64_t capacity, Home home) {
    const auto make = [&] { return no_throw([&] { return Block::make(capacity, home); }); };
    auto made = make();
    if (made.ok() || blocks.empty()) return made;
    blocks.clear();
    return make();
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
