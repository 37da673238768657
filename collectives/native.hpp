// The transport's own collectives, as an operation. Ranks must have agreed before.
#pragma once

#include <memory>

#include "collectives/running.hpp"

namespace homz {

// Done when the calls before it are, on this rank: a transport's own blocks, and other ranks may wait for
// those first. In front of the agreement, so that they are done on all ranks.
std::unique_ptr<Operation> behind_others(Office& office, std::uint32_t sequence);

// has_agreed: messages of an agreement came before.
Status run_native(Wire& wire, const Call& call, const CallSignature& signature, bool has_agreed);

Result<std::unique_ptr<Operation>> native_operation(Office& office, const Running& run);

}  // namespace homz
