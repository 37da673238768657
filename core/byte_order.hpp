// Swapping the bytes of values, for data that comes from or goes to the other byte order.
#pragma once

#include <cstdint>

#include "core/field.hpp"
#include "core/memory.hpp"

namespace homz {

// Reverses the bytes of each value of the type, in place. threads = 0: one a core.
void swap_bytes(Dtype dtype, Bytes data, unsigned threads);

}  // namespace homz
