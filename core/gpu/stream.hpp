// The stream layer on a GPU, behind the functions of core/stream.hpp, which have checked the arguments.
// Nothing here allocates or waits, but for fetch_header.
#pragma once

#include <cstdint>

#include "core/stream.hpp"

namespace homz::gpu {

struct EncodeTask {
  StreamHeader header;           // complete, but for representation, payload size and checksums
  const Codec* codec = nullptr;  // nullptr: of no use here, the values are stored
  Encoding encoding;
  std::uint64_t zeros = 0;  // of the codec's Footprint
};

// Bytes of scratch in front of the codec's.
std::uint64_t encode_scratch(const Field& field);
std::uint64_t decode_scratch();

// `stream` has the capacity that footprint() told, *stream_bytes lives where the device can write.
Status encode(const EncodeTask& task, ConstBytes data, Bytes stream, Bytes scratch,
              std::uint64_t* stream_bytes, Exec exec);

// Copies the header of a stream in device memory to the host and waits for exec.stream.
Status fetch_header(ConstBytes stream, HeaderBytes to, Exec exec);

Status decode(const OpenStream& stream, const Encoding& encoding, Bytes data, Bytes scratch, Exec exec);

}  // namespace homz::gpu
