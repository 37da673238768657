// The data of a rank: like those of the others, but not the same.
#pragma once

#include "core/memory.hpp"
#include "tools/mpi_bench/settings.hpp"

namespace homz::mpi_bench {

// Fills `out` with values of the settings' type and kind. Errors: of the file.
Status fill(const Settings& settings, int rank, Bytes out);

}  // namespace homz::mpi_bench
