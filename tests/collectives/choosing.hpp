// What the tests of choices share: a profile of round numbers, tasks, and all there is to choose from.
#pragma once

#include <gtest/gtest.h>

#include "collectives/choose.hpp"
#include "collectives/cost.hpp"
#include "collectives/refusal.hpp"

namespace homz::test {

inline constexpr Collective kCollectives[] = {
    Collective::allreduce, Collective::reduce_scatter, Collective::reduce, Collective::allgather,
    Collective::bcast,     Collective::scatter,        Collective::gather, Collective::alltoall};
inline constexpr auto& kAlgorithms = kEveryAlgorithm;
inline constexpr auto& kSchemes = kEveryScheme;

inline Curve line(double bytes_per_second) {
  return {{{16384, 16384 / bytes_per_second}, {1 << 22, (1 << 22) / bytes_per_second}}};
}

// Codec 1 / 1.5 / 2 GB/s as in the literature's examples, one link everywhere, no overheads of ours.
inline Profile profile_with(double bytes_per_second, double latency = 10e-6) {
  Profile profile;
  profile.machine = "test";
  profile.inside = {latency, 1 / bytes_per_second, 32768};
  profile.between = profile.inside;
  profile.reduce_seconds_per_byte = 1 / 10e9;
  profile.codecs.push_back({"homcomp", line(1e9), line(1.5e9), line(2e9), line(0.9e9)});
  return profile;
}

inline Task task_of(std::uint64_t bytes, int ranks, Collective collective = Collective::allreduce) {
  Task task;
  task.collective = collective;
  task.op = reduces(collective) ? ReduceOp::sum : ReduceOp::none;
  task.count = bytes / 4;
  task.ranks = ranks;
  task.lossy = true;
  return task;
}

inline CollectiveOptions options_of(Algorithm algorithm, Scheme scheme = Scheme::automatic) {
  CollectiveOptions options;
  options.abs_error = 1e-3;
  options.algorithm = algorithm;
  options.scheme = scheme;
  return options;
}

}  // namespace homz::test
