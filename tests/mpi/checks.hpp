// What the tests under mpirun share: checks that count failures, and collectives as data, with the results
// that they should have, computed by every rank for itself.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi.hpp"

namespace homz::test {

extern int failures;
extern int own_rank, ranks;  // of MPI_COMM_WORLD

void expect(bool is_right, const std::string& what);
void expect_ok(const Status& status, const std::string& what);
// Ends the program where there is nothing to go on with.
std::unique_ptr<Transport> make_transport(MPI_Comm comm = MPI_COMM_WORLD);
Communicator make_communicator(MPI_Comm comm = MPI_COMM_WORLD);
void wait_for(Transport& transport, const std::vector<Pending>& pendings);

// The parts of the test.
void transport_tests();
void device_tests();
void native_tests();
void collective_tests();

template <class T>
ConstBytes bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
Bytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Different on every rank.
template <class T>
std::vector<T> data_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(std::sin(0.01 * static_cast<double>(i) + rank));
  return values;
}

inline constexpr Collective kCollectives[] = {
    Collective::allreduce, Collective::reduce_scatter, Collective::reduce, Collective::allgather,
    Collective::bcast,     Collective::scatter,        Collective::gather, Collective::alltoall};

struct Case {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;  // of a rank's block; of allreduce, reduce and bcast: of the whole
  int root = 0;
};
std::size_t in_count(const Case& what);  // on this rank
std::size_t out_count(const Case& what);

// What this rank should get of data_of<T>(): value i of its result.
template <class T>
std::vector<long double> expected(const Case& what) {
  const std::size_t all = what.count * static_cast<std::size_t>(ranks);
  const std::size_t own = what.count * static_cast<std::size_t>(own_rank);
  std::vector<std::vector<T>> data;
  for (int r = 0; r < ranks; ++r) data.push_back(data_of<T>(r, all));
  const auto reduced = [&](std::size_t i) {
    long double x = data[0][i];
    for (std::size_t r = 1; r < data.size(); ++r) {
      const long double y = data[r][i];
      x = what.op == ReduceOp::min    ? std::min(x, y)
          : what.op == ReduceOp::max  ? std::max(x, y)
          : what.op == ReduceOp::prod ? x * y
                                      : x + y;
    }
    return what.op == ReduceOp::average ? x / ranks : x;
  };
  const auto& of_root = data[static_cast<std::size_t>(what.root)];
  std::vector<long double> values(out_count(what));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t block = i / what.count, within = i % what.count;
    switch (what.collective) {
      case Collective::allreduce:
      case Collective::reduce:
        values[i] = reduced(i);
        break;
      case Collective::reduce_scatter:
        values[i] = reduced(own + i);
        break;
      case Collective::bcast:
        values[i] = of_root[i];
        break;
      case Collective::scatter:
        values[i] = of_root[own + i];
        break;
      case Collective::alltoall:
        values[i] = data[block][own + within];
        break;
      default:  // allgather, gather
        values[i] = data[block][within];
    }
  }
  return values;
}

// Infinite where a value is no number.
template <class T>
double largest_difference(const std::vector<T>& values, const std::vector<long double>& wanted) {
  long double largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const long double difference = std::abs(values[i] - wanted[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return std::isnan(largest) ? HUGE_VAL : static_cast<double>(largest);
}

}  // namespace homz::test
