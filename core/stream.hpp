// Streams: a header and a payload, made and read by any codec. This is the interface that programs use.
//
// The functions below do not throw. Data and streams must not change during a call: a decoder checks what it
// reads before it uses it and would be led astray by bytes that change in between (copy mapped files that
// others write).
//
// With exec.space == Space::device all buffers are in device memory (data and streams may be in mapped pinned
// memory of the host, which is slower), *stream_bytes and *exec.fault are where the device can write, data is
// aligned to the size of its values, streams to 8 bytes, and the functions only enqueue work on exec.stream:
// the size of a stream is born on the device, and what is wrong with a payload goes to *exec.fault (see
// core/exec.hpp). A damaged payload is decoded all the same there; the data is then of no use.
#pragma once

#include <cstdint>
#include <optional>

#include "core/codec.hpp"
#include "core/region.hpp"
#include "core/registry.hpp"
#include "core/stream_header.hpp"

namespace homz {

// All that determines a stream, beside the data.
struct Compression {
  CodecChoice choice;
  Field field;
  double abs_error = 0;  // from resolve(); 0 asks for exact values
  ErrorBound requested;  // recorded in the header
  std::optional<std::uint64_t> fill_bits;
  bool big_endian_origin = false;
  // No constant and no stored values instead of what the codec makes, so that arithmetic on streams
  // (homomorphic/) finds quanta whatever the data. Error, if the codec cannot: unsupported.
  bool always_coded = false;
};

struct StreamFootprint {
  // Capacity for every outcome. (A stream is at most the data and a header, unless a codec's option asks for
  // its own layout at any price; a codec may need a little more room to find that out.)
  std::uint64_t stream_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t scratch_zeros = 0;  // of Footprint
};

// Error: unsupported, if the codec does not code there. (The functions below find out by themselves.)
Status require_coder(const Codec& codec, Space space);

Result<StreamFootprint> footprint(const Compression& compression, Exec exec);

// Compresses `data` (field.bytes() bytes, any alignment) into `stream`; *stream_bytes receives the size.
// The bytes depend on the compression and the data alone. Buffers must not overlap, and have at least the
// sizes of footprint(). The caller's floating-point environment plays no part and is restored. Errors:
// invalid_argument, capacity, unsupported; on an error the content of `stream` is unspecified.
Status encode_stream(const Compression& compression, ConstBytes data, Bytes stream, Bytes scratch,
                     std::uint64_t* stream_bytes, Exec exec);

// A stream that has been looked at: header and payload checked as far as that goes without memory for the
// data.
struct OpenStream {
  StreamHeader header;
  const Codec* codec = nullptr;  // nullptr if the payload needs none and the codec is unknown here
  ConstBytes payload;
  std::uint64_t scratch_bytes = 0;         // for decode_stream
  std::uint64_t scratch_zeros = 0;         // of Footprint
  std::uint64_t region_scratch_bytes = 0;  // for decode_region
};

// Verifies the header, its checksum and the length, and that the codec is known in this version and could
// have made so small a payload; so a caller may allocate header.field.bytes() afterwards, unless it sets a
// limit of its own: the representation `constant` expands without limit by design. The payload is verified
// when it is read, as much of it as is read. Errors: corrupt_stream, unsupported.
// On a device this one call copies the header to the host and waits for exec.stream.
Result<OpenStream> open_stream(const Registry& registry, ConstBytes stream, Exec exec);

// The same where the header is known already, on the host: nothing of the stream is read, so nothing waits.
Result<OpenStream> open_stream(const Registry& registry, const StreamHeader& header, ConstBytes stream,
                               Exec exec);

// Whether the payload is the one that the header was made with, on the host. Errors: corrupt_stream.
// decode_stream() does it, or what is as good, by itself.
Status verify_payload(const OpenStream& stream, Exec exec);

// Decompresses into `data`, which must have exactly header.field.bytes() bytes. Bytes whose checksum does not
// match are refused; hostile ones give a Status, never a fault. On an error `data` may hold decoded
// values up to the fault.
Status decode_stream(const OpenStream& stream, Bytes data, Bytes scratch, Exec exec);

// Decompresses a region into `data`, which must have exactly the bytes of its values. Reads no more of the
// payload than it needs if the values are stored or the codec decodes regions; else it decodes all of it into
// the scratch.
Status decode_region(const OpenStream& stream, const Region& region, Bytes data, Bytes scratch, Exec exec);

}  // namespace homz
