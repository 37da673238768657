// Plans: calls that are made again and again give what allreduce gives, whatever the data become, behind
// errors and among other calls.
#include <algorithm>
#include <barrier>
#include <numeric>

#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;
constexpr std::uint64_t kCount = 20011;
constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                     Algorithm::direct, Algorithm::binomial};

// Values of a rank that change from call to call, in magnitude too.
Values<float> changing(int rank, int call) {
  Values<float> values = rank_data<float>(rank + 10 * call, kCount);
  for (float& x : values) x *= static_cast<float>(1 + 3 * call);
  return values;
}

class Plans : public testing::TestWithParam<Scheme> {};

TEST_P(Plans, GiveWhatAllreduceGives) {
  const Watchdog watchdog(100);
  for (const Algorithm algorithm :
       {Algorithm::automatic, Algorithm::recursive_doubling, Algorithm::two_level})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average})
      on_ranks(
          4,
          [&](Communicator& communicator) {
            CallReport report;
            CollectiveOptions options = options_of(algorithm, GetParam());
            options.piece_values = 3000;
            Values<float> in = changing(communicator.rank(), 0), out(kCount), wanted(kCount);
            CollectiveOptions reported = options;
            reported.report = &report;
            auto plan = communicator.plan_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, op, reported);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            EXPECT_FALSE(plan->reason().empty());
            options.algorithm = plan->algorithm();
            options.scheme = plan->scheme();
            for (int call = 0; call < 4; ++call) {
              std::ranges::copy(changing(communicator.rank(), call), in.begin());
              Status status = communicator.allreduce(bytes_of(std::as_const(in)), bytes_of(wanted),
                                                     Dtype::f32, op, options);
              ASSERT_TRUE(status.ok()) << status.message();
              auto started = plan->start();
              ASSERT_TRUE(started.ok()) << started.status().message();
              status = started->wait();
              ASSERT_TRUE(status.ok()) << status.message();
              EXPECT_EQ(out, wanted) << "call " << call << ", " << to_string(plan->algorithm());
              EXPECT_EQ(report.scheme, plan->scheme());
              EXPECT_EQ(report.algorithm, plan->algorithm());
              std::vector<Values<float>> inputs;
              for (int r = 0; r < 4; ++r) inputs.push_back(changing(r, call));
              expect_within(out, exact(inputs, op), options.abs_error > 0 ? kBound : 1e-4);
            }
          },
          2);
}

INSTANTIATE_TEST_SUITE_P(Schemes, Plans, testing::ValuesIn(kAllSchemes), scheme_name);

// Data that the bound is too close for run uncompressed, and what comes behind compressed again.
TEST(Plan, OfDataThatOutgrowTheBound) {
  const Watchdog watchdog(100);
  on_ranks(3, [&](Communicator& communicator) {
    CallReport report;
    CollectiveOptions options = options_of(Algorithm::ring, Scheme::hzccl);
    options.report = &report;
    Values<float> in(100, 1), out(100);
    auto plan = communicator.plan_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (const float value : {1.0f, 1e6f, 2.0f}) {
      std::ranges::fill(in, value);
      auto started = plan->start();
      ASSERT_TRUE(started.ok()) << started.status().message();
      const Status status = started->wait();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(report.scheme, value > 1e3f ? Scheme::plain : Scheme::hzccl) << report.reason;
      EXPECT_NEAR(out[50], 3 * value, kBound);
    }
  });
}

TEST(Plan, IsNotStartedWhileItIsUnderWay) {
  const Watchdog watchdog(100);
  on_ranks(2, [&](Communicator& communicator) {
    Values<float> in(1000, 1), out(1000);
    auto plan = communicator.plan_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (int i = 0; i < 2; ++i) {
      auto started = plan->start();
      ASSERT_TRUE(started.ok()) << started.status().message();
      ASSERT_TRUE(started->wait().ok());
    }
    auto first = plan->start();
    ASSERT_TRUE(first.ok()) << first.status().message();
    const Status again = plan->start().status();
    EXPECT_EQ(again.code(), Code::invalid_argument);
    EXPECT_NE(again.message().find("is under way"), std::string::npos) << again.message();
  });
}

