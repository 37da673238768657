// Counting quanta on the device, for numbers that are completed on the host: device_numbers.hpp.
#pragma once

#include "codecs/homcomp/plan.hpp"
#include "core/buffer.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/tally.hpp"

namespace homz::homcomp {

// What there is to know of payloads.
template <class Counted>
struct Reduced {
  Counted counted;       // of the chunks in which all values are quanta or fill
  Buffer left;           // a mark a chunk, not 0 for the others; empty if there are no others
  double steps[2] = {};  // of the payloads
};

#if HOMZ_CUDA
// Payloads are in device memory, aligned to 8 bytes; they are verified (error: corrupt_stream). Takes memory
// of the GPU: 16 bytes a chunk of each payload, and one more. Waits for exec.stream.
Result<Reduced<QuantaTally>> count_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload,
                                             Exec exec);
Result<Reduced<QuantaProducts>> multiply_on_device(const Encoding& encoding, const Plan& plan,
                                                   const ConstBytes (&payloads)[2], Exec exec);
#else
// Devices have been refused by then.
inline Result<Reduced<QuantaTally>> count_on_device(const Encoding&, const Plan&, ConstBytes, Exec) {
  return gpu::ready();
}
inline Result<Reduced<QuantaProducts>> multiply_on_device(const Encoding&, const Plan&,
                                                          const ConstBytes (&)[2], Exec) {
  return gpu::ready();
}
#endif

}  // namespace homz::homcomp
