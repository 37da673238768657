// Reductions: all schemes and algorithms on any number of ranks and values keep the bound of the result, and
// give all ranks the same bits; homomorphic sums have the same bits whatever the algorithm.
#include <map>
#include <mutex>

#include "tests/collectives/ranks.hpp"

namespace homz::test {
namespace {

constexpr Scheme kSchemes[] = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                               Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                               Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};

std::vector<std::uint64_t> counts_for(int ranks) {
  const auto n = static_cast<std::uint64_t>(ranks);
  return {0, 1, n - 1, n, n + 1, 31, 32, 33, 10007};
}

// Rounding of uncompressed sums, which no bound was promised for.
double plain_bound(int ranks) {
  return ranks * ranks * 1e-7;
}

template <class T>
struct Gathered {
  std::mutex guard;
  std::map<int, Values<T>> of_rank;
  void put(int rank, Values<T> values) {
    const std::lock_guard lock(guard);
    of_rank[rank] = std::move(values);
  }
};

template <class T>
Values<T> allreduce_all(int ranks, std::uint64_t count, ReduceOp op, const CollectiveOptions& options,
                        bool in_place = false) {
  std::vector<Values<T>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<T>(r, count));
  Gathered<T> results;
  on_ranks(ranks, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    Values<T> in = inputs[static_cast<std::size_t>(rank)], out(in_place ? 0 : count);
    const Status status = communicator.allreduce(
        bytes_of(std::as_const(in)), in_place ? bytes_of(in) : bytes_of(out), dtype_of<T>(), op, options);
    EXPECT_TRUE(status.ok()) << status.message();
    results.put(rank, in_place ? in : out);
  });
  const auto wanted = exact(inputs, op);
  const bool is_plain = options.scheme == Scheme::plain;
  for (const auto& [rank, values] : results.of_rank) {
    expect_within(values, wanted, is_plain ? plain_bound(ranks) : options.abs_error);
    EXPECT_EQ(values, results.of_rank[0]) << "rank " << rank;
  }
  return results.of_rank[0];
}

CollectiveOptions with(Algorithm algorithm, Scheme scheme, double bound = 1e-3) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = scheme == Scheme::plain ? 0 : bound;
  options.timeout_seconds = 60;
  options.piece_values = 4096;
  return options;
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, AllreduceOfAnyCount) {
  for (const std::uint64_t count : counts_for(GetParam())) {
    Values<float> homomorphic;
    for (const Algorithm algorithm : kAllreduce)
      for (const Scheme scheme : kSchemes) {
        SCOPED_TRACE(testing::Message()
                     << count << " values, " << to_string(algorithm) << ", " << to_string(scheme));
        const auto values = allreduce_all<float>(GetParam(), count, ReduceOp::sum, with(algorithm, scheme));
        if (!is_homomorphic(scheme)) continue;
        if (homomorphic.empty()) homomorphic = values;
        EXPECT_EQ(values, homomorphic);
      }
  }
}

TEST_P(Ranks, AllreduceOfAnyOperation) {
  for (const ReduceOp op : {ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod})
    for (const Algorithm algorithm : kAllreduce)
      for (const Scheme scheme : kSchemes) {
        const bool is_sum_only = scheme == Scheme::homcomp_fused && op != ReduceOp::average;
        if (is_homomorphic(scheme) && (op == ReduceOp::prod || is_sum_only)) continue;
        SCOPED_TRACE(testing::Message()
                     << to_string(op) << ", " << to_string(algorithm) << ", " << to_string(scheme));
        allreduce_all<float>(GetParam(), 5003, op, with(algorithm, scheme));
        allreduce_all<double>(GetParam(), 1003, op, with(algorithm, scheme, 1e-5), true);
      }
}

INSTANTIATE_TEST_SUITE_P(Loopback, Ranks, testing::Range(1, 10));

}  // namespace
}  // namespace homz::test
