// The transport's own collectives, as an operation. Ranks must have agreed before.
#pragma once

#include <memory>

#include "collectives/call.hpp"
#include "collectives/operation.hpp"
#include "collectives/wire.hpp"

namespace homz {

Result<std::unique_ptr<Operation>> native_operation(Wire& wire, const Call& call);

}  // namespace homz
