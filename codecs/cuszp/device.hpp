// The engine of cuszp and cuszp2 on GPUs: the bytes of engine.hpp, with all buffers in device memory. Only
// enqueues work on exec.stream.
#pragma once

#include <cstdint>

#include "codecs/cuszp/engine.hpp"
#include "core/checksum.hpp"
#include "core/gpu/gpu.hpp"

namespace homz::cuszp {

#if HOMZ_CUDA
// The scratch in `needs`, and how much of it is to be 0.
void size_scratch_on_device(const Field& field, const Plan& plan, Footprint& needs);

// *encoded receives size and sums; it says kIncompressible beforehand.
Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload,
                        Bytes scratch, Encoded* encoded, Exec exec);
// *sums += those of all words of the payload.
Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data,
                        Bytes scratch, ChecksumState* sums, Exec exec);
#else
// The stream layer has refused devices by then.
inline void size_scratch_on_device(const Field&, const Plan&, Footprint&) {}
inline Status encode_on_device(const Encoding&, const Plan&, ConstBytes, Bytes, Bytes, Encoded*, Exec) {
  return gpu::ready();
}
inline Status decode_on_device(const Encoding&, const Plan&, ConstBytes, Bytes, Bytes, ChecksumState*, Exec) {
  return gpu::ready();
}
#endif

}  // namespace homz::cuszp
