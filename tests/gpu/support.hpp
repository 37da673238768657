// Encoding and decoding on the GPU with guarded, poisoned buffers, for comparison with the host.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/gpu/gpu.hpp"
#include "tests/support/round_trip.hpp"

// At the head of a test: reports it as skipped where there is no GPU.
#define HOMZ_NEEDS_GPU() \
  if (const homz::Status there = homz::gpu::ready(); !there.ok()) GTEST_SKIP() << there.message()

namespace homz::test {

// What must not show in the bytes.
struct GpuVariation {
  unsigned misalign = 0;  // of stream and scratch; data is aligned to its values
  std::byte poison{0xa5};
  CUstream_st* stream = nullptr;
};

// Memory of the GPU between guards. Blocks are kept and used again: taking them anew costs more than a test.
class GpuBlock {
 public:
  GpuBlock(std::uint64_t size, unsigned misalign, std::byte poison, CUstream_st* stream);
  ~GpuBlock();
  GpuBlock(const GpuBlock&) = delete;
  GpuBlock& operator=(const GpuBlock&) = delete;

  Bytes bytes() const { return bytes_; }
  void put(ConstBytes content) const;
  std::vector<std::byte> get() const;  // waits for the stream
  bool intact() const;                 // no byte around it was written

 private:
  CUstream_st* stream_;
  gpu::Memory memory_;
  Bytes bytes_;
};

// The size, and then the bytes, come back after the stream has been waited for.
Outcome gpu_encode(const Compression& compression, ConstBytes data, const GpuVariation& how = {});
// A fault that the GPU reports comes as a status of its code.
Outcome gpu_decode(ConstBytes stream, const GpuVariation& how = {});

// The GPU makes the host's stream, and decodes it to the host's values. Choices that do not suit the field
// are passed over. Returns the stream.
std::vector<std::byte> check_same(const std::string& choice, const Sample& sample, double abs_error,
                                  const GpuVariation& how = {});

std::vector<std::string> gpu_choices();  // all choices of codecs that code on GPUs

}  // namespace homz::test
