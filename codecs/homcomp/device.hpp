// Whole payloads of homcomp, on the device: the same bytes as engine.hpp makes on the host. Everything is
// enqueued on exec.stream; nothing is allocated, waited for or copied to the host, so all of it can be
// captured in a graph.
#pragma once

#include "codecs/homcomp/engine.hpp"
#include "core/gpu/gpu.hpp"

namespace homz::homcomp {

#if HOMZ_CUDA
// As footprint(), with the device's scratch: at most 0.2 % of the data and 4 KiB.
Result<Footprint> device_footprint(const Encoding& encoding, const Plan& plan);

// All pointers are the device's. Data is aligned to its values (rows that begin on 16 bytes are read and
// written faster), payload, scratch and encoded to 8 bytes. Payload and scratch are as large as
// device_footprint() tells.
Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload,
                        Bytes scratch, Encoded* encoded, Exec exec);

// Payload has the size that the stream tells. Tables, groups and chunks are verified while they are decoded:
// what is wrong goes to *exec.fault, and some values may have been written by then. Damaged bytes never make
// a kernel leave the buffers. If `sums` is not null, the payload's are added to it, unless something is
// wrong.
Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data,
                        Bytes scratch, ChecksumState* sums, Exec exec);
#else
// The stream layer has refused devices by then.
inline Result<Footprint> device_footprint(const Encoding&, const Plan&) {
  return gpu::ready();
}
inline Status encode_on_device(const Encoding&, const Plan&, ConstBytes, Bytes, Bytes, Encoded*, Exec) {
  return gpu::ready();
}
inline Status decode_on_device(const Encoding&, const Plan&, ConstBytes, Bytes, Bytes, ChecksumState*, Exec) {
  return gpu::ready();
}
#endif

}  // namespace homz::homcomp
