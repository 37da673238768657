#include "core/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/bits.hpp"
#include "core/canary.hpp"
#include "core/checksum.hpp"
#include "core/constant.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/stream.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are stored as the machine has them: little-endian");

Status require_space(Exec exec) {
  return exec.space == Space::host ? Status() : gpu::ready();
}

Status check_buffers(ConstBytes input, ConstBytes output, ConstBytes scratch) {
  const auto is_missing = [](ConstBytes buffer) { return buffer.data() == nullptr && !buffer.empty(); };
  if (is_missing(input) || is_missing(output) || is_missing(scratch))
    return Status(Code::invalid_argument, "a null pointer was given for a buffer that is not empty");
  if (overlap(input, output) || overlap(input, scratch) || overlap(output, scratch))
    return Status(Code::invalid_argument, "input, output and scratch buffers overlap; give separate memory");
  return Status();
}

Status check_size(const char* what, std::uint64_t given, std::uint64_t needed, Code code) {
  if (given >= needed) return Status();
  return Status(code, fmt::format("the {} has {} bytes, {} are needed", what, given, needed));
}

void copy(ConstBytes from, Bytes to, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 22;
  parallel_for(ceil_div<std::uint64_t>(from.size(), kSlice), threads, [&](std::uint64_t task) {
    const std::uint64_t first = task * kSlice;
    std::memcpy(to.data() + first, from.data() + first, std::min<std::uint64_t>(kSlice, from.size() - first));
  });
}

Encoding encoding_of(const StreamHeader& header) {
  return Encoding{header.field, header.abs_error, header.fill_bits, header.params, false};
}

StreamHeader header_of(const Compression& compression) {
  const CodecInfo& info = compression.choice.codec->info();
  StreamHeader header;
  header.codec = info.id;
  header.codec_version = info.version;
  header.field = compression.field;
  header.abs_error = info.lossless ? 0 : compression.abs_error;
  header.requested = compression.requested;
  header.fill_bits = compression.fill_bits;
  header.big_endian_origin = compression.big_endian_origin;
  header.params = compression.choice.params;
  return header;
}

Status judge_checksum(const StreamHeader& header, std::uint64_t found) {
  if (found == header.payload_checksum) return Status();
  return Status(Code::corrupt_stream, "the payload's checksum does not match: the stream is damaged");
}

Status verify(const OpenStream& stream, Exec exec) {
  return judge_checksum(stream.header, checksum(stream.payload, exec.threads));
}

// A lossy codec is of no use where every value must return exactly.
bool codec_applies(const StreamHeader& header, const CodecInfo& info) {
  return header.field.count() != 0 && info.lossless == (header.abs_error == 0);
}

// The codec's payload, if it is of use.
Status code_payload(const Codec& codec, bool always, ConstBytes data, Bytes payload, Bytes scratch,
                    StreamHeader* header, Exec exec) {
  Encoded encoded;
  Encoding encoding = encoding_of(*header);
  encoding.always_coded = always;
  HOMZ_TRY(codec.encode(encoding, data, payload, scratch, &encoded, exec));
  if (encoded.bytes == Codec::kIncompressible)
    return always ? Status(Code::unsupported,
                           fmt::format("codec {} does not code all data: use homcomp", codec.info().name))
                  : Status();
  header->representation = Representation::coded;
  header->payload_bytes = encoded.bytes;
  header->payload_checksum = codec.takes_sums() ? encoded.sums.finish(encoded.bytes)
                                                : checksum(payload.first(encoded.bytes), exec.threads);
  return Status();
}

Status store_payload(const Compression& compression, ConstBytes data, Bytes payload, Bytes scratch,
                     StreamHeader* header, Exec exec) {
  const Codec& codec = *compression.choice.codec;
  if (compression.always_coded && codec_applies(*header, codec.info()))
    return code_payload(codec, true, data, payload, scratch, header, exec);
  header->representation = Representation::constant;
  if (!encode_constant(header->field, header->fill_bits, data, payload, scratch, &header->payload_bytes,
                       exec.threads)) {
    header->representation = Representation::stored;
    if (codec_applies(*header, codec.info()))
      HOMZ_TRY(code_payload(codec, false, data, payload, scratch, header, exec));
    if (header->representation == Representation::coded) return Status();
    header->payload_bytes = data.size();
    copy(data, payload, exec.threads);
  }
  header->payload_checksum = checksum(payload.first(header->payload_bytes), exec.threads);
  return Status();
}

