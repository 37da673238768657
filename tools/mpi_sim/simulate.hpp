// A cluster of the profile's links, and calls on it, one after another.
#pragma once

#include "tools/mpi_sim/settings.hpp"

namespace homz::mpi_sim {

struct Point {
  std::uint64_t size_bytes = 0;
  Algorithm algorithm = Algorithm::native;
  Scheme scheme = Scheme::plain;
  double seconds = 0;                    // simulated, until the last rank is done
  double expected = 0;                   // by the cost model
  double wire_bytes = 0;                 // of the rank that sends most, frames included
  double raw_bytes = 0, sent_bytes = 0;  // of all ranks
  double encode_seconds = 0, combine_seconds = 0, decode_seconds = 0;  // of the busiest rank
};

// All sizes, algorithms and schemes that go together. `engine` exists (simgrid::s4u::Engine).
Result<std::vector<Point>> simulate(const Settings& settings);

}  // namespace homz::mpi_sim
