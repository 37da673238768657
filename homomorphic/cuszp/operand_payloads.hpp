// Operands as the engine finds them: what they have in common, and their payloads, taken apart.
#pragma once

#include <new>

#include "codecs/cuszp/geometry.hpp"
#include "codecs/cuszp/payload_reader.hpp"
#include "homomorphic/cuszp/engine.hpp"
#include "homomorphic/linear_of.hpp"
#include "homomorphic/operands.hpp"

namespace homz::cuszp {

// The dimension of the blocks, which is that of all operands.
inline Result<unsigned> common_dim(const Encoding& encoding, const Plan& plan,
                                   std::span<const OpenStream> operands) {
  const Dims dims(encoding.field, plan);
  const unsigned dim = dim_of(operands[0].payload);
  if (dim < dims.first || dim > dims.last)
    return corrupt("blocks of a dimension that the field does not have");
  for (const OpenStream& each : operands)
    if (dim_of(each.payload) != dim) return corrupt("blocks of another dimension");
  return dim;
}

// A stream may have a step of its own in its parameters.
inline Result<double> step_of(const OpenStream& stream, const Plan& like) {
  HOMZ_ASSIGN(const Plan plan, unpack(stream.header.params, like.v1));
  return step_of(operands::encoding_of(stream.header), plan);
}

inline Result<double> common_step(const Plan& plan, std::span<const OpenStream> operands) {
  HOMZ_ASSIGN(const double first, step_of(operands[0], plan));
  for (const OpenStream& each : operands) {
    HOMZ_ASSIGN(const double own, step_of(each, plan));
    HOMZ_TRY(check_step(own, first));
  }
  return first;
}

// `payloads`: room for the readers; `segments`: for their segments, those of an operand after the other.
template <class Layout>
Status open_payloads(const Encoding& encoding, const Plan& plan, const Layout& layout,
                     std::span<const OpenStream> operands, PayloadReader<Layout>* payloads, Segment* segments,
                     unsigned threads) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto* const reader =
        new (payloads + i) PayloadReader<Layout>(layout, plan.mode, segments + i * segment_count(layout));
    HOMZ_TRY(reader->open(operands[i].payload, size_of(encoding.field.dtype), encoding.fill_bits.has_value(),
                          threads));
  }
  return Status();
}

}  // namespace homz::cuszp