Status check_size(const Field& field) {
  constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 56;  // below it, no size or position can wrap
  if (field.bytes() <= kMaxDataBytes) return Status();
  return Status(Code::unsupported,
                fmt::format("{} of {}: more than 2^56 bytes", field.shape_text(), to_string(field.dtype)));
}

Status check_bound(const ErrorBound& requested, double abs_error) {
  HOMZ_TRY(validate(requested));
  if (!(abs_error >= 0) || abs_error > std::numeric_limits<double>::max())
    return Status(Code::invalid_argument,
                  fmt::format("absolute error bound {}: must be finite and not negative", abs_error));
  if ((requested.mode == BoundMode::lossless && (abs_error != 0 || requested.value != 0)) ||
      (requested.mode == BoundMode::absolute && abs_error > requested.value))
    return Status(Code::invalid_argument,
                  fmt::format("an absolute bound of {} does not meet the request of {}", abs_error,
                              to_string(requested)));
  return Status();
}

Status check_compression(const Compression& compression) {
  if (compression.choice.codec == nullptr) return Status(Code::invalid_argument, "no codec was chosen");
  const Field& field = compression.field;
  const unsigned rank = std::min<unsigned>(field.rank, Field::kMaxRank);
  HOMZ_ASSIGN(const Field sound, Field::make(field.dtype, std::span(field.extents).first(rank)));
  if (sound != field)
    return Status(
        Code::invalid_argument,
        fmt::format("a field of {} extents, or one with extents past its last, is not allowed: use 1 to {}",
                    field.rank, Field::kMaxRank));
  if (field.dtype == Dtype::f32 && compression.fill_bits.value_or(0) >> 32 != 0)
    return Status(Code::invalid_argument,
                  fmt::format("fill value {:#x} is not the bit pattern of an f32", *compression.fill_bits));
  HOMZ_TRY(check_size(field));
  return check_bound(compression.requested, compression.abs_error);
}

Result<StreamFootprint> find_footprint(const Compression& compression, Exec exec) {
  HOMZ_TRY(require_space(exec));
  HOMZ_TRY(check_compression(compression));
  HOMZ_TRY(require_coder(*compression.choice.codec, exec.space));
  if (compression.always_coded && exec.space == Space::device && !compression.choice.codec->codes_all())
    return Status(Code::unsupported, fmt::format("codec {} does not code all data: use homcomp",
                                                 compression.choice.codec->info().name));
  const StreamHeader header = header_of(compression);
  Footprint codec_needs;
  if (codec_applies(header, compression.choice.codec->info())) {
    Encoding encoding = encoding_of(header);
    encoding.always_coded = compression.always_coded;
    HOMZ_ASSIGN(codec_needs, compression.choice.codec->footprint(encoding, exec));
  }
  const std::uint64_t capacity =
      StreamHeader::kBytes + std::max(codec_needs.max_payload, compression.field.bytes());
  if (exec.space == Space::device)
    return StreamFootprint{capacity, gpu::encode_scratch(compression.field) + codec_needs.encode_scratch,
                           codec_needs.encode_zeros};
  return StreamFootprint{capacity,
                         std::max(codec_needs.encode_scratch, constant_scratch(compression.field.count()))};
}

Status encode(const Compression& compression, ConstBytes data, Bytes stream, Bytes scratch,
              std::uint64_t* stream_bytes, Exec exec) {
  HOMZ_TRY(check_arithmetic());
  if (stream_bytes == nullptr)
    return Status(Code::invalid_argument, "no place was given for the size of the stream");
  HOMZ_ASSIGN(const StreamFootprint needed, find_footprint(compression, exec));
  if (data.size() != compression.field.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("the data has {} bytes, but {} of {} are {} bytes", data.size(),
                              compression.field.shape_text(), to_string(compression.field.dtype),
                              compression.field.bytes()));
  HOMZ_TRY(check_size("stream buffer", stream.size(), needed.stream_bytes, Code::capacity));
  HOMZ_TRY(check_size("scratch buffer", scratch.size(), needed.scratch_bytes, Code::capacity));
  HOMZ_TRY(check_buffers(data, stream, scratch));

  StreamHeader header = header_of(compression);
  // No more than was asked for: a larger buffer must not change what a codec makes of it.
  const Bytes payload = stream.subspan(StreamHeader::kBytes, needed.stream_bytes - StreamHeader::kBytes);
  if (exec.space == Space::device) {
    const Codec* const codec =
        codec_applies(header, compression.choice.codec->info()) ? compression.choice.codec : nullptr;
    Encoding encoding = encoding_of(header);
    encoding.always_coded = compression.always_coded && codec != nullptr;
    return gpu::encode({header, codec, encoding, needed.scratch_zeros}, data,
                       stream.first(needed.stream_bytes), scratch, stream_bytes, exec);
  }
  HOMZ_TRY(store_payload(compression, data, payload, scratch, &header, exec));
  store(header, stream.first<StreamHeader::kBytes>());
  *stream_bytes = StreamHeader::kBytes + header.payload_bytes;
  return Status();
}

