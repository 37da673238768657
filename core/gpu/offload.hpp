// The whole job on the GPU for data in host memory. What fits in the GPU's memory is taken there and back
// through pinned memory, piece by piece, so that copies of the host and of the GPU overlap. What does not fit
// stays where it is: its pages are pinned meanwhile, and kernels reach it across the bus. The scratch must
// fit (errors: out_of_memory, which tells what to do, and unsupported without a GPU). What stays in the
// host's memory must be aligned as on a device: values to their size, streams to 8 bytes.
#pragma once

#include <cstdint>
#include <memory>

#include "core/compress.hpp"

namespace homz::gpu {

inline constexpr std::uint64_t kAllRoom = UINT64_MAX;

// As compress_resolved, decompress and decompress_region of core/compress.hpp. `room`: bytes of the GPU's
// memory that they may take; no more than what is free.
Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data,
                                     std::uint64_t room = kAllRoom);
Result<Decompressed> decompress(const Registry& registry, ConstBytes stream,
                                std::uint64_t max_bytes = UINT64_MAX, std::uint64_t room = kAllRoom);
// Decodes all of the stream; what comes back to the host is the region alone.
Result<Decompressed> decompress_region(const Registry& registry, ConstBytes stream, const Region& region,
                                       std::uint64_t max_bytes = UINT64_MAX, std::uint64_t room = kAllRoom);

// The same for many of them, one at a time: a stream of the GPU and memory, kept from call to call. Several
// at once have one each, and buffers that share no page (see Mapping). All buffers are the host's.
class Offload {
 public:
  // `threads` of the host copy.
  static Result<Offload> make(unsigned threads, std::uint64_t room = kAllRoom);
  Offload(Offload&&) noexcept;
  Offload& operator=(Offload&&) noexcept;
  ~Offload();

  // `stream` has the capacity that footprint() tells for a device.
  Status encode(const Compression& compression, ConstBytes data, Bytes stream, std::uint64_t* stream_bytes);
  Status decode(const Registry& registry, ConstBytes stream, Bytes data);
  Status decode_region(const Registry& registry, ConstBytes stream, const Region& region, Bytes part);

 private:
  struct State;
  explicit Offload(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace homz::gpu
