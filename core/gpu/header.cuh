// Completes the header of a stream on the device.
#pragma once

#include "core/bits.hpp"
#include "core/gpu/sums.cuh"
#include "core/stream_header.hpp"

namespace homz::gpu {

struct HeaderWords {
  std::uint32_t words[StreamHeader::kBytes / 4];
};

// The header as the host has prepared it, with what is only known now.
__device__ inline void write_header(HeaderWords header, Representation representation, std::uint64_t bytes,
                                    const ChecksumState& payload, std::byte* stream,
                                    std::uint64_t* stream_bytes) {
  auto* const base = reinterpret_cast<std::byte*>(header.words);
  base[header_at::kRepresentation] = static_cast<std::byte>(representation);
  store_le(base + header_at::kPayloadBytes, bytes);
  store_le(base + header_at::kPayloadChecksum, payload.finish(bytes));
  ChecksumState sums;
  for (unsigned i = 0; i < header_at::kHeaderChecksum / 4; ++i) sums.add(i, header.words[i]);
  store_le(base + header_at::kHeaderChecksum, sums.finish(header_at::kHeaderChecksum));
  for (unsigned i = 0; i < StreamHeader::kBytes / 4; ++i) store_word(stream + 4 * i, header.words[i]);
  *stream_bytes = StreamHeader::kBytes + bytes;
}

}  // namespace homz::gpu