Result<OpenStream> open_known(const Registry& registry, const StreamHeader& known, ConstBytes bytes,
                              Exec exec) {
  OpenStream stream;
  stream.header = known;
  if (bytes.size() < StreamHeader::kBytes)
    return Status(Code::corrupt_stream, fmt::format("{} bytes are no stream", bytes.size()));
  const StreamHeader& header = stream.header;
  stream.payload = bytes.subspan(StreamHeader::kBytes);
  if (stream.payload.size() != header.payload_bytes)
    return Status(Code::corrupt_stream,
                  fmt::format("the stream's payload has {} bytes, its header says {}: {}",
                              stream.payload.size(), header.payload_bytes,
                              stream.payload.size() < header.payload_bytes ? "it was cut off"
                                                                           : "something was appended"));
  stream.codec = registry.find(header.codec);
  HOMZ_TRY(check_size(header.field));
  if (header.representation == Representation::stored && header.payload_bytes != header.field.bytes())
    return Status(Code::corrupt_stream, "stored values of the wrong size");
  if (header.representation == Representation::constant && header.payload_bytes < size_of(header.field.dtype))
    return Status(Code::corrupt_stream, "a constant field without its value");
  if (header.representation == Representation::constant) stream.region_scratch_bytes = header.field.bytes();
  if (exec.space == Space::device) stream.scratch_bytes = gpu::decode_scratch();
  if (header.representation != Representation::coded) return stream;
  if (stream.codec == nullptr)
    return Status(Code::unsupported, fmt::format("the stream was made by codec {}, which is not known here",
                                                 static_cast<unsigned>(header.codec)));
  const CodecInfo& info = stream.codec->info();
  if (header.codec_version != info.version)
    return Status(Code::unsupported,
                  fmt::format("the stream was made by version {} of codec {}, this homz has version {}",
                              header.codec_version, info.name, info.version));
  if (!codec_applies(header, info))
    return Status(Code::corrupt_stream,
                  fmt::format("a stream of codec {} with bound {}", info.name, header.abs_error));
  HOMZ_TRY(require_coder(*stream.codec, exec.space));
  const auto needs = stream.codec->footprint(encoding_of(header), exec);
  if (!needs.ok()) return Status(Code::corrupt_stream, needs.status().message());
  if (header.payload_bytes < needs->min_payload)
    return Status(Code::corrupt_stream,
                  fmt::format("a payload of {} bytes cannot hold {} of {} (codec {})", header.payload_bytes,
                              header.field.shape_text(), to_string(header.field.dtype), info.name));
  stream.scratch_bytes += needs->decode_scratch;
  stream.scratch_zeros = needs->decode_zeros;
  if (!stream.codec->decodes_regions())
    stream.region_scratch_bytes = header.field.bytes() + stream.scratch_bytes;
  return stream;
}

Result<OpenStream> open(const Registry& registry, ConstBytes bytes, Exec exec) {
  HOMZ_TRY(require_space(exec));
  HOMZ_TRY(check_buffers(bytes, {}, {}));
  std::array<std::byte, StreamHeader::kBytes> fetched;
  ConstBytes head = bytes;
  if (exec.space == Space::device && bytes.size() >= StreamHeader::kBytes) {
    HOMZ_TRY(gpu::fetch_header(bytes, fetched, exec));
    head = fetched;
  } else if (exec.space == Space::device) {
    return Status(Code::corrupt_stream, fmt::format("{} bytes are no stream", bytes.size()));
  }
  HOMZ_ASSIGN(const StreamHeader header, load(head));
  return open_known(registry, header, bytes, exec);
}

