// One size: all combinations that were asked for and the uncompressed call, interleaved.
#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "tools/mpi_bench/settings.hpp"

namespace homz::mpi_bench {

struct Point {
  std::uint64_t size_bytes = 0;
  int ranks = 0;
  CallReport report;  // of this rank
  Algorithm asked_algorithm = Algorithm::automatic;
  Scheme asked_scheme = Scheme::automatic;
  double seconds = 0, least_seconds = 0, most_seconds = 0;
  double plain_seconds = 0;
  std::string plain;  // which algorithm that was
  double algbw_gbps = 0, busbw_gbps = 0;
  double wire_bytes_per_rank = 0, ratio = 1;  // the rank that sends most; all ranks
  double max_error = 0, bound = 0;
  bool identical = true;
  bool keeps_bound() const { return bound == 0 || max_error <= bound; }
};

// On all ranks; the points are complete on all. `transport` has MPI's own collectives.
Result<std::vector<Point>> measure(Communicator& communicator, Transport& transport, const Settings& settings,
                                   std::uint64_t size);

}  // namespace homz::mpi_bench
