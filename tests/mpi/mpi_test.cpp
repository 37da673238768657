// The transport over MPI, and collectives on it. Run under mpirun; exits with the number of failures.
#include <mpi.h>

#include <algorithm>

#include "tests/mpi/checks.hpp"

namespace homz::test {
namespace {

void transports_need_mpi(const char* what) {
  const Status status = mpi_transport(MPI_COMM_WORLD).status();
  expect(status.code() == Code::invalid_argument && status.message().starts_with(what), status.message());
}

}  // namespace
}  // namespace homz::test

int main(int argc, char** argv) {
  using namespace homz::test;
  transports_need_mpi("MPI is not initialised");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  transport_tests();
  device_tests();
  native_tests();
  collective_tests();
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  const int before = failures;
  transports_need_mpi("MPI is finalised");
  return std::min(all + failures - before, 100);
}
