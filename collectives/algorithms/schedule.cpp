// The table of algorithms.
#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <numeric>

#include "collectives/algorithms/algorithms.hpp"

namespace homz {

std::vector<PartId> range_of_parts(PartId first, PartId last) {
  std::vector<PartId> parts(last - first);
  std::iota(parts.begin(), parts.end(), first);
  return parts;
}

void append(Schedule& to, Schedule more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

namespace {

Schedule then(Schedule first, Schedule second) {
  append(first, std::move(second));
  return first;
}

using Make = Schedule (*)(Place);

struct Row {
  Collective collective;
  Algorithm algorithm;
  Make make;
};

Schedule ring_allreduce(Place p) {
  return then(ring_reduce_scatter(p), ring_allgather(p));
}
Schedule ring_reduce(Place p) {
  return then(ring_reduce_scatter(p), direct_gather(p));
}
// The root has all parts: the rank before it in the ring sends it none.
Schedule ring_bcast(Place p) {
  Schedule round = ring_allgather(p);
  std::erase_if(round,
                [&](const Transfer& t) { return is_send(t.kind) ? t.peer == p.root : p.rank == p.root; });
  return then(binomial_scatter(p), std::move(round));
}
Schedule direct_allreduce(Place p) {
  return then(direct_reduce_scatter(p), direct_allgather(p));
}
Schedule direct_reduce(Place p) {
  return then(direct_reduce_scatter(p), direct_gather(p));
}
Schedule halving_reduce(Place p) {
  return then(halving_reduce_scatter(p), binomial_gather(p));
}
Schedule binomial_allreduce(Place p) {
  return then(binomial_reduce(p), binomial_bcast(p));
}

constexpr Row kRows[] = {
    {Collective::allreduce, Algorithm::ring, ring_allreduce},
    {Collective::allreduce, Algorithm::recursive_doubling, doubling_allreduce},
    {Collective::allreduce, Algorithm::rabenseifner, halving_allreduce},
    {Collective::allreduce, Algorithm::direct, direct_allreduce},
    {Collective::allreduce, Algorithm::binomial, binomial_allreduce},
    {Collective::reduce_scatter, Algorithm::ring, ring_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::rabenseifner, halving_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::direct, direct_reduce_scatter},
    {Collective::reduce, Algorithm::ring, ring_reduce},
    {Collective::reduce, Algorithm::rabenseifner, halving_reduce},
    {Collective::reduce, Algorithm::direct, direct_reduce},
    {Collective::reduce, Algorithm::binomial, binomial_reduce},
    {Collective::allgather, Algorithm::ring, ring_allgather},
    {Collective::allgather, Algorithm::recursive_doubling, doubling_allgather},
    {Collective::allgather, Algorithm::direct, direct_allgather},
    {Collective::allgather, Algorithm::bruck, bruck_allgather},
    {Collective::bcast, Algorithm::ring, ring_bcast},
    {Collective::bcast, Algorithm::binomial, binomial_bcast},
    {Collective::scatter, Algorithm::direct, direct_scatter},
    {Collective::scatter, Algorithm::binomial, binomial_scatter},
    {Collective::gather, Algorithm::direct, direct_gather},
    {Collective::gather, Algorithm::binomial, binomial_gather},
    {Collective::alltoall, Algorithm::direct, direct_alltoall},
    {Collective::alltoall, Algorithm::bruck, bruck_alltoall},
};

// Of the algorithms on 1 part.
bool moves_the_whole(Collective collective, Algorithm algorithm) {
  return algorithm == Algorithm::recursive_doubling
             ? collective == Collective::allreduce
             : algorithm == Algorithm::binomial && collective != Collective::scatter &&
                   collective != Collective::gather;
}

}  // namespace

std::uint32_t parts_of(Collective collective, Algorithm algorithm, int ranks) {
  const auto n = static_cast<std::uint32_t>(ranks);
  if (collective == Collective::alltoall) return n * n;
  return moves_the_whole(collective, algorithm) ? 1 : n;
}

Result<Schedule> schedule_of(Collective collective, Algorithm algorithm, Place place) {
  if (place.size == 1) return Schedule{};
  for (const Row& row : kRows)
    if (row.collective == collective && row.algorithm == algorithm) {
      if (collective == Collective::allgather && algorithm == Algorithm::recursive_doubling &&
          !std::has_single_bit(static_cast<unsigned>(place.size)))
        break;
      return row.make(place);
    }
  return Status(Code::unsupported,
                fmt::format("{} with algorithm {} and {} ranks: choose another algorithm, or auto",
                            to_string(collective), to_string(algorithm), place.size));
}

}  // namespace homz
