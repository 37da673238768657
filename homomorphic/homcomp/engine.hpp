// Whole payloads of homcomp, on the host: threads take groups of chunks, results do not depend on them.
// Nothing is allocated. Arguments as in CodecArithmetic.
#pragma once

#include "codecs/homcomp/plan.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/homcomp/kernels.hpp"

namespace homz::homcomp {

Result<double> step_of(const Encoding& encoding, const Plan& plan, ConstBytes payload);

Footprint combine_footprint(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                            std::size_t operands, unsigned threads);
Status combine(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
               const Combination& combination, std::span<const OpenStream> operands, Bytes payload,
               Bytes scratch, Combined* combined, unsigned threads);

// Of two operands.
Status extremum(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, Extremum which,
                std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                unsigned threads);

Status accumulate(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                  const OpenStream& stream, ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch,
                  Combined* combined, unsigned threads);

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                        ConstBytes payload, unsigned threads);
Result<double> dot(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes a,
                   ConstBytes b, unsigned threads);

}  // namespace homz::homcomp
