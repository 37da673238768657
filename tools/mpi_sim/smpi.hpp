// SMPI, set up for simulations without data.
#pragma once

namespace homz::mpi_sim {

// Before SMPI_init().
void configure_smpi();
// Behind it: what messages take beside their way, and how little of them is moved indeed.
void charge_messages();

}  // namespace homz::mpi_sim
