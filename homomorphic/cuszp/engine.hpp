// Whole payloads of cuszp and cuszp2, on the host: threads take segments of blocks, results do not depend on
// them. Nothing is allocated but by moments and dot. Arguments as in CodecArithmetic.
#pragma once

#include "codecs/cuszp/engine.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz::cuszp {

// The dimension of a payload's blocks; 0 if it is too short to tell.
unsigned dim_of(ConstBytes payload);

// Refuses steps that are no normal numbers: what is restored is then no product of quantum and step.
Result<double> step_of(const Encoding& encoding, const Plan& plan);
// Of what is computed from streams with this step.
double scaled_step(const Encoding& encoding, double step, double scale);

Footprint combine_footprint(const Encoding& encoding, const Plan& plan, std::size_t operands,
                            unsigned threads);
Status combine(const Encoding& encoding, const Plan& plan, const Combination& combination,
               std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
               unsigned threads);

// Of two operands.
Status extremum(const Encoding& encoding, const Plan& plan, Extremum which,
                std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                unsigned threads);

Status accumulate(const Encoding& encoding, const Plan& plan, const OpenStream& stream, ConstBytes data,
                  Bytes payload, Bytes decoded, Bytes scratch, Combined* combined, unsigned threads);

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const OpenStream& stream,
                        unsigned threads);
Result<double> dot(const Encoding& encoding, const Plan& plan, std::span<const OpenStream> operands,
                   unsigned threads);

}  // namespace homz::cuszp
