// The range of values in device memory.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error_bound.hpp"
#include "core/exec.hpp"

namespace homz::gpu {

// Enqueues the search; *range, in memory that the device can write, receives the result.
Status enqueue_value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                           ValueRange* range, Exec exec);

// The same, with the result on the host: allocates a few bytes for a moment and waits for exec.stream.
Result<ValueRange> value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                               Exec exec);

}  // namespace homz::gpu
