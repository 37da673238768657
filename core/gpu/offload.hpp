// The whole job on the GPU for data in host memory: taken there and back through pinned memory, piece by
// piece, so that copies of the host and of the GPU overlap.
#pragma once

#include <cstdint>

#include "core/compress.hpp"

namespace homz::gpu {

// As compress_resolved and decompress of core/compress.hpp. Data, stream and scratch must fit in the GPU's
// memory together (errors: out_of_memory, which tells what to do, and unsupported without a GPU).
Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data);
Result<Decompressed> decompress(const Registry& registry, ConstBytes stream,
                                std::uint64_t max_bytes = UINT64_MAX);

}  // namespace homz::gpu
