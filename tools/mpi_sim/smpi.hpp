// SMPI, set up for simulations without data.
#pragma once

#include <string>

namespace homz::mpi_sim {

// Before SMPI_init(). `allreduce`: which of its algorithms, if any.
void configure_smpi(const std::string& allreduce);
// Behind it: what messages take beside their way, and how little of them is moved indeed.
void charge_messages();

}  // namespace homz::mpi_sim
