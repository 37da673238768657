#include "codecs/cuszp/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codecs/cuszp/decoder.hpp"
#include "codecs/cuszp/device.hpp"
#include "codecs/cuszp/encoder.hpp"
#include "codecs/cuszp/geometry.hpp"
#include "codecs/cuszp/layout.hpp"

namespace homz::cuszp {
namespace {

// No machine holds more; below it, no size or position wraps.
constexpr std::uint64_t kMaxDataBytes = std::uint64_t{1} << 56;

Footprint footprint_of(const Encoding& encoding, const Plan& plan, unsigned dim) {
  return with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
    Arena to_decode, to_encode;
    carve_segments(to_decode, segment_count(layout));
    carve_segments(to_encode, segment_count(layout));
    carve_marks(to_encode, segment_count(layout));
    return Footprint{layout.metadata_bytes() + Trailer::kBytes,
                     plan.never_stored ? largest_payload(layout, sizeof(zero)) : encoding.field.bytes(),
                     to_encode.needed(), to_decode.needed()};
  });
}

// Blocks of more dimensions do not always pay: upstream's predictor looks along rows only, and short slow
// extents leave most of a cube empty. So the smallest of the estimates wins, and the lowest dimension among
// equals.
unsigned choose_dim(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data) {
  const Dims dims(encoding.field, plan);
  if (dims.first == dims.last) return dims.first;
  unsigned best = 0;
  double least = 0;
  for (unsigned dim = dims.first; dim <= dims.last; ++dim) {
    const double size = with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
      return Encoder<decltype(zero), std::decay_t<decltype(layout)>>(encoding, plan, kernels, layout, data)
          .estimate();
    });
    if (best != 0 && size >= least) continue;
    best = dim;
    least = size;
  }
  return best;
}

}  // namespace

Result<Footprint> footprint(const Encoding& encoding, const Plan& plan, Exec exec) {
  const Field& field = encoding.field;
  if (field.bytes() > kMaxDataBytes)
    return Status(Code::unsupported,
                  fmt::format("{} of {}: more than 2^56 bytes", field.shape_text(), to_string(field.dtype)));
  const Dims dims(field, plan);
  Footprint all = footprint_of(encoding, plan, dims.first);
  for (unsigned dim = dims.first + 1; dim <= dims.last; ++dim) {
    const Footprint one = footprint_of(encoding, plan, dim);
    all.min_payload = std::min(all.min_payload, one.min_payload);
    all.max_payload = std::max(all.max_payload, one.max_payload);
    all.encode_scratch = std::max(all.encode_scratch, one.encode_scratch);
    all.decode_scratch = std::max(all.decode_scratch, one.decode_scratch);
  }
  if (exec.space == Space::device) size_scratch_on_device(field, plan, all);
  return all;
}

Status encode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
              Bytes payload, Bytes scratch, Encoded* encoded, Exec exec) {
  if (exec.space == Space::device)
    return encode_on_device(encoding, plan, data, payload, scratch, encoded, exec);
  const unsigned dim = choose_dim(encoding, plan, kernels, data);
  encoded->bytes = with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
    using Layout = std::decay_t<decltype(layout)>;
    Arena arena(scratch);
    Segment* const segments = carve_segments(arena, segment_count(layout));
    Marks* const marks = carve_marks(arena, segment_count(layout));
    const std::uint64_t limit = plan.never_stored ? Codec::kIncompressible : data.size();
    return Encoder<decltype(zero), Layout>(encoding, plan, kernels, layout, data)
        .encode(payload.data(), limit, segments, marks, exec.threads);
  });
  return Status();
}

Status decode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
              Bytes data, Bytes scratch, Exec exec) {
  if (payload.size() < Trailer::kBytes) return corrupt("shorter than its trailer");
  const unsigned dim = Trailer::load(payload.data() + payload.size()).dim;
  const Dims dims(encoding.field, plan);
  if (dim < dims.first || dim > dims.last)
    return corrupt("blocks of a dimension that the field does not have");
  return with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
    using Layout = std::decay_t<decltype(layout)>;
    Arena arena(scratch);
    Segment* const segments = carve_segments(arena, segment_count(layout));
    return Decoder<decltype(zero), Layout>(encoding, plan, kernels, layout, data, segments, exec.threads)
        .decode(payload);
  });
}

}  // namespace homz::cuszp
