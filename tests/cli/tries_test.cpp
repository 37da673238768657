// What homz-mpi-bench and homz-gpu-bench try of lists of algorithms and schemes: what can run, each once.
#include <gtest/gtest.h>

#include <set>

#include "codecs/builtin.hpp"
#include "collectives/loopback.hpp"
#include "tools/bench/calls.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

bench::Settings all_of(Collective collective) {
  bench::Settings settings;
  settings.collective = collective;
  settings.op = reduces(collective) ? ReduceOp::sum : ReduceOp::none;
  settings.bound = ErrorBound{BoundMode::relative, kBound};
  settings.algorithms.assign(kEveryAlgorithm.begin(), kEveryAlgorithm.end());
  settings.schemes.assign(kEveryScheme.begin(), kEveryScheme.end());
  return settings;
}

// On ranks that are threads, whose transport has no collectives of its own.
Task task_for(const bench::Settings& settings, int ranks, int per_node) {
  const auto transports = loopback(ranks, per_node);
  return bench::task_of(settings, *transports[0], 1000);
}

std::vector<CollectiveOptions> tried(const bench::Settings& settings, const Task& task,
                                     double bound = kBound) {
  const auto options = bench::options_to_try(settings, bound, task);
  EXPECT_TRUE(options.ok()) << options.status().message();
  return options.ok() ? *options : std::vector<CollectiveOptions>();
}

std::set<Algorithm> algorithms_of(const std::vector<CollectiveOptions>& all) {
  std::set<Algorithm> found;
  for (const CollectiveOptions& each : all) found.insert(each.algorithm);
  return found;
}

TEST(Tries, HaveTwoLevelsWhereNodesAllowThem) {
  const bench::Settings settings = all_of(Collective::allreduce);
  for (const auto& [ranks, per_node, has_levels] : {std::tuple(4, 2, true), {4, 4, false}, {4, 1, false}}) {
    const auto all = tried(settings, task_for(settings, ranks, per_node));
    EXPECT_EQ(algorithms_of(all).contains(Algorithm::two_level), has_levels) << per_node;
    EXPECT_EQ(all.size(), (has_levels ? 6 : 5) * kEveryScheme.size());
  }
}

TEST(Tries, AreWhatCanRun) {
  for (const Collective collective : {Collective::allgather, Collective::bcast, Collective::alltoall}) {
    const bench::Settings settings = all_of(collective);
    const Task task = task_for(settings, 3, 3);
    const auto all = tried(settings, task);
    EXPECT_GT(all.size(), 3u);
    for (const CollectiveOptions& each : all) {
      EXPECT_TRUE(can_run(each.algorithm, each.scheme, task)) << to_string(each.algorithm);
      EXPECT_EQ(each.abs_error, kBound);
    }
  }
  bench::Settings settings = all_of(Collective::allreduce);
  settings.options.codec = *registry().choose("zstd");  // which has no arithmetic
  for (const CollectiveOptions& each : tried(settings, task_for(settings, 3, 3)))
    EXPECT_FALSE(is_homomorphic(each.scheme));
}

TEST(Tries, OfDataWithoutARangeAreNotCompressedAndDifferent) {
  const bench::Settings settings = all_of(Collective::allreduce);
  const auto all = tried(settings, task_for(settings, 4, 2), 0);
  EXPECT_EQ(all.size(), algorithms_of(all).size());
  EXPECT_EQ(all.size(), 6u);
  for (const CollectiveOptions& each : all) EXPECT_EQ(each.scheme, Scheme::plain);
}

// What is asked for alone tells itself that it cannot.
TEST(Tries, OfListsWithNothingThatCanRunAreErrors) {
  bench::Settings settings = all_of(Collective::bcast);
  settings.algorithms = {Algorithm::bruck, Algorithm::direct};
  settings.schemes = {Scheme::automatic};
  const Task task = task_for(settings, 3, 3);
  const Status status = bench::options_to_try(settings, kBound, task).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("can do bcast"), std::string::npos) << status.message();
  settings.algorithms.pop_back();
  EXPECT_EQ(tried(settings, task).size(), 1u);
}

}  // namespace
}  // namespace homz::test
