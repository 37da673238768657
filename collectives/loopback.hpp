// Ranks that are threads of one process: for tests, and for programs that want several ranks without MPI.
#pragma once

#include <memory>
#include <vector>

#include "collectives/transport.hpp"

namespace homz {

// A transport for each of `ranks` ranks, each to be used by a thread of its own. Sent bytes are copied at
// once.
std::vector<std::unique_ptr<Transport>> loopback(int ranks, int ranks_per_node = 1);

}  // namespace homz
