// What operate.hpp does, for values that a GPU reaches: enqueued on the stream.
#pragma once

#include <cstdint>

#include "collectives/request.hpp"
#include "core/exec.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz::gpu {

Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to, CUstream_st* stream);
Status divide(Dtype dtype, Bytes values, int ranks, CUstream_st* stream);

// The bits of the largest magnitude of all finite values, as an integer of 64 bits; 0 if there are none.
// *bits is memory of the GPU.
Status largest_magnitude(Dtype dtype, ConstBytes values, std::uint64_t* bits, CUstream_st* stream);

}  // namespace homz::gpu
