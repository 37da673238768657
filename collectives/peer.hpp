// Messages between GPUs of one host, from memory to memory: over NVLink or PCIe, whatever the GPUs have
// between them.
#pragma once

#include <memory>

#include "collectives/transport.hpp"

namespace homz {

// Messages of the host go through `control`, those of GPUs are copied by the GPU that receives: ranks of one
// process by their addresses, processes of one host by CUDA's handles of memory (IPC). Called by all ranks,
// each with its GPU as the current one; several ranks may have the same GPU. Errors: unsupported, on all
// ranks, where GPUs do not reach each other, ranks are on several hosts, or homz was built without CUDA.
Result<std::unique_ptr<Transport>> peer_transport(std::unique_ptr<Transport> control);

}  // namespace homz
