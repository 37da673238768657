// Long vectors: all schemes and algorithms on 2^20 + 3 values, and a call of more than 2^31 bytes.
#include <cmath>

#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr Scheme kSchemes[] = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                               Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                               Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};
constexpr double kBound = 1e-3;

class Long : public testing::TestWithParam<int> {};

TEST_P(Long, AllreduceOfAMillionValues) {
  constexpr std::uint64_t kCount = (1 << 20) + 3;
  const int ranks = GetParam();
  std::vector<Values<float>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, kCount));
  const auto wanted = exact(inputs, ReduceOp::sum);
  Values<float> homomorphic;
  for (const Scheme scheme : kSchemes)
    for (const Algorithm algorithm : kAllreduce) {
      SCOPED_TRACE(testing::Message() << to_string(scheme) << ", " << to_string(algorithm));
      std::vector<Values<float>> results(inputs.size());
      on_ranks(ranks, [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        CollectiveOptions options;
        options.scheme = scheme;
        options.algorithm = algorithm;
        options.abs_error = scheme == Scheme::plain ? 0 : kBound;
        results[rank].resize(kCount);
        const Status status = communicator.allreduce(bytes_of(inputs[rank]), bytes_of(results[rank]),
                                                     Dtype::f32, ReduceOp::sum, options);
        ASSERT_TRUE(status.ok()) << status.message();
      });
      expect_within(results[0], wanted, scheme == Scheme::plain ? ranks * ranks * 1e-7 : kBound);
      for (const auto& result : results) EXPECT_EQ(result, results[0]);
      if (!is_homomorphic(scheme)) continue;
      if (homomorphic.empty()) homomorphic = results[0];
      EXPECT_EQ(results[0], homomorphic);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Long, testing::Range(1, 10));

// 2.2 GB a rank, in place, on two ranks.
TEST(Long, AllreduceOfMoreThanTwoGigabytes) {
  constexpr std::uint64_t kCount = 550'000'003;
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl})
    on_ranks(2, [&](Communicator& communicator) {
      Values<float> values(kCount);
      const auto at = [&](int rank, std::uint64_t i) {
        return static_cast<float>((i >> 8) % 1000 + 1) * (rank + 1);
      };
      for (std::uint64_t i = 0; i < kCount; ++i) values[i] = at(communicator.rank(), i);
      CallReport report;
      CollectiveOptions options;
      options.scheme = scheme;
      options.abs_error = scheme == Scheme::plain ? 0 : 0.01;
      options.report = &report;
      const Status status = communicator.allreduce(bytes_of(std::as_const(values)), bytes_of(values),
                                                   Dtype::f32, ReduceOp::sum, options);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(report.scheme, scheme) << report.reason;
      float worst = 0;
      for (std::uint64_t i = 0; i < kCount; ++i)
        worst = std::max(worst, std::abs(values[i] - at(0, i) - at(1, i)));
      EXPECT_LE(worst, options.abs_error);
      EXPECT_GE(report.raw_bytes, kCount * 4);
    });
}

}  // namespace
}  // namespace homz::test
