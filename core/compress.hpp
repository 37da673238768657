// The whole job in one call each, with memory from the heap: for programs that do not manage their own.
#pragma once

#include <cstdint>
#include <optional>

#include "core/buffer.hpp"
#include "core/stream.hpp"

namespace homz {

// A stream in memory, as long as it is (its buffer may have been larger).
struct Compressed {
  Buffer buffer;
  std::uint64_t bytes = 0;
  ConstBytes stream() const noexcept { return buffer.bytes().first(bytes); }
};

// Resolves compression.requested over the data (finite values that are not fill) to the absolute bound, then
// encodes.
Result<Compressed> compress(const Compression& compression, ConstBytes data, Exec exec);
// The same for callers that have set compression.abs_error themselves.
Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data, Exec exec);
Result<Compressed> compress(const CodecChoice& choice, const Field& field, ConstBytes data,
                            const ErrorBound& bound, std::optional<std::uint64_t> fill_bits, Exec exec);

// Refuses a stream that declares more data than a limit: capacity.
Status check_declared(std::uint64_t bytes, std::uint64_t max_bytes);

struct Decompressed {
  StreamHeader header;
  Buffer data;
};

// Refuses streams that declare more than `max_bytes` of data, before memory is taken for them.
Result<Decompressed> decompress(const Registry& registry, ConstBytes stream, Exec exec,
                                std::uint64_t max_bytes = UINT64_MAX);

// The same for a region of the field: `data` has its values alone, the header remains that of the whole
// field. Only those chunks are decoded that hold values of the region, if the codec has chunks.
Result<Decompressed> decompress_region(const Registry& registry, ConstBytes stream, const Region& region,
                                       Exec exec, std::uint64_t max_bytes = UINT64_MAX);

}  // namespace homz
