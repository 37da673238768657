// The engine that codecs cuszp and cuszp2 share, on the host; device.hpp is the same on GPUs. It is
// deterministic, allocates nothing and gives the same bytes for any number of threads. Payload: what upstream
// would write, the exception list, the size of the former.
#pragma once

#include <cstdint>

#include "codecs/cuszp/block_math.hpp"
#include "core/codec.hpp"

namespace homz::cuszp {

// How a field is coded, as far as the field itself does not tell.
struct Plan {
  Mode mode = Mode::plain;
  unsigned dim =
      1;            // 1, 2 or 3, at most the rank of the field without unit extents; 0: whichever is smallest
  bool v1 = false;  // upstream's first layout: blocks unpadded, the last one filled up with quanta of 0
  bool never_stored = false;  // keep this layout even where it is larger than the data
};

struct Kernels;  // kernels.hpp: for blocks in a row

Result<Footprint> footprint(const Encoding& encoding, const Plan& plan, Exec exec);
Status encode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
              Bytes payload, Bytes scratch, Encoded* encoded, Exec exec);
Status decode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
              Bytes data, Bytes scratch, Exec exec);

}  // namespace homz::cuszp
