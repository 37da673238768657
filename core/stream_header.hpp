// The 128-byte header in front of every stream. docs/stream_format.md is normative for its layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error_bound.hpp"
#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

enum class CodecId : std::uint16_t {
};  // 0 identity, 1-31 built in, 32-159 registered by others, 160 and up private

// A codec's options as it stores them: its own layout, parsed by Codec::parse.
using CodecParams = std::array<std::byte, 24>;

// What the payload is. Only `coded` payloads are the codec's; the other two need no codec to be read.
enum class Representation : std::uint8_t {
  coded = 0,
  stored = 1,    // the values themselves, little-endian: the codec would not have made them smaller
  constant = 2,  // one value for all elements, then the exception list of the fill values among them
};

struct StreamHeader {
  static constexpr std::size_t kBytes = 128;
  static constexpr std::uint16_t kFormat = 1;

  CodecId codec{};
  std::uint8_t codec_version = 1;
  Representation representation = Representation::coded;
  Field field;
  double abs_error = 0;  // the bound that holds for every value, in units of the data; 0: bit for bit
  ErrorBound requested;  // what the user asked for; abs_error follows from it
  std::optional<std::uint64_t> fill_bits;  // the bit pattern of the declared fill value in the field's type
  bool big_endian_origin = false;          // the data came from, and goes back to, big-endian bytes
  // A result of arithmetic on streams that holds values outside of the quanta: in sums of it the order of the
  // operands may matter.
  bool order_matters = false;
  CodecParams params{};
  std::uint64_t payload_bytes = 0;
  std::uint64_t payload_checksum = 0;
};

// Byte offsets of what is known only when the payload is: the GPU completes headers itself.
namespace header_at {
inline constexpr std::size_t kRepresentation = 11, kIgnorable = 14, kAbsError = 48, kRequested = 56,
                             kPayloadBytes = 104, kPayloadChecksum = 112, kHeaderChecksum = 120;
inline constexpr std::uint16_t kOrderMatters = 1;  // of kIgnorable
}  // namespace header_at

using HeaderBytes = std::span<std::byte, StreamHeader::kBytes>;

void store(const StreamHeader& header, HeaderBytes to);

// Checks magic, format version, header checksum, every field and every reserved bit. Does not look at the
// payload. Errors: corrupt_stream with what the bytes look like instead; unsupported for a newer format or an
// unknown required feature, by number.
Result<StreamHeader> load(ConstBytes stream);

// True if the bytes begin like a stream of homz, whatever follows.
bool has_magic(ConstBytes bytes) noexcept;

}  // namespace homz
