// The transport over MPI: Open MPI, MPICH, and others of version 3.
#pragma once

#include <mpi.h>

#include <memory>

#include "collectives/transport.hpp"

namespace homz {

// Collective: all ranks of `communicator` (no intercommunicator) call it. It is duplicated, so messages do
// not mix with the program's own; errors of MPI come back as a Status. MPI must be initialised, and not
// finalised before the transport is gone. Each communicator is used by one thread at a time;
// MPI_THREAD_SERIALIZED is enough where only one thread at a time calls MPI at all, MPI_THREAD_MULTIPLE is
// needed otherwise.
Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm communicator);

}  // namespace homz
