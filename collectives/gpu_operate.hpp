// What operate.hpp does, for values that a GPU reaches: enqueued on the stream.
#pragma once

#include "collectives/request.hpp"
#include "core/exec.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz::gpu {

Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to, CUstream_st* stream);
Status divide(Dtype dtype, Bytes values, int ranks, CUstream_st* stream);

}  // namespace homz::gpu
