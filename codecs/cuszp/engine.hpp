// The engine that codecs cuszp and cuszp2 share, on the host; device.hpp is the same on GPUs. It is
// deterministic, allocates nothing and gives the same bytes for any number of threads. Payload: what upstream
// would write, the exception list, the size of the former.
#pragma once

#include <cstdint>

#include "codecs/cuszp/plan.hpp"

namespace homz::cuszp {

struct Kernels;  // kernels.hpp: for blocks in a row

Result<Footprint> footprint(const Encoding& encoding, const Plan& plan, Exec exec);
Status encode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
              Bytes payload, Bytes scratch, Encoded* encoded, Exec exec);
Status decode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
              Bytes data, Bytes scratch, Exec exec);

}  // namespace homz::cuszp
