#include "tests/mpi/checks.hpp"

#include <algorithm>

#include "collectives/profile.hpp"

namespace homz::test {

int failures = 0;
int own_rank = 0, ranks = 1;

void expect(bool is_right, const std::string& what) {
  if (is_right) return;
  ++failures;
  fmt::print(stderr, "rank {} of {}: {}\n", own_rank, ranks, what);
}

void expect_ok(const Status& status, const std::string& what) {
  expect(status.ok(), what + ": " + status.message());
}

std::unique_ptr<Transport> make_transport(MPI_Comm comm) {
  auto made = mpi_transport(comm);
  expect_ok(made.status(), "transport");
  if (!made.ok()) MPI_Abort(MPI_COMM_WORLD, 1);
  return std::move(*made);
}

Communicator make_communicator(MPI_Comm comm) {
  auto made = Communicator::make(make_transport(comm), Profile::unmeasured());
  expect_ok(made.status(), "communicator");
  if (!made.ok()) MPI_Abort(MPI_COMM_WORLD, 1);
  return std::move(*made);
}

void wait_for(Transport& transport, const std::vector<Pending>& pendings) {
  while (!std::ranges::all_of(pendings, [](const Pending& p) { return p.done; })) {
    const Status status = transport.poll();
    expect_ok(status, "poll");
    if (!status.ok()) return;
    transport.yield();
  }
}

std::size_t in_count(const Case& what) {
  switch (what.collective) {
    case Collective::reduce_scatter:
    case Collective::alltoall:
      return what.count * static_cast<std::size_t>(ranks);
    case Collective::scatter:
      return own_rank == what.root ? what.count * static_cast<std::size_t>(ranks) : 0;
    default:
      return what.count;
  }
}

std::size_t out_count(const Case& what) {
  switch (what.collective) {
    case Collective::reduce:
      return own_rank == what.root ? what.count : 0;
    case Collective::allgather:
    case Collective::alltoall:
      return what.count * static_cast<std::size_t>(ranks);
    case Collective::gather:
      return own_rank == what.root ? what.count * static_cast<std::size_t>(ranks) : 0;
    default:
      return what.count;
  }
}

}  // namespace homz::test
