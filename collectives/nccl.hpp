// The transport over NCCL.
#pragma once

#include <memory>

#include "collectives/transport.hpp"

struct ncclComm;

namespace homz {

// Messages of the host go through `control`. Those of GPUs go through it, too, if it is a transport of GPUs
// (peer.hpp); else by ncclSend and ncclRecv, also where MPI would take memory of GPUs: it may wait for a GPU
// that NCCL occupies, while other ranks wait for it. Uncompressed collectives on values of GPUs are NCCL's
// own. Called by all ranks, each with a GPU of its own as the current one.
//
// `communicator`: the application's, of the same ranks in the same order, for NCCL's own collectives, which
// are enqueued on the streams of their calls; it must outlive the transport. nullptr: one is made. After an
// error renew() gives up what is enqueued on the latter, and the transport goes on with a new one; an
// application's is for the application to abort.
//
// A message that is waited for occupies some multiprocessors of the GPU until its sender comes. What waits
// for the whole GPU meanwhile, on two ranks at once, waits for ever: freeing memory, and the first launch of
// a kernel if it has yet to be loaded. Set CUDA_MODULE_LOADING=EAGER in programs that call others' kernels
// between start_allreduce() and wait().
Result<std::unique_ptr<Transport>> nccl_transport(std::unique_ptr<Transport> control,
                                                  ncclComm* communicator = nullptr);

}  // namespace homz
