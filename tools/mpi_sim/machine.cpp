#include "tools/mpi_sim/machine.hpp"

#include <mpi.h>

#include <cstring>

namespace homz::mpi_sim {

Machine& machine() {
  static Machine machine;
  return machine;
}

void mark(Bytes bytes, double ranks) {
  if (real(bytes).size() >= sizeof ranks) std::memcpy(bytes.data(), &ranks, sizeof ranks);
}

double summed_in(ConstBytes bytes) {
  double ranks = 1;
  if (real(bytes).size() >= sizeof ranks) std::memcpy(&ranks, bytes.data(), sizeof ranks);
  return ranks;
}

// SMPI drops what is given in seconds where it does not simulate computation by itself.
void take(double seconds) {
  if (seconds > 0) smpi_execute_flops(seconds * kSpeed);
}

}  // namespace homz::mpi_sim
