#include "codecs/zstd/zstd_codec.hpp"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>

#include "core/bits.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

constexpr CodecInfo kInfo{
    CodecId{1}, "zstd", 1, true, "lossless: byte shuffle and Zstandard", "level=1..19, shuffle=0|1"};
constexpr std::uint64_t kChunk = 4 << 20;  // bytes of data a chunk, each a Zstandard frame of its own
constexpr std::uint64_t kLargestBlock = 128 << 10;  // of Zstandard; takes at least 4 bytes in a frame
constexpr int kDefaultLevel = 3;

struct Settings {
  int level;
  bool shuffle;
};

CodecParams pack(Settings settings) {
  CodecParams params{};
  params[0] = static_cast<std::byte>(settings.level);
  params[1] = static_cast<std::byte>(settings.shuffle);
  return params;
}

Result<Settings> unpack(const CodecParams& params) {
  const Settings settings{std::to_integer<int>(params[0]), params[1] == std::byte{1}};
  if (settings.level < 1 || settings.level > 19 || pack(settings) != params)
    return Status(Code::invalid_argument, "zstd: parameters of no known meaning");
  return settings;
}

// Byte b of value i goes to place b * count + i: the bytes that resemble each other become neighbours.
void shuffle(const std::byte* from, std::byte* to, std::uint64_t count, std::uint64_t size) {
  for (std::uint64_t b = 0; b < size; ++b)
    for (std::uint64_t i = 0; i < count; ++i) to[b * count + i] = from[i * size + b];
}

void unshuffle(const std::byte* from, std::byte* to, std::uint64_t count, std::uint64_t size) {
  for (std::uint64_t b = 0; b < size; ++b)
    for (std::uint64_t i = 0; i < count; ++i) to[i * size + b] = from[b * count + i];
}

// A field cut into chunks, and the scratch that they share.
struct Chunks {
  std::uint64_t bytes, count;

  explicit Chunks(const Field& field) : bytes(field.bytes()), count(ceil_div(bytes, kChunk)) {}
  std::uint64_t length(std::uint64_t chunk) const { return std::min(kChunk, bytes - chunk * kChunk); }
  std::uint64_t table_bytes() const { return 4 * count; }
};

struct Scratch {
  std::byte* shuffled;     // kChunk a chunk
  std::byte* frames;       // ZSTD_compressBound(kChunk) a chunk; encoding only
  std::uint64_t* offsets;  // of each frame within the payload

  Scratch(Arena& arena, const Chunks& chunks, bool shuffles, bool encodes)
      : shuffled(arena.take<std::byte>(shuffles ? chunks.bytes : 0)),
        frames(arena.take<std::byte>(encodes ? chunks.count * ZSTD_compressBound(kChunk) : 0)),
        offsets(arena.take<std::uint64_t>(chunks.count + 1)) {}
};

