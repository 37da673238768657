#include "codecs/cuszp/engine.hpp"

#include <fmt/format.h>

#include "codecs/cuszp/decoder.hpp"
#include "codecs/cuszp/encoder.hpp"
#include "codecs/cuszp/layout.hpp"

namespace homz::cuszp {
namespace {

// No machine holds more; below it, no size or position wraps.
constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 56;

// Extents that a layout of `dim` dimensions lacks are 1; those that it has no room for merge into the
// slowest.
template <unsigned kDim>
Tiles<kDim> tiles_of(const Field& field) {
  std::uint64_t extents[3] = {1, 1, 1};
  for (unsigned i = 0; i < field.rank; ++i) {
    const unsigned from_fastest = field.rank - 1 - i;
    extents[from_fastest < 2 ? 2 - from_fastest : 0] *= field.extents[i];
  }
  return Tiles<kDim>(extents[0], extents[1], extents[2]);
}

// Calls f(layout, T{}) for the field.
template <class F>
auto with_layout(const Field& given, const Plan& plan, F&& f) {
  const Field field = given.without_unit_extents();
  return with_dtype(field.dtype, [&](auto zero) {
    if (plan.dim == 2) return f(tiles_of<2>(field), zero);
    if (plan.dim == 3) return f(tiles_of<3>(field), zero);
    return f(Line(field.count(), !plan.v1), zero);
  });
}

// The most that any data can take: every block at its widest, every value an exception in a run of its own.
template <class Layout>
std::uint64_t largest_payload(const Layout& layout, std::uint64_t value_bytes) {
  const std::uint64_t positions = layout.positions();
  const ExceptionCounts all{0, positions, positions};
  return layout.metadata_bytes() + layout.blocks() * Block<Layout::kDim>::kMaxBytes +
         exception_bytes(positions, all, value_bytes) + kTrailerBytes;
}

}  // namespace

Result<Footprint> footprint(const Encoding& encoding, const Plan& plan) {
  const Field& field = encoding.field;
  if (field.bytes() > kMaxDataBytes)
    return Status(Code::unsupported,
                  fmt::format("{} of {}: more than 2^56 bytes", field.shape_text(), to_string(field.dtype)));
  return with_layout(field, plan, [&](const auto& layout, auto zero) {
    Arena arena;
    carve_segments(arena, segment_count(layout));
    return Footprint{layout.metadata_bytes() + kTrailerBytes,
                     plan.never_stored ? largest_payload(layout, sizeof(zero)) : field.bytes(),
                     arena.needed(), arena.needed()};
  });
}

Status encode(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload, Bytes scratch,
              std::uint64_t* payload_bytes, Exec exec) {
  *payload_bytes = with_layout(encoding.field, plan, [&](const auto& layout, auto zero) {
    using Layout = std::decay_t<decltype(layout)>;
    Arena arena(scratch);
    Segment* const segments = carve_segments(arena, segment_count(layout));
    Encoder<decltype(zero), Layout> encoder(encoding, plan, layout, data, segments, exec.threads);
    return encoder.encode(payload.data(), plan.never_stored ? Codec::kIncompressible : data.size());
  });
  return Status();
}

Status decode(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data, Bytes scratch,
              Exec exec) {
  return with_layout(encoding.field, plan, [&](const auto& layout, auto zero) {
    using Layout = std::decay_t<decltype(layout)>;
    Arena arena(scratch);
    Segment* const segments = carve_segments(arena, segment_count(layout));
    return Decoder<decltype(zero), Layout>(encoding, plan, layout, data, segments, exec.threads)
        .decode(payload);
  });
}

}  // namespace homz::cuszp
