// What a codec is. Codecs are stateless and thread-safe: one constant object each, listed in
// codecs/builtin.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/checksum.hpp"
#include "core/exec.hpp"
#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/region.hpp"
#include "core/status.hpp"
#include "core/stream_header.hpp"

namespace homz {

struct CodecInfo {
  CodecId id;  // for ever
  std::string_view name;
  std::uint8_t version;  // of the payload's layout; decoders refuse other versions
  bool lossless;         // returns every bit and ignores the error bound
  std::string_view summary;
  std::string_view options;  // what parse() takes, for help and error texts: "level=1..19, shuffle=0|1"
};

// What a payload is made from, beside the data: all of it travels in the stream header.
struct Encoding {
  Field field;
  double abs_error = 0;  // > 0 for a lossy codec, in units of the data
  std::optional<std::uint64_t>
      fill_bits;  // values with this bit pattern return bit for bit and cost next to nothing
  CodecParams params{};
  // Not of the payload's content: a payload is wanted even if it is larger than the data, which then may take
  // up to max_payload. Codecs that never make one report kIncompressible all the same.
  bool always_coded = false;
};

// Bytes. The payload of any data lies between the two bounds.
struct Footprint {
  std::uint64_t min_payload = 0;  // a shorter payload is refused before memory is taken for the data
  std::uint64_t max_payload = 0;  // capacity that encode() may count on
  std::uint64_t encode_scratch = 0;
  std::uint64_t decode_scratch = 0;
  // On a device: bytes at the front of the scratch, which is aligned to 256 bytes there, that are 0
  // beforehand.
  std::uint64_t encode_zeros = 0, decode_zeros = 0;
};

// What encode() has made.
struct Encoded {
  std::uint64_t bytes = 0;  // of the payload; or Codec::kIncompressible
  ChecksumState sums;       // of the payload's words, if the codec takes them
};

class Codec {
 public:
  // What encode() reports instead of a size when the payload would be larger than the data: the data is then
  // stored as it is, and what encode() has written is of no use.
  static constexpr std::uint64_t kIncompressible = std::numeric_limits<std::uint64_t>::max();

  virtual ~Codec() = default;
  virtual const CodecInfo& info() const noexcept = 0;

  // Options as in "mode=outlier,dim=2"; the error names the option and what it takes.
  virtual Result<CodecParams> parse(std::string_view options) const = 0;
  // The inverse of parse(), for reports; params come from a stream and can be anything: unknown ones are an
  // error.
  virtual Result<std::string> describe(const CodecParams& params) const = 0;

  // Also the place where params that do not suit the field are refused.
  virtual Result<Footprint> footprint(const Encoding& encoding, Exec exec) const = 0;

  // Preconditions of both: data holds exactly field.bytes() bytes (any alignment on the host), field.count()
  // > 0, payload and scratch have the sizes that footprint() tells, no two buffers overlap, all live in
  // exec.space. Nothing is allocated, nothing synchronised, and nothing is written outside the buffers.

  // Writes the payload, and to *encoded (in exec.space) what there is to know of it. Every finite value x
  // comes back as x' with |x - x'| <= abs_error in exact arithmetic; every other value bit for bit. The bytes
  // depend on the encoding and the data alone. Does not fail for lack of capacity.
  virtual Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch,
                        Encoded* encoded, Exec exec) const = 0;
  // Whether encode() makes a payload of any data if it is asked for by always_coded.
  virtual bool codes_all() const noexcept { return false; }
  // Whether encode() tells the sums of the payload; else the stream layer reads it once more to take them.
  virtual bool takes_sums() const noexcept { return false; }

  // Whether it codes on GPUs too. There exec.space is device: encode and decode only enqueue work on
  // exec.stream, data is aligned to the size of its values, *encoded says kIncompressible until the codec
  // writes it, and what decode finds wrong goes to *exec.fault, which is never null.
  virtual bool on_device() const noexcept { return false; }
  // Whether, on a device, encode() tells the sums of the payload and decode_and_sum() takes them.
  virtual bool sums_on_device() const noexcept { return false; }
  // Decodes and adds the words of all of the payload to *sums, which is in exec.space. Called on a device, if
  // sums_on_device(), and on the host, if verifies(): its payload must be the header's besides.
  virtual Status decode_and_sum(const Encoding&, ConstBytes, Bytes, Bytes, ChecksumState*, Exec) const {
    return Status(Code::internal, "this codec takes no sums");
  }

  // Writes all of data. The payload may be hostile: every length in it is checked before use
  // (corrupt_stream).
  virtual Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                        Exec exec) const = 0;
  // Whether decode() verifies all that it reads by checksums within the payload, as decode_region() must;
  // else the stream layer has verified the payload.
  virtual bool verifies() const noexcept { return false; }

  // For codecs whose payloads can be read in parts: decodes a region (which is in the field and not empty)
  // into data of just its size, without scratch.
  virtual bool decodes_regions() const noexcept { return false; }
  virtual Status decode_region(const Encoding&, const Region&, ConstBytes, Bytes, Exec) const {
    return Status(Code::internal, "this codec decodes no regions");
  }
};

}  // namespace homz
