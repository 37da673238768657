// Whole payloads of homcomp, on the host: threads take groups of chunks, the bytes do not depend on them.
// Nothing is allocated.
#pragma once

#include <cstdint>

#include "codecs/homcomp/kernels.hpp"
#include "codecs/homcomp/plan.hpp"
#include "core/codec.hpp"
#include "core/region.hpp"

namespace homz::homcomp {

// Where a step is given that the field's type cannot hold: invalid_argument.
Result<Footprint> footprint(const Encoding& encoding, const Plan& plan, unsigned threads);
Status encode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes data,
              Bytes payload, Bytes scratch, Encoded* encoded, unsigned threads);
// *sums, if there are any, += those of the payload's words.
Status decode(const Encoding& encoding, const Plan& plan, const Kernels& kernels, ConstBytes payload,
              Bytes data, ChecksumState* sums, unsigned threads);
// Touches the tables and the groups of chunks that have a part in the region, and verifies their checksums.
Status decode_region(const Encoding& encoding, const Plan& plan, const Kernels& kernels, const Region& region,
                     ConstBytes payload, Bytes data, unsigned threads);

}  // namespace homz::homcomp
