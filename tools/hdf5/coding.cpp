#include "tools/hdf5/coding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"

namespace homz::hdf5 {
namespace {

constexpr unsigned kLayout = 1;
constexpr unsigned kBigEndian = 256;
constexpr std::size_t kBoundWords = 3, kFillWords = 9;  // shorter forms of the user words
constexpr unsigned kMaxRank = 32;                       // HDF5's own

Status wrong(const std::string& what) {
  return Status(Code::invalid_argument, fmt::format("parameters of the homz filter: {}", what));
}

void push(Words* words, std::uint64_t value) {
  words->push_back(static_cast<unsigned>(value & 0xffffffffu));
  words->push_back(static_cast<unsigned>(value >> 32));
}

std::uint64_t pair(std::span<const unsigned> words, std::size_t low) {
  return words[low] | static_cast<std::uint64_t>(words[low + 1]) << 32;
}

Result<ErrorBound> parse_requested(std::span<const unsigned> words) {
  const ErrorBound bound{static_cast<BoundMode>(words[3]), value_of<double>(pair(words, 4))};
  if (words[3] > static_cast<unsigned>(BoundMode::psnr))
    return wrong(fmt::format("mode {} of the bound", words[3]));
  if (const Status status = validate(bound); !status.ok()) return wrong(status.message());
  const double abs_error = value_of<double>(pair(words, 1));
  if ((bound.mode == BoundMode::lossless && abs_error != 0) ||
      (bound.mode == BoundMode::absolute && abs_error != bound.value))
    return wrong(fmt::format("an absolute bound of {} where {} was asked for", abs_error, to_string(bound)));
  return bound;
}

std::string fill_text(const std::optional<std::uint64_t>& bits) {
  return bits ? fmt::format("fill {:#x}", *bits) : "no fill";
}

Status parse_codec(const Registry& registry, std::span<const unsigned> words, ChunkCoding* coding) {
  if (words.size() < kUserWords) {
    HOMZ_ASSIGN(const CodecChoice choice, registry.choose(kDefaultCodec));
    coding->codec = choice.codec->info().id;
    coding->params = choice.params;
    return Status();
  }
  if (words[9] > 0xffff) return wrong(fmt::format("codec id {}", words[9]));
  coding->codec = static_cast<CodecId>(words[9]);
  for (std::size_t i = 0; i < 6; ++i)
    store_le(coding->params.data() + 4 * i, static_cast<std::uint32_t>(words[10 + i]));
  return Status();
}

}  // namespace

std::uint64_t ChunkCoding::bytes() const {
  std::uint64_t product = size_of(dtype);
  for (const std::uint64_t extent : extents) product *= extent;
  return product;
}

Words user_words(const ChunkCoding& coding) {
  Words words{kLayout};
  push(&words, bits_of(coding.abs_error));
  words.push_back(static_cast<unsigned>(coding.requested.mode));
  push(&words, bits_of(coding.requested.value));
  words.push_back(coding.fill_bits.has_value() ? 1 : 0);
  push(&words, coding.fill_bits.value_or(0));
  words.push_back(static_cast<unsigned>(coding.codec));
  for (std::size_t i = 0; i < 6; ++i) words.push_back(load_le<std::uint32_t>(coding.params.data() + 4 * i));
  return words;
}

Words all_words(const ChunkCoding& coding) {
  Words words = user_words(coding);
  const bool left_alone = coding.extents.empty();
  words.push_back(left_alone ? 0
                             : static_cast<unsigned>(coding.dtype) + (coding.big_endian ? kBigEndian : 0));
  words.push_back(static_cast<unsigned>(coding.extents.size()));
  for (const std::uint64_t extent : coding.extents) words.push_back(static_cast<unsigned>(extent));
  return words;
}

Result<ChunkCoding> parse_user_words(const Registry& registry, std::span<const unsigned> words) {
  if (words.size() != kBoundWords && words.size() != kFillWords && words.size() < kUserWords)
    return wrong(fmt::format("{} words; give 3 (layout 1, bound low, bound high), 9 or 16", words.size()));
  if (words[0] != kLayout)
    return wrong(fmt::format("layout {}; this homz knows layout {}", words[0], kLayout));
  ChunkCoding coding;
  coding.abs_error = value_of<double>(pair(words, 1));
  if (!std::isfinite(coding.abs_error) || std::signbit(coding.abs_error))
    return wrong(
        fmt::format("absolute bound {} (a double takes two words, the low one first)", coding.abs_error));
  coding.requested = coding.abs_error > 0 ? ErrorBound{BoundMode::absolute, coding.abs_error}
                                          : ErrorBound{BoundMode::lossless, 0};
  if (words.size() >= kFillWords) {
    HOMZ_ASSIGN(coding.requested, parse_requested(words));
    if (words[6] > 1) return wrong(fmt::format("fill flag {}", words[6]));
    if (words[6] == 1) coding.fill_bits = pair(words, 7);
  }
  HOMZ_TRY(parse_codec(registry, words, &coding));
  return coding;
}

Result<ChunkCoding> parse_all_words(const Registry& registry, std::span<const unsigned> words) {
  if (words.size() < kFixedWords || words[17] > kMaxRank || words.size() != kFixedWords + words[17])
    return wrong("not complete: the type and shape of the chunk are missing");
  HOMZ_ASSIGN(ChunkCoding coding, parse_user_words(registry, words));
  if (words[17] == 0) {
    if (words[16] != 0) return wrong("a type without extents");
    return coding;
  }
  const unsigned dtype = words[16] & ~kBigEndian;
  if (dtype != 1 && dtype != 2) return wrong(fmt::format("element type {}", words[16]));
  coding.dtype = static_cast<Dtype>(dtype);
  coding.big_endian = (words[16] & kBigEndian) != 0;
  if (coding.fill_bits && coding.dtype == Dtype::f32 && *coding.fill_bits >> 32 != 0)
    return wrong("a fill value wider than the data");
  coding.extents.assign(words.begin() + kFixedWords, words.end());
  HOMZ_TRY(coded_field(coding.dtype, coding.extents).status());
  constexpr std::uint64_t kMaxChunk = 0xffffffffu;  // HDF5's own limit
  if (coding.bytes() == 0 || coding.bytes() > kMaxChunk)
    return wrong(fmt::format("a chunk of {} bytes", coding.bytes()));
  return coding;
}

Result<Field> coded_field(Dtype dtype, std::span<const std::uint64_t> extents) {
  std::vector<std::uint64_t> kept(extents.begin(), extents.end());
  if (kept.size() > Field::kMaxRank) std::erase(kept, 1u);
  while (kept.size() > Field::kMaxRank) {
    std::uint64_t merged;
    if (__builtin_mul_overflow(kept[0], kept[1], &merged))
      return wrong("the product of the extents overflows");
    kept.erase(kept.begin());
    kept[0] = merged;
  }
  if (kept.empty()) kept.push_back(1);
  return Field::make(dtype, kept);
}

Result<Compression> compression_of(const Registry& registry, const ChunkCoding& coding) {
  Compression compression;
  compression.choice = {registry.find(coding.codec), coding.params};
  if (compression.choice.codec == nullptr)
    return wrong(fmt::format("codec {} is not known here", static_cast<unsigned>(coding.codec)));
  HOMZ_ASSIGN(compression.field, coded_field(coding.dtype, coding.extents));
  compression.abs_error = coding.abs_error;
  compression.requested = coding.requested;
  compression.fill_bits = coding.fill_bits;
  compression.big_endian_origin = coding.big_endian;
  return compression;
}

Result<OpenStream> open_chunk(const Registry& registry, const ChunkCoding& coding, ConstBytes stream,
                              Exec exec) {
  HOMZ_ASSIGN(const OpenStream open, open_stream(registry, stream, exec));
  const Field& field = open.header.field;
  HOMZ_ASSIGN(const Field expected, coded_field(coding.dtype, coding.extents));
  if (field.dtype != expected.dtype || field.count() != expected.count() ||
      open.header.big_endian_origin != coding.big_endian)
    return Status(Code::corrupt_stream,
                  fmt::format("the chunk holds {} of {}{}, the dataset says {} of {}{}", field.shape_text(),
                              to_string(field.dtype), open.header.big_endian_origin ? " big-endian" : "",
                              expected.shape_text(), to_string(expected.dtype),
                              coding.big_endian ? " big-endian" : ""));
  if (open.header.abs_error > coding.abs_error || open.header.fill_bits != coding.fill_bits)
    return Status(Code::corrupt_stream,
                  fmt::format("the chunk was coded with a bound of {} and {}, the dataset promises {} and {}",
                              open.header.abs_error, fill_text(open.header.fill_bits), coding.abs_error,
                              fill_text(coding.fill_bits)));
  return open;
}

}  // namespace homz::hdf5