Status decode(const OpenStream& stream, Bytes data, Bytes scratch, Exec exec) {
  HOMZ_TRY(require_space(exec));
  HOMZ_TRY(check_arithmetic());
  const StreamHeader& header = stream.header;
  if (data.size() != header.field.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("the stream holds {} of {}, {} bytes; the buffer for it has {}",
                              header.field.shape_text(), to_string(header.field.dtype), header.field.bytes(),
                              data.size()));
  HOMZ_TRY(check_size("scratch buffer", scratch.size(), stream.scratch_bytes, Code::capacity));
  HOMZ_TRY(check_buffers(stream.payload, data, scratch));
  if (exec.space == Space::device) return gpu::decode(stream, encoding_of(header), data, scratch, exec);
  if (header.representation != Representation::coded || !stream.codec->verifies())
    HOMZ_TRY(verify(stream, exec));
  switch (header.representation) {
    case Representation::stored:
      copy(stream.payload, data, exec.threads);
      return Status();
    case Representation::constant:
      return decode_constant(header.field, header.fill_bits, stream.payload, data, exec.threads);
    case Representation::coded:
      break;
  }
  if (!stream.codec->verifies())
    return stream.codec->decode(encoding_of(header), stream.payload, data, scratch, exec);
  ChecksumState sums;
  HOMZ_TRY(stream.codec->decode_and_sum(encoding_of(header), stream.payload, data, scratch, &sums, exec));
  return judge_checksum(header, sums.finish(header.payload_bytes));
}

Status decode_part(const OpenStream& stream, const Region& region, Bytes data, Bytes scratch, Exec exec) {
  if (exec.space == Space::device)
    return Status(Code::unsupported, "regions are decoded on the host only: decode the whole stream");
  HOMZ_TRY(check_arithmetic());
  const StreamHeader& header = stream.header;
  HOMZ_ASSIGN(const Field part, field_of(region, header.field));
  if (data.size() != part.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("the region holds {} of {}, {} bytes; the buffer for it has {}",
                              part.shape_text(), to_string(part.dtype), part.bytes(), data.size()));
  HOMZ_TRY(check_size("scratch buffer", scratch.size(), stream.region_scratch_bytes, Code::capacity));
  HOMZ_TRY(check_buffers(stream.payload, data, scratch));
  if (data.empty()) return Status();
  if (header.representation == Representation::coded && stream.codec->decodes_regions())
    return stream.codec->decode_region(encoding_of(header), region, stream.payload, data, exec);
  if (header.representation == Representation::stored) {
    HOMZ_TRY(verify(stream, exec));
    copy_region(region, header.field, stream.payload, data);
    return Status();
  }
  const Bytes whole = scratch.first(header.field.bytes());
  HOMZ_TRY(decode(stream, whole, scratch.subspan(whole.size()), exec));
  copy_region(region, header.field, whole, data);
  return Status();
}

}  // namespace

Status require_coder(const Codec& codec, Space space) {
  if (space == Space::host || codec.on_device()) return Status();
  return Status(Code::unsupported,
                fmt::format("codec {} has no coder for GPUs: use it on the host, or another "
                            "codec such as cuszp2",
                            codec.info().name));
}

Result<StreamFootprint> footprint(const Compression& compression, Exec exec) {
  return enter([&] { return find_footprint(compression, exec); });
}

Status encode_stream(const Compression& compression, ConstBytes data, Bytes stream, Bytes scratch,
                     std::uint64_t* stream_bytes, Exec exec) {
  return enter([&] { return encode(compression, data, stream, scratch, stream_bytes, exec); });
}

Result<OpenStream> open_stream(const Registry& registry, ConstBytes bytes, Exec exec) {
  return enter([&] { return open(registry, bytes, exec); });
}

Result<OpenStream> open_stream(const Registry& registry, const StreamHeader& header, ConstBytes bytes,
                               Exec exec) {
  return enter([&]() -> Result<OpenStream> {
    HOMZ_TRY(require_space(exec));
    HOMZ_TRY(check_buffers(bytes, {}, {}));
    return open_known(registry, header, bytes, exec);
  });
}

Status verify_payload(const OpenStream& stream, Exec exec) {
  return enter([&] { return verify(stream, exec); });
}

Status decode_stream(const OpenStream& stream, Bytes data, Bytes scratch, Exec exec) {
  return enter([&] { return decode(stream, data, scratch, exec); });
}

Status decode_region(const OpenStream& stream, const Region& region, Bytes data, Bytes scratch, Exec exec) {
  return enter([&] { return decode_part(stream, region, data, scratch, exec); });
}

}  // namespace homz
