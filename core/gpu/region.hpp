// Regions of fields in memory that the GPU reaches.
#pragma once

#include "core/exec.hpp"
#include "core/region.hpp"

namespace homz::gpu {

// As copy_region() of core/region.hpp, enqueued on exec.stream. Error: invalid_argument, where a buffer is
// not aligned to its values.
Status copy_region(const Region& region, const Field& field, ConstBytes data, Bytes part, Exec exec);

}  // namespace homz::gpu
