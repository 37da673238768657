#include "tools/mpi_sim/machine.hpp"

#include <cstring>
#include <simgrid/s4u.hpp>

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

// Each rank has a processor of its own: to compute is to let time pass. (SMPI drops what is given in seconds
// where it does not simulate computation by itself, and each of its executions of operations makes the next
// one slower.)
void take(double seconds) {
  if (seconds > kLeastSeconds) simgrid::s4u::this_actor::sleep_for(seconds);
}

}  // namespace homz::mpi_sim
