// One size: all combinations that were asked for and the uncompressed call, interleaved.
#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "tools/bench/point.hpp"
#include "tools/mpi_bench/settings.hpp"

namespace homz::mpi_bench {

using bench::Point;

// On all ranks; the points are complete on all. `transport` has MPI's own collectives.
Result<std::vector<Point>> measure(Communicator& communicator, Transport& transport, const Settings& settings,
                                   std::uint64_t size);

}  // namespace homz::mpi_bench
