// The operations of reductions on values.
#pragma once

#include "collectives/request.hpp"
#include "core/memory.hpp"

namespace homz {

// to[i] = left[i] op right[i]; `to` may be one of them. Average adds; divide() comes at the end. Minimum and
// maximum of a NaN and anything is a NaN. Spans of equal length, aligned to values.
void operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to);

// values[i] /= ranks
void divide(Dtype dtype, Bytes values, int ranks);

// `to` is as long, or longer.
void copy_values(ConstBytes from, Bytes to);

}  // namespace homz