class ZstdCodec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(Options options, Options::parse(text));
    HOMZ_ASSIGN(const auto level, options.take_integer("level", 1, 19, kDefaultLevel));
    HOMZ_ASSIGN(const auto shuffles, options.take_integer("shuffle", 0, 1, 1));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    return pack({static_cast<int>(level), shuffles == 1});
  }

  Result<std::string> describe(const CodecParams& params) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(params));
    return fmt::format("level={},shuffle={}", settings.level, settings.shuffle ? 1 : 0);
  }

  Result<Footprint> footprint(const Encoding& encoding, Exec) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
    const Chunks chunks(encoding.field);
    Arena encode_arena, decode_arena;
    Scratch(encode_arena, chunks, settings.shuffle, true);
    Scratch(decode_arena, chunks, settings.shuffle, false);
    return Footprint{chunks.table_bytes() + 4 * ceil_div(chunks.bytes, kLargestBlock), chunks.bytes,
                     encode_arena.needed(), decode_arena.needed()};
  }

  Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch, Encoded* encoded,
                Exec exec) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
    const Chunks chunks(encoding.field);
    Arena arena(scratch);
    const Scratch space(arena, chunks, settings.shuffle, true);
    HOMZ_TRY(try_parallel_for(chunks.count, exec.threads, [&](std::uint64_t c) {
      return encode_chunk(settings, size_of(encoding.field.dtype), chunks, data.data(), c, space);
    }));
    return place_frames(chunks, data.data(), payload, space, encoded, exec);
  }

  Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                Exec exec) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
    const Chunks chunks(encoding.field);
    Arena arena(scratch);
    const Scratch space(arena, chunks, settings.shuffle, false);
    if (payload.size() < chunks.table_bytes())
      return Status(Code::corrupt_stream, "zstd: shorter than its table");
    std::uint64_t end = chunks.table_bytes();
    for (std::uint64_t c = 0; c < chunks.count; ++c) {
      space.offsets[c] = end;
      const std::uint64_t size = load_le<std::uint32_t>(payload.data() + 4 * c);
      if (size == 0 || size > chunks.length(c))
        return Status(Code::corrupt_stream, "zstd: impossible size of a chunk");
      end += size;
    }
    space.offsets[chunks.count] = end;
    if (end != payload.size())
      return Status(Code::corrupt_stream, "zstd: the chunks do not add up to the payload");
    return try_parallel_for(chunks.count, exec.threads, [&](std::uint64_t c) {
      return decode_chunk(settings, size_of(encoding.field.dtype), chunks, payload, c, data.data(), space);
    });
  }

 private:
  // offsets[c + 1] receives the size of chunk c; a chunk that does not shrink keeps its own size.
  static Status encode_chunk(Settings settings, std::uint64_t value_bytes, const Chunks& chunks,
                             const std::byte* data, std::uint64_t c, const Scratch& space) {
    const std::uint64_t length = chunks.length(c);
    const std::byte* source = data + c * kChunk;
    if (settings.shuffle) {
      shuffle(source, space.shuffled + c * kChunk, length / value_bytes, value_bytes);
      source = space.shuffled + c * kChunk;
    }
    const std::size_t bound = ZSTD_compressBound(kChunk);
    const std::size_t size = ZSTD_compress(space.frames + c * bound, bound, source, length, settings.level);
    if (ZSTD_isError(size))  // the buffer suffices: what is left is its context
      return Status(Code::out_of_memory, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
    space.offsets[c + 1] = std::min<std::uint64_t>(size, length);
    return Status();
  }

  static Status place_frames(const Chunks& chunks, const std::byte* data, Bytes payload, const Scratch& space,
                             Encoded* encoded, Exec exec) {
    std::uint64_t end = space.offsets[0] = chunks.table_bytes();
    for (std::uint64_t c = 0; c < chunks.count; ++c) end = space.offsets[c + 1] += end;
    encoded->bytes = end > payload.size() ? kIncompressible : end;
    if (encoded->bytes == kIncompressible) return Status();
    const std::size_t bound = ZSTD_compressBound(kChunk);
    parallel_for(chunks.count, exec.threads, [&](std::uint64_t c) {
      const std::uint64_t size = space.offsets[c + 1] - space.offsets[c];
      const bool raw = size == chunks.length(c);
      store_le(payload.data() + 4 * c, static_cast<std::uint32_t>(size));
      std::memcpy(payload.data() + space.offsets[c], raw ? data + c * kChunk : space.frames + c * bound,
                  size);
    });
    return Status();
  }

  static Status decode_chunk(Settings settings, std::uint64_t value_bytes, const Chunks& chunks,
                             ConstBytes payload, std::uint64_t c, std::byte* data, const Scratch& space) {
    const std::uint64_t length = chunks.length(c), size = space.offsets[c + 1] - space.offsets[c];
    const std::byte* const frame = payload.data() + space.offsets[c];
    std::byte* const target = data + c * kChunk;
    if (size == length) {
      std::memcpy(target, frame, length);
      return Status();
    }
    std::byte* const raw = settings.shuffle ? space.shuffled + c * kChunk : target;
    if (ZSTD_findFrameCompressedSize(frame, size) != size)
      return Status(Code::corrupt_stream, fmt::format("zstd: chunk {} is not one frame", c));
    const std::size_t got = ZSTD_decompress(raw, length, frame, size);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
      return Status(Code::out_of_memory, fmt::format("zstd: {}", ZSTD_getErrorName(got)));
    if (got != length) return Status(Code::corrupt_stream, fmt::format("zstd: chunk {} is damaged", c));
    if (settings.shuffle) unshuffle(raw, target, length / value_bytes, value_bytes);
    return Status();
  }
};

}  // namespace

const Codec* zstd_codec() noexcept {
  static const ZstdCodec codec;
  return &codec;
}

}  // namespace homz
