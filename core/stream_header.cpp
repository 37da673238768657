#include "core/stream_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/bits.hpp"
#include "core/checksum.hpp"
#include "core/fp_environment.hpp"

namespace homz {
namespace {

constexpr std::array<unsigned char, 4> kMagic = {0x89, 'H', 'M', 'Z'};
constexpr std::array<unsigned char, 4> kHdf5Magic = {0x89, 'H', 'D', 'F'};

// Byte offsets.
enum At : std::size_t {
  kFormatAt = 4,
  kCodecAt = 6,
  kCodecVersionAt = 8,
  kDtypeAt = 9,
  kRankAt = 10,
  kRepresentationAt = header_at::kRepresentation,
  kRequiredAt = 12,
  kIgnorableAt = header_at::kIgnorable,
  kExtentsAt = 16,
  kAbsErrorAt = header_at::kAbsError,
  kRequestedAt = header_at::kRequested,
  kBoundModeAt = 64,
  kReservedAt = 65,
  kFillAt = 72,
  kParamsAt = 80,
  kPayloadBytesAt = header_at::kPayloadBytes,
  kPayloadChecksumAt = header_at::kPayloadChecksum,
  kHeaderChecksumAt = header_at::kHeaderChecksum,
};

constexpr std::uint16_t kHasFill = 1;
constexpr std::uint16_t kBigEndianOrigin = 2;
constexpr std::uint16_t kOrderMatters = header_at::kOrderMatters;
constexpr std::uint16_t kKnownRequired = kHasFill | kBigEndianOrigin;

template <std::size_t N>
bool begins_with(ConstBytes bytes, const std::array<unsigned char, N>& magic) {
  if (bytes.size() < N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (std::to_integer<unsigned char>(bytes[i]) != magic[i]) return false;
  return true;
}

Status corrupt(std::string what) {
  return Status(Code::corrupt_stream, "damaged homz stream: " + std::move(what));
}

Status not_a_stream(ConstBytes bytes) {
  const std::array<unsigned char, 4> swapped = {kMagic[3], kMagic[2], kMagic[1], kMagic[0]};
  const char* looks_like = "something else";
  if (bytes.empty())
    looks_like = "empty";
  else if (begins_with(bytes, kHdf5Magic))
    looks_like = "an HDF5 file";
  else if (begins_with(bytes, swapped))
    looks_like = "a stream whose bytes were swapped in groups of four";
  else if (std::all_of(bytes.begin(), bytes.begin() + std::min<std::size_t>(bytes.size(), 64),
                       [](std::byte b) {
                         const auto c = std::to_integer<unsigned char>(b);
                         return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
                       }))
    looks_like = "text";
  return Status(Code::corrupt_stream, fmt::format("not a homz stream: the data is {}", looks_like));
}

double load_double(const std::byte* from) {
  return value_of<double>(load_le<std::uint64_t>(from));
}

Result<Field> load_field(const std::byte* from) {
  const auto rank = std::to_integer<unsigned>(from[kRankAt]);
  const auto dtype = std::to_integer<unsigned>(from[kDtypeAt]);
  if (rank < 1 || rank > Field::kMaxRank) return corrupt(fmt::format("{} extents", rank));
  if (dtype != 1 && dtype != 2) return corrupt(fmt::format("element type {}", dtype));
  std::array<std::uint64_t, Field::kMaxRank> extents;
  for (unsigned i = 0; i < Field::kMaxRank; ++i)
    extents[i] = load_le<std::uint64_t>(from + kExtentsAt + 8 * i);
  for (unsigned i = rank; i < Field::kMaxRank; ++i)
    if (extents[i] != 0) return corrupt("an extent past the rank");
  auto field = Field::make(static_cast<Dtype>(dtype), std::span(extents).first(rank));
  if (!field.ok()) return corrupt(field.status().message());
  return field;
}

Result<ErrorBound> load_bound(const std::byte* from, double abs_error) {
  const auto mode = std::to_integer<unsigned>(from[kBoundModeAt]);
  const ErrorBound bound{static_cast<BoundMode>(mode), load_double(from + kRequestedAt)};
  if (mode > static_cast<unsigned>(BoundMode::psnr))
    return corrupt(fmt::format("mode of error bound {}", mode));
  if (!validate(bound).ok() || !std::isfinite(abs_error) || std::signbit(abs_error))
    return corrupt(fmt::format("error bound {} (requested {})", abs_error, bound.value));
  // What was asked for and what is promised must go together.
  const bool contradiction = bound.mode == BoundMode::lossless   ? bits_of(bound.value) != 0 || abs_error != 0
                             : bound.mode == BoundMode::absolute ? abs_error > bound.value
                                                                 : false;
  if (contradiction) return corrupt(fmt::format("bound {} for a request of {}", abs_error, to_string(bound)));
  return bound;
}

}  // namespace

bool has_magic(ConstBytes bytes) noexcept {
  return begins_with(bytes, kMagic);
}

void store(const StreamHeader& header, HeaderBytes to) {
  std::byte* const base = to.data();
  std::fill(to.begin(), to.end(), std::byte{0});
  for (std::size_t i = 0; i < kMagic.size(); ++i) base[i] = static_cast<std::byte>(kMagic[i]);
  store_le<std::uint16_t>(base + kFormatAt, StreamHeader::kFormat);
  store_le(base + kCodecAt, static_cast<std::uint16_t>(header.codec));
  base[kCodecVersionAt] = static_cast<std::byte>(header.codec_version);
  base[kDtypeAt] = static_cast<std::byte>(header.field.dtype);
  base[kRankAt] = static_cast<std::byte>(header.field.rank);
  base[kRepresentationAt] = static_cast<std::byte>(header.representation);
  store_le(base + kRequiredAt, static_cast<std::uint16_t>((header.fill_bits ? kHasFill : 0) |
                                                          (header.big_endian_origin ? kBigEndianOrigin : 0)));
  store_le(base + kIgnorableAt, static_cast<std::uint16_t>(header.order_matters ? kOrderMatters : 0));
  for (unsigned i = 0; i < Field::kMaxRank; ++i) store_le(base + kExtentsAt + 8 * i, header.field.extents[i]);
  store_le(base + kAbsErrorAt, bits_of(header.abs_error));
  store_le(base + kRequestedAt, bits_of(header.requested.value));
  base[kBoundModeAt] = static_cast<std::byte>(header.requested.mode);
  store_le(base + kFillAt, header.fill_bits.value_or(0));
  std::copy(header.params.begin(), header.params.end(), base + kParamsAt);
  store_le(base + kPayloadBytesAt, header.payload_bytes);
  store_le(base + kPayloadChecksumAt, header.payload_checksum);
  store_le(base + kHeaderChecksumAt, checksum(ConstBytes(base, kHeaderChecksumAt)));
}

Result<StreamHeader> load(ConstBytes stream) {
  const FpEnvironment environment;  // comparing a signalling NaN must not trap
  if (!has_magic(stream)) return not_a_stream(stream);
  if (stream.size() < StreamHeader::kBytes)
    return corrupt(fmt::format("{} bytes, less than a header of {}", stream.size(), StreamHeader::kBytes));
  const std::byte* const base = stream.data();
  const auto format = load_le<std::uint16_t>(base + kFormatAt);
  if (format != StreamHeader::kFormat)
    return Status(Code::unsupported,
                  fmt::format("stream format {}: this homz reads format {}; use a newer homz", format,
                              StreamHeader::kFormat));
  if (load_le<std::uint64_t>(base + kHeaderChecksumAt) != checksum(stream.first(kHeaderChecksumAt)))
    return corrupt("the header's checksum does not match");
  const auto required = load_le<std::uint16_t>(base + kRequiredAt);
  if ((required & ~kKnownRequired) != 0)
    return Status(Code::unsupported,
                  fmt::format("the stream needs features {:#x} that this homz does not know",
                              required & ~kKnownRequired));
  for (std::size_t i = kReservedAt; i < kFillAt; ++i)
    if (base[i] != std::byte{0}) return corrupt(fmt::format("reserved byte {} is set", i));

  StreamHeader header;
  header.codec = static_cast<CodecId>(load_le<std::uint16_t>(base + kCodecAt));
  header.codec_version = std::to_integer<std::uint8_t>(base[kCodecVersionAt]);
  const auto representation = std::to_integer<unsigned>(base[kRepresentationAt]);
  if (representation > static_cast<unsigned>(Representation::constant))
    return corrupt(fmt::format("representation {}", representation));
  header.representation = static_cast<Representation>(representation);
  HOMZ_ASSIGN(header.field, load_field(base));
  header.abs_error = load_double(base + kAbsErrorAt);
  HOMZ_ASSIGN(header.requested, load_bound(base, header.abs_error));
  const auto fill_bits = load_le<std::uint64_t>(base + kFillAt);
  if ((required & kHasFill) != 0) header.fill_bits = fill_bits;
  if ((!header.fill_bits && fill_bits != 0) || (header.field.dtype == Dtype::f32 && fill_bits >> 32 != 0))
    return corrupt(fmt::format("fill value {:#x}", fill_bits));
  header.big_endian_origin = (required & kBigEndianOrigin) != 0;
  header.order_matters = (load_le<std::uint16_t>(base + kIgnorableAt) & kOrderMatters) != 0;
  std::copy_n(base + kParamsAt, header.params.size(), header.params.begin());
  header.payload_bytes = load_le<std::uint64_t>(base + kPayloadBytesAt);
  header.payload_checksum = load_le<std::uint64_t>(base + kPayloadChecksumAt);
  return header;
}

}  // namespace homz
