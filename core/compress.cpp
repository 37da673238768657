#include "core/compress.hpp"

#include <fmt/format.h>

namespace homz {
namespace {

Result<Compressed> compress_within(const Compression& compression, ConstBytes data, Exec exec) {
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, exec));
  Compressed result;
  HOMZ_ASSIGN(result.buffer, Buffer::make(needs.stream_bytes));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(needs.scratch_bytes));
  HOMZ_TRY(encode_stream(compression, data, result.buffer.bytes(), scratch.bytes(), &result.bytes, exec));
  return result;
}

Result<Compressed> resolve_and_compress(Compression compression, ConstBytes data, Exec exec) {
  const Field& field = compression.field;
  if (data.size() != field.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("the data has {} bytes, but {} of {} are {} bytes", data.size(),
                              field.shape_text(), to_string(field.dtype), field.bytes()));
  if (data.data() == nullptr && !data.empty())
    return Status(Code::invalid_argument, "a null pointer was given for the data");
  HOMZ_ASSIGN(compression.abs_error,
              resolve_over(field, data, compression.requested, compression.fill_bits, exec));
  return compress_within(compression, data, exec);
}

Result<Decompressed> decompress_part(const Registry& registry, ConstBytes bytes, const Region& region,
                                     Exec exec, std::uint64_t max_bytes) {
  HOMZ_ASSIGN(const OpenStream stream, open_stream(registry, bytes, exec));
  HOMZ_ASSIGN(const Field part, field_of(region, stream.header.field));
  HOMZ_TRY(check_declared(std::max(part.bytes(), stream.region_scratch_bytes), max_bytes));
  Decompressed result{stream.header, {}};
  HOMZ_ASSIGN(result.data, Buffer::make(part.bytes()));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(stream.region_scratch_bytes));
  HOMZ_TRY(decode_region(stream, region, result.data.bytes(), scratch.bytes(), exec));
  return result;
}

Result<Decompressed> decompress_limited(const Registry& registry, ConstBytes bytes, Exec exec,
                                        std::uint64_t max_bytes) {
  HOMZ_ASSIGN(const OpenStream stream, open_stream(registry, bytes, exec));
  const std::uint64_t size = stream.header.field.bytes();
  HOMZ_TRY(check_declared(size, max_bytes));
  Decompressed result{stream.header, {}};
  HOMZ_ASSIGN(result.data, Buffer::make(size));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(stream.scratch_bytes));
  HOMZ_TRY(decode_stream(stream, result.data.bytes(), scratch.bytes(), exec));
  return result;
}

}  // namespace

Result<Compressed> compress(const Compression& compression, ConstBytes data, Exec exec) {
  return no_throw([&] { return resolve_and_compress(compression, data, exec); });
}

Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data, Exec exec) {
  return no_throw([&] { return compress_within(compression, data, exec); });
}

Result<Compressed> compress(const CodecChoice& choice, const Field& field, ConstBytes data,
                            const ErrorBound& bound, std::optional<std::uint64_t> fill_bits, Exec exec) {
  return compress(Compression{choice, field, 0, bound, fill_bits}, data, exec);
}

Status check_declared(std::uint64_t bytes, std::uint64_t max_bytes) {
  if (bytes <= max_bytes) return Status();
  return Status(Code::capacity, fmt::format("the stream declares {} bytes of data, more than the limit of {}",
                                            bytes, max_bytes));
}

Result<Decompressed> decompress(const Registry& registry, ConstBytes bytes, Exec exec,
                                std::uint64_t max_bytes) {
  return no_throw([&] { return decompress_limited(registry, bytes, exec, max_bytes); });
}

Result<Decompressed> decompress_region(const Registry& registry, ConstBytes bytes, const Region& region,
                                       Exec exec, std::uint64_t max_bytes) {
  return no_throw([&] { return decompress_part(registry, bytes, region, exec, max_bytes); });
}

}  // namespace homz
