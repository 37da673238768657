// The memory of a message: its frame, and the payload right behind it, so that both travel as they lie.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "collectives/frame.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {

class Block {
 public:
  // Room for `capacity` bytes of payload; pinned: that a GPU reaches. Throws bad_alloc.
  explicit Block(std::uint64_t capacity, bool is_pinned = false) : capacity_(capacity) {
    if (is_pinned) {
      auto pinned = gpu::Memory::pinned(Frame::kBytes + capacity);
      if (!pinned.ok()) throw std::bad_alloc();
      pinned_ = std::move(*pinned);
      memory_ = pinned_.bytes().data();
    } else {
      memory_ = static_cast<std::byte*>(::operator new(Frame::kBytes + capacity, kAlign));
    }
  }
  ~Block() {
    if (!is_pinned()) ::operator delete(memory_, kAlign);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool is_pinned() const { return pinned_.size() != 0; }
  std::uint64_t capacity() const { return capacity_; }
  Bytes room() { return {memory_ + Frame::kBytes, capacity_}; }   // for a payload
  Bytes whole() { return {memory_, Frame::kBytes + capacity_}; }  // for a message
  Bytes payload() { return room().first(frame.payload_bytes); }
  ConstBytes payload() const { return {memory_ + Frame::kBytes, frame.payload_bytes}; }
  Bytes message() { return whole().first(Frame::kBytes + frame.payload_bytes); }
  std::span<std::byte, Frame::kBytes> front() {
    return std::span<std::byte, Frame::kBytes>(memory_, Frame::kBytes);
  }

  Frame frame;
  bool is_sealed = false;  // the frame is written in front, and nothing changes any more

 private:
  static constexpr std::align_val_t kAlign{64};
  gpu::Memory pinned_;
  std::byte* memory_ = nullptr;
  std::uint64_t capacity_;
};

using BlockPtr = std::shared_ptr<Block>;

// Blocks come back when nobody holds them any more. Not for several threads.
class BlockPool {
 public:
  BlockPool() : free_(std::make_shared<Free>()) {}

  // From now on all memory is pinned: some calls' values are on a GPU.
  void pin() {
    if (!free_->pins) free_->blocks.clear();
    free_->pins = true;
  }

  BlockPtr take(std::uint64_t capacity) {
    std::unique_ptr<Block> block;
    auto& blocks = free_->blocks;
    for (auto& candidate : blocks)
      if (candidate->capacity() >= capacity) {
        std::swap(candidate, blocks.back());
        block = std::move(blocks.back());
        blocks.pop_back();
        break;
      }
    if (!block) block = std::make_unique<Block>(capacity, free_->pins);
    block->frame = Frame{};
    block->is_sealed = false;
    return BlockPtr(block.release(), [free = free_](Block* done) {
      std::unique_ptr<Block> back(done);
      try {
        if (free->blocks.size() < kMost && back->is_pinned() == free->pins)
          free->blocks.push_back(std::move(back));
      } catch (const std::bad_alloc&) {  // then it is freed
      }
    });
  }

 private:
  struct Free {
    std::vector<std::unique_ptr<Block>> blocks;
    bool pins = false;
  };
  static constexpr std::size_t kMost = 4096;
  std::shared_ptr<Free> free_;
};

}  // namespace homz
