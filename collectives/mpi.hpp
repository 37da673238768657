// The transport over MPI: Open MPI, MPICH, and others of version 3.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/transport.hpp"

namespace homz {

// Collective: all ranks of `communicator` (no intercommunicator) call it. It is duplicated, so messages do
// not mix with the program's own; errors of MPI come back as a Status, with MPI's code and text (in MPICH,
// those found while messages are awaited first meet MPI_COMM_WORLD's handler of errors, which by default ends
// the program). MPI must be initialised, and not finalised before the transport is gone; all ranks destroy it
// (MPI_Comm_free).
//
// Each communicator is used by one thread at a time. MPI_THREAD_FUNNELED is enough where that is the thread
// that initialised MPI, MPI_THREAD_SERIALIZED where only one thread at a time calls MPI at all; else
// MPI_THREAD_MULTIPLE is needed. Threads that code (CollectiveOptions::threads) do not call MPI.
//
// Memory of GPUs is MPI's to move where MPI says that it takes it (Open MPI, MPICH from 4.0 on); elsewhere
// what is sent goes through pinned memory of the host. HOMZ_MPI_CUDA overrides that: 1 for an MPI that takes
// it, but cannot tell, 0 for pinned memory. If one rank says no, all do so. Many an MPI wants the GPU to be
// chosen before MPI_Init.
//
// What is given up: receives are cancelled at once. Sends stay under way until MPI is done with them, at
// worst for ever; what owns their bytes is kept as long.
Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm communicator);

}  // namespace homz