// Ranks that plan, that start a call and that make one do not wait for each other.
TEST(Plan, IsAnotherCallThanThoseOfOtherRanks) {
  const Watchdog watchdog(100);
  for (const Scheme scheme : {Scheme::automatic, Scheme::plain, Scheme::homcomp_fused})
    for (const int odd : {0, 1, 2})  // rank 0: a plan, a start, a call; the others: the next of these
      on_ranks(3, [&](Communicator& communicator) {
        Values<float> in = changing(communicator.rank(), 1), out(kCount);
        const CollectiveOptions options = options_of(Algorithm::automatic, scheme);
        const auto started = [](auto&& start) { return start.ok() ? start->wait() : start.status(); };
        const int way = communicator.rank() == 0 ? odd : (odd + 1) % 3;
        Status status;
        if (way == 0) {
          auto plan =
              communicator.plan_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options);
          status = plan.ok() ? started(plan->start()) : plan.status();
        } else if (way == 1) {
          status = started(
              communicator.start_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options));
        } else {
          status = communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options);
        }
        EXPECT_NE(status.message().find("ranks disagree"), std::string::npos) << status.message();
      });
}

// Refused after an error of another call, and as before once all ranks have renewed.
TEST(Plan, OutlivesAnErrorAndRenew) {
  const Watchdog watchdog(100);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::two_level})
    for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
      std::barrier<> all(4);
      on_ranks(
          4,
          [&](Communicator& communicator) {
            Values<float> in = changing(communicator.rank(), 1), out(kCount), other(10, 1);
            auto plan = communicator.plan_allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum,
                                                    options_of(algorithm, scheme));
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            const auto run = [&] {
              auto started = plan->start();
              return started.ok() ? started->wait() : started.status();
            };
            ASSERT_TRUE(run().ok());
            const Values<float> wanted = out;
            // Rank 2 starts the plan while others call something else; then all do.
            const Status failed =
                communicator.rank() == 2
                    ? run()
                    : communicator.allreduce(bytes_of(std::as_const(other)), bytes_of(other), Dtype::f32,
                                             ReduceOp::sum, {});
            EXPECT_EQ(failed.code(), Code::invalid_argument) << failed.message();
            const Status refused = run();
            EXPECT_NE(refused.message().find("renew"), std::string::npos) << refused.message();
            all.arrive_and_wait();
            ASSERT_TRUE(communicator.renew().ok());
            std::ranges::fill(out, 0.0f);
            const Status status = run();
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(out, wanted);
          },
          2);
    }
}

// Calls of all kinds at once, a plan's among them; every rank waits for them in an order of its own.
TEST(Plan, IsUnderWayAmongOthers) {
  const Watchdog watchdog(100);
  on_ranks(4, [&](Communicator& communicator) {
    constexpr std::size_t kCalls = std::size(kAlgorithms);
    constexpr Scheme kSchemes[] = {Scheme::hzccl, Scheme::plain, Scheme::cprp2p, Scheme::homcomp_ahead,
                                   Scheme::ccoll};
    const int rank = communicator.rank();
    std::vector<Values<float>> inputs;
    for (int r = 0; r < 4; ++r) inputs.push_back(rank_data<float>(r, kCount));
    const Values<float>& in = inputs[static_cast<std::size_t>(rank)];
    std::vector<Values<float>> outs(kCalls, Values<float>(kCount));
    auto plan = communicator.plan_allreduce(bytes_of(in), bytes_of(outs[0]), Dtype::f32, ReduceOp::sum,
                                            options_of(kAlgorithms[0], kSchemes[0]));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    std::vector<std::size_t> order(kCalls);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 0; round < 30; ++round) {
      std::vector<Ongoing> ongoing;
      for (std::size_t k = 0; k < kCalls; ++k) {
        std::ranges::fill(outs[k], 0.0f);
        auto started =
            k == 0 ? plan->start()
                   : communicator.start_allreduce(bytes_of(in), bytes_of(outs[k]), Dtype::f32, ReduceOp::sum,
                                                  options_of(kAlgorithms[k], kSchemes[k]));
        ASSERT_TRUE(started.ok()) << started.status().message();
        ongoing.push_back(std::move(*started));
      }
      for (int turn = 0; turn <= rank; ++turn) std::ranges::next_permutation(order);
      for (const std::size_t k : order) {
        const Status status = ongoing[k].wait();
        ASSERT_TRUE(status.ok()) << status.message();
      }
      if (round % 10 != 0) continue;
      for (const Values<float>& out : outs) expect_within(out, exact(inputs, ReduceOp::sum), kBound);
    }
  });
}

}  // namespace
}  // namespace homz::test
