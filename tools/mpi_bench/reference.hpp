// What results should be, by MPI in more digits than the data have.
#pragma once

#include <mpi.h>

#include <vector>

#include "core/memory.hpp"
#include "core/status.hpp"
#include "tools/mpi_bench/settings.hpp"

namespace homz::mpi_bench {

// The buffers of one point.
struct Buffers {
  std::vector<std::byte> in, out;
};
// For `size` bytes as the settings count them, rounded up to whole values on every rank; *count gets the
// values that the native collective counts.
Buffers make_buffers(const Settings& settings, std::uint64_t size, std::uint64_t* count);

struct Range {
  double min, max;
};
// Of the result over all ranks; of reductions in long double.
Range range_of_result(const Settings& settings, const Buffers& buffers);

// Largest difference of the results to it, over all ranks. `moved`: what the uncompressed collective gave.
double largest_error(const Settings& settings, const Buffers& buffers, const std::vector<std::byte>& moved);

// Whether all ranks that have the result have the same bits.
bool is_identical(const Settings& settings, const std::vector<std::byte>& out);

}  // namespace homz::mpi_bench
