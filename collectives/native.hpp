// The transport's own collectives, as an operation. Ranks must have agreed before.
#pragma once

#include <memory>

#include "collectives/running.hpp"

namespace homz {

// Begins when the calls before it are done: it blocks, and other ranks may wait for those first.
Result<std::unique_ptr<Operation>> native_operation(Office& office, const Running& run);

}  // namespace homz
