// Collectives on buffers of GPUs over a transport, against the same calls on the host.
#pragma once

#include <vector>

#include "tests/collectives/requests.hpp"
#include "tests/gpu/transports.hpp"

namespace homz::test {

// The same bits, and as many bytes on the way.
void check_as_on_host(const MakeTransport& make, int ranks, const std::vector<Request>& requests);

}  // namespace homz::test
