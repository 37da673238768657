// Payloads that are computed from payloads of homcomp on the device: the same bytes as engine.hpp makes on
// the host. Everything is enqueued on exec.stream; nothing is allocated, waited for or copied to the host, so
// all of it can be captured in a graph.
#pragma once

#include "codecs/homcomp/plan.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz::homcomp {

#if HOMZ_CUDA
// Scratch: 40 bytes a chunk of the result, 24 a chunk of each operand, and up to 116 KiB for each chunk that
// the device works on at once.
Result<Footprint> combine_footprint_on_device(const Encoding& encoding, const Plan& plan,
                                              std::size_t operands);

// All pointers are the device's; payloads and scratch are aligned to 8 bytes. Steps are compared, operands
// verified, and what is wrong goes to *exec.fault, if there is one; then the payload is of no use. Damaged
// bytes never make a kernel leave the buffers.
Status combine_on_device(const Encoding& encoding, const Plan& plan, const Combination& combination,
                         std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                         Combined* combined, Exec exec);

// The stream plus values, as engine.hpp's. Scratch: for one operand.
Status accumulate_on_device(const Encoding& encoding, const Plan& plan, const OpenStream& stream,
                            ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch, Combined* combined,
                            Exec exec);

// Of two operands, as engine.hpp's. Scratch: for these.
Status extremum_on_device(const Encoding& encoding, const Plan& plan, Extremum which,
                          std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                          Combined* combined, Exec exec);
#else
// The stream layer has refused devices by then.
inline Result<Footprint> combine_footprint_on_device(const Encoding&, const Plan&, std::size_t) {
  return gpu::ready();
}
inline Status combine_on_device(const Encoding&, const Plan&, const Combination&, std::span<const OpenStream>,
                                Bytes, Bytes, Combined*, Exec) {
  return gpu::ready();
}
inline Status accumulate_on_device(const Encoding&, const Plan&, const OpenStream&, ConstBytes, Bytes, Bytes,
                                   Bytes, Combined*, Exec) {
  return gpu::ready();
}
inline Status extremum_on_device(const Encoding&, const Plan&, Extremum, std::span<const OpenStream>, Bytes,
                                 Bytes, Combined*, Exec) {
  return gpu::ready();
}
#endif

}  // namespace homz::homcomp
