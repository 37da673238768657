// What calls are like beside their results: two levels, several under way, audits, reports,
// timeouts, bad arguments.
#include <algorithm>
#include <barrier>
#include <bit>
#include <random>
#include <thread>

#include "collectives/loopback.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;
constexpr std::uint64_t kCount = 20011;

std::vector<Values<float>> inputs_of(int ranks, std::uint64_t count = kCount) {
  std::vector<Values<float>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, count));
  return inputs;
}

Status allreduce(Communicator& communicator, Values<float>& values, const CollectiveOptions& options,
                 ReduceOp op = ReduceOp::sum) {
  return communicator.allreduce(bytes_of(std::as_const(values)), bytes_of(values), Dtype::f32, op, options);
}

TEST(TwoLevels, KeepTheBoundAndGiveTheSameBits) {
  const Watchdog watchdog(100);
  for (const auto& [ranks, per_node] : {std::pair{4, 2}, {6, 2}, {6, 3}})
    for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average})
        for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, kCount}) {
          const auto inputs = inputs_of(ranks, count);
          auto results = inputs;
          on_ranks(
              ranks,
              [&](Communicator& communicator) {
                CallReport report;
                CollectiveOptions options = options_of(Algorithm::two_level, scheme);
                options.report = &report;
                Values<float>& own = results[static_cast<std::size_t>(communicator.rank())];
                const Status status = allreduce(communicator, own, options, op);
                ASSERT_TRUE(status.ok()) << status.message();
                EXPECT_EQ(report.algorithm, Algorithm::two_level) << report.reason;
              },
              per_node);
          expect_within(results[0], exact(inputs, op), scheme == Scheme::plain ? 1e-5 : kBound);
          for (const auto& result : results) EXPECT_EQ(result, results[0]);
        }
}

TEST(TwoLevels, NodesOfDifferentSizesAreRefused) {
  const Watchdog watchdog(100);
  on_ranks(
      5,
      [&](Communicator& communicator) {
        Values<float> values(100, 1);
        EXPECT_TRUE(allreduce(communicator, values, options_of(Algorithm::automatic, Scheme::hzccl)).ok());
        const Status status =
            allreduce(communicator, values, options_of(Algorithm::two_level, Scheme::hzccl));
        EXPECT_EQ(status.code(), Code::invalid_argument);
        EXPECT_NE(status.message().find("two-level"), std::string::npos) << status.message();
      },
      2);
}

TEST(Ongoing, SeveralAtOnceInAnyOrder) {
  const Watchdog watchdog(100);
  constexpr std::size_t kCalls = 6;
  std::vector<std::vector<Values<float>>> inputs;
  for (std::size_t k = 0; k < kCalls; ++k) inputs.push_back(inputs_of(4, 1000 * k + 7));
  on_ranks(4, [&](Communicator& communicator) {
    constexpr Scheme kSchemes[] = {Scheme::hzccl, Scheme::plain, Scheme::ccoll};
    const auto rank = static_cast<std::size_t>(communicator.rank());
    std::vector<Values<float>> outs(kCalls);
    std::vector<Ongoing> ongoing;
    std::vector<bool> done(kCalls);
    for (std::size_t k = 0; k < kCalls; ++k) {
      outs[k].resize(inputs[k][rank].size());
      auto started =
          communicator.start_allreduce(bytes_of(inputs[k][rank]), bytes_of(outs[k]), Dtype::f32,
                                       ReduceOp::sum, options_of(Algorithm::automatic, kSchemes[k % 3]));
      ASSERT_TRUE(started.ok()) << started.status().message();
      ongoing.push_back(std::move(*started));
    }
    for (std::size_t left = kCalls, at = rank; left > 0; at = (at + rank + 1) % kCalls) {
      for (std::size_t k = 0; k < kCalls; ++k) {
        const std::size_t i = (at + k) % kCalls;
        if (done[i]) continue;
        const auto is_done = ongoing[i].test();
        ASSERT_TRUE(is_done.ok()) << is_done.status().message();
        if (!*is_done) continue;
        done[i] = true;
        --left;
      }
    }
    for (std::size_t k = 0; k < kCalls; ++k) expect_within(outs[k], exact(inputs[k], ReduceOp::sum), kBound);
  });
}

// Every rank waits for another one first; the transport's own blocking calls come between.
TEST(Ongoing, WaitedForInAnyOrder) {
  const Watchdog watchdog(100);
  constexpr std::size_t kCalls = 4;
  std::vector<std::vector<Values<float>>> inputs;
  for (std::size_t k = 0; k < kCalls; ++k) inputs.push_back(inputs_of(4, 20000 * k + 7));
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl, Scheme::ccoll})
    on_ranks(4, [&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      std::vector<Values<float>> outs(kCalls);
      std::vector<Ongoing> ongoing;
      for (std::size_t k = 0; k < kCalls; ++k) {
        outs[k].resize(inputs[k][rank].size());
        auto started = communicator.start_allreduce(bytes_of(inputs[k][rank]), bytes_of(outs[k]), Dtype::f32,
                                                    ReduceOp::sum, options_of(Algorithm::ring, scheme));
        ASSERT_TRUE(started.ok()) << started.status().message();
        ongoing.push_back(std::move(*started));
      }
      Values<float> between(100, 1);
      Status blocking;
      if (rank % 2 == 0) blocking = allreduce(communicator, between, {});
      for (std::size_t k = 0; k < kCalls; ++k) {
        const Status status = ongoing[(k + rank) % kCalls].wait();
        EXPECT_TRUE(status.ok()) << status.message();
      }
      if (rank % 2 == 1) blocking = allreduce(communicator, between, {});
      EXPECT_TRUE(blocking.ok()) << blocking.message();
      EXPECT_EQ(between, Values<float>(100, 4));
      for (std::size_t k = 0; k < kCalls; ++k)
        expect_within(outs[k], exact(inputs[k], ReduceOp::sum), kBound);
    });
}

TEST(Ongoing, SaysItsErrorAgain) {
  const Watchdog watchdog(100);
  on_ranks(2, [&](Communicator& communicator) {
    Values<float> in(communicator.rank() == 0 ? 100 : 101, 1), out(in.size());
    auto started = communicator.start_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                ReduceOp::sum, {});
    if (!started.ok()) return;
    EXPECT_EQ(started->wait().code(), Code::invalid_argument);
    EXPECT_EQ(started->wait().code(), Code::invalid_argument);
    EXPECT_FALSE(started->test().ok());
  });
}

TEST(Ongoing, OutlivesItsCommunicator) {
  Ongoing left;
  Values<float> in(kCount, 1), out(kCount);
  on_ranks(1, [&](Communicator& communicator) {
    auto started = communicator.start_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                ReduceOp::sum, options_of(Algorithm::ring, Scheme::hzccl));
    ASSERT_TRUE(started.ok());
    left = std::move(*started);
  });
  EXPECT_EQ(left.wait().code(), Code::invalid_argument);
}

// Given up before it is done: an error on all ranks, until they renew.
TEST(Ongoing, GivenUp) {
  const Watchdog watchdog(100);
  on_ranks(3, [&](Communicator& communicator) {
    Values<float> in(kCount, 1), out(kCount), later(10, 1);
    {
      auto started = communicator.start_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                  ReduceOp::sum, options_of(Algorithm::ring, Scheme::hzccl));
      if (communicator.rank() == 1) {
        ASSERT_TRUE(started.ok());
        const Ongoing dropped = std::move(*started);
      } else {  // which may hear of it before it starts
        const Status status = started.ok() ? started->wait() : started.status();
        EXPECT_EQ(status.code(), Code::invalid_argument);
        EXPECT_NE(status.message().find("rank 1 gives up"), std::string::npos) << status.message();
      }
    }
    EXPECT_FALSE(allreduce(communicator, later, {}).ok());
    ASSERT_TRUE(communicator.renew().ok());
    const Status status = allreduce(communicator, later, {});
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST(Ongoing, OfACommunicatorThatEndsIsAnErrorOfAll) {
  const Watchdog watchdog(100);
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl})
    on_ranks(3, [&](Communicator& communicator) {
      Values<float> in(kCount, 1), out(kCount);
      auto started = communicator.start_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                  ReduceOp::sum, options_of(Algorithm::ring, scheme));
      if (communicator.rank() == 1) {
        ASSERT_TRUE(started.ok());
        const Communicator ended = std::move(communicator);
      } else {
        const Status status = started.ok() ? started->wait() : started.status();
        EXPECT_NE(status.message().find("rank 1 ends its communicator"), std::string::npos)
            << status.message();
      }
    });
}

class RenewedAway : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Ongoing, RenewedAway, testing::Values(Algorithm::ring, Algorithm::two_level));

TEST_P(RenewedAway, IsAnError) {
  const Watchdog watchdog(100);
  const auto work = [&](Communicator& communicator) {
    Values<float> in(kCount, 1), out(kCount), later(10, 1);
    auto started = communicator.start_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                ReduceOp::sum, options_of(GetParam(), Scheme::hzccl));
    ASSERT_TRUE(started.ok());
    static_cast<void>(started->test());
    ASSERT_TRUE(communicator.renew().ok());
    EXPECT_TRUE(allreduce(communicator, later, {}).ok());
    const Status status = started->wait();
    EXPECT_TRUE(status.ok() || status.message().find("renew") != std::string::npos) << status.message();
    EXPECT_TRUE(allreduce(communicator, later, {}).ok());
    EXPECT_EQ(later[0], 16);
  };
  on_ranks(4, work, 2);
}

TEST(Reports, OfWhatWasSent) {
  const Watchdog watchdog(100);
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl}) {
    std::vector<CallReport> reports(4);
    const auto inputs = inputs_of(4);
    on_ranks(4, [&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      CollectiveOptions options = options_of(Algorithm::ring, scheme);
      options.report = &reports[rank];
      options.piece_values = 65536;
      Values<float> values = inputs[rank];
      const Status status = allreduce(communicator, values, options);
      ASSERT_TRUE(status.ok()) << status.message();
    });
    std::uint64_t raw = 0;
    for (const CallReport& report : reports) {
      raw += report.raw_bytes;
      // Two rounds of records, of 64 bytes and a frame.
      EXPECT_EQ(report.agreement_bytes, scheme == Scheme::plain ? 0 : 2 * 128);
      EXPECT_EQ(report.scheme, scheme);
      EXPECT_EQ(report.algorithm, Algorithm::ring);
      EXPECT_EQ(report.codec.substr(0, 7), scheme == Scheme::plain ? "" : "homcomp");
      EXPECT_FALSE(report.reason.empty());
      EXPECT_GT(report.total_seconds, 0);
      EXPECT_GE(report.total_seconds, report.encode_seconds);
      EXPECT_EQ(report.audited_error, -1);
      if (scheme == Scheme::plain) {  // no more than a frame a message: of 65536 values each, 6 a rank
        EXPECT_EQ(report.sent_bytes, report.raw_bytes + 6 * 64);
        EXPECT_LT(report.ratio(), 1);
        EXPECT_GT(report.ratio(), 0.99);
        continue;
      }
      EXPECT_GT(report.ratio(), 1.5);
      EXPECT_GT(report.share, 0);
      EXPECT_LE(report.share, kBound);
      EXPECT_GT(report.encode_seconds, 0);
    }
    EXPECT_EQ(raw, 4 * 2 * 3 * kCount);
  }
}

TEST(Reports, OfNoValues) {
  const Watchdog watchdog(100);
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll})
    on_ranks(2, [&](Communicator& communicator) {
      CallReport report;
      CollectiveOptions options = options_of(Algorithm::ring, scheme);
      options.report = &report;
      Values<float> none;
      ASSERT_TRUE(allreduce(communicator, none, options).ok());
      EXPECT_EQ(report.raw_bytes, 0u);
      EXPECT_EQ(report.ratio(), 1);
    });
}

// On which compression pays.
Profile slow_links() {
  Profile slow = Profile::unmeasured();
  slow.inside.seconds_per_byte = slow.between.seconds_per_byte = 1e-7;
  return slow;
}

// Looking costs messages; what led to nothing is not done again and again.
TEST(Choices, LookLessOftenWhereItLedToNothing) {
  const Watchdog watchdog(100);
  on_ranks(
      loopback(2),
      [&](Communicator& communicator) {
        constexpr std::uint64_t kValues = 300000;
        std::mt19937 random(static_cast<unsigned>(communicator.rank()));
        Values<float> noise(kValues), sum(kValues);
        for (float& x : noise) x = std::bit_cast<float>(0x3f800000u | (static_cast<unsigned>(random()) >> 9));
        const auto smooth = rank_data<float>(communicator.rank(), kValues);
        CallReport report;
        CollectiveOptions options;
        options.abs_error = 1e-7;  // which noise has no room for
        options.report = &report;
        const auto call = [&](const Values<float>& values) {
          const Status status =
              communicator.allreduce(bytes_of(values), bytes_of(sum), Dtype::f32, ReduceOp::sum, options);
          ASSERT_TRUE(status.ok()) << status.message();
        };
        std::vector<std::uint64_t> sent;
        for (int i = 0; i < 12; ++i) {
          call(noise);
          sent.push_back(report.agreement_bytes);
        }
        const std::uint64_t least = std::ranges::min(sent);
        std::string pattern;
        for (const std::uint64_t bytes : sent) pattern += bytes > least ? 'l' : '-';
        EXPECT_EQ(pattern, "l-l---l-----");
        options.abs_error = 1e-2;
        bool has_compressed = false;
        for (int i = 0; i < 65 && !has_compressed; ++i) {
          call(smooth);
          has_compressed = report.scheme != Scheme::plain;
        }
        EXPECT_TRUE(has_compressed);
      },
      slow_links());
}

// What algorithm is asked for does not matter to one rank, nor to its audits.
TEST(Reports, OfAuditsOfOneRank) {
  auto communicator = Communicator::make(std::move(loopback(1)[0]), Profile::unmeasured());
  ASSERT_TRUE(communicator.ok());
  for (const Algorithm algorithm : kEveryAlgorithm) {
    if (algorithm == Algorithm::native) continue;
    CollectiveOptions options;
    CallReport report;
    options.abs_error = 1e-3;
    options.algorithm = algorithm;
    options.audit_every = 1;
    options.report = &report;
    Values<float> in(100, 1), out(100);
    const Status status = communicator->allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32,
                                                  ReduceOp::sum, options);
    ASSERT_TRUE(status.ok()) << to_string(algorithm) << ": " << status.message();
    EXPECT_EQ(report.audited_error, 0);
    EXPECT_EQ(out, in);
  }
}

// Streams cannot be added where values have too many quanta; they can be decoded.
TEST(Choices, DecodesWhereStreamsCannotBeAdded) {
  const Watchdog watchdog(100);
  on_ranks(
      loopback(2),
      [&](Communicator& communicator) {
        CallReport report;
        CollectiveOptions options;
        options.abs_error = 2e-9;
        options.report = &report;
        Values<double> in(200000), sum(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(1e-4 * static_cast<double>(i));
        const Status status = communicator.allreduce(bytes_of(std::as_const(in)), bytes_of(sum), Dtype::f64,
                                                     ReduceOp::sum, options);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(report.scheme, Scheme::ccoll) << report.reason;
        EXPECT_EQ(report.reason.find("by ccoll: with a bound of 2e-09 "), 0u) << report.reason;
        EXPECT_GT(report.ratio(), 1.5);
        for (std::size_t i = 0; i < in.size(); ++i) ASSERT_LE(std::abs(sum[i] - 2 * in[i]), 2e-9);
      },
      slow_links());
}

// A rank's own values go as they come.
TEST(Arguments, OwnCountsOfAlltoall) {
  auto communicator = Communicator::make(std::move(loopback(1)[0]), Profile::unmeasured());
  ASSERT_TRUE(communicator.ok());
  const std::uint64_t sent[] = {50}, received[] = {100};
  Values<float> in(50, 1), out(100);
  const Status status =
      communicator->alltoallv(bytes_of(std::as_const(in)), sent, bytes_of(out), received, Dtype::f32, {});
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("sends itself 50 values and expects 100"), std::string::npos)
      << status.message();
}

TEST(Reports, OfAudits) {
  const Watchdog watchdog(100);
  on_ranks(3, [&](Communicator& communicator) {
    const auto inputs = inputs_of(3);
    for (int k = 0; k < 4; ++k) {
      CallReport report;
      CollectiveOptions options = options_of(Algorithm::automatic, k < 2 ? Scheme::hzccl : Scheme::ccoll);
      options.audit_every = 2;
      options.report = &report;
      Values<float> values = inputs[static_cast<std::size_t>(communicator.rank())];  // in place
      const Status status = allreduce(communicator, values, options);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(report.audited_error >= 0, k % 2 == 0);
      EXPECT_LE(report.audited_error, 1.01 * kBound);
      EXPECT_GT(report.audited_error, k % 2 == 0 ? 0.05 * kBound : -2);
    }
  });
}

// Rank 2 comes when the others have given up, however long that takes.
TEST(Timeouts, OfPeersThatDoNotCome) {
  const Watchdog watchdog(100);
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
    std::barrier<> given_up(3);
    on_ranks(3, [&](Communicator& communicator) {
      Values<float> values(100, 1);
      CollectiveOptions options = options_of(Algorithm::automatic, scheme);
      options.timeout_seconds = 0.3;
      if (communicator.rank() == 2) given_up.arrive_and_wait();
      const Status status = allreduce(communicator, values, options);
      if (communicator.rank() != 2) given_up.arrive_and_wait();
      EXPECT_EQ(status.code(), Code::io);
      EXPECT_NE(status.message().find("rank"), std::string::npos) << status.message();
    });
  }
}

// Of one rank alone: all get an error that names it.
TEST(Timeouts, OfRanksThatMakeNoCommunicator) {
  const Watchdog watchdog(100);
  auto transports = loopback(3);
  std::thread second([own = std::move(transports[1])]() mutable {
    const Status status = Communicator::make(std::move(own), Profile::unmeasured(), 0.1).status();
    EXPECT_EQ(status.code(), Code::io) << status.message();
  });
  second.join();
}

TEST(Arguments, OfOneRankThatAreBad) {
  const Watchdog watchdog(100);
  for (int bad = 0; bad < 6; ++bad)
    on_ranks(3, [&](Communicator& communicator) {
      Values<float> in(101, 1), out(101, 1);
      ConstBytes from = bytes_of(std::as_const(in)).first(400);
      Bytes to = bytes_of(out).first(400);
      CollectiveOptions options = options_of(Algorithm::automatic, Scheme::hzccl);
      ReduceOp op = ReduceOp::sum;
      if (communicator.rank() == 1) {
        if (bad == 0) to = to.first(396);
        if (bad == 1) from = bytes_of(std::as_const(in)).subspan(2, 400);
        if (bad == 2) from = bytes_of(std::as_const(out)).subspan(4, 400);
        if (bad == 3) options.abs_error = -1;
        if (bad == 4) op = ReduceOp::none;
        if (bad == 5) options.sigmas = 0.5;
      }
      const Status status = communicator.allreduce(from, to, Dtype::f32, op, options);
      EXPECT_EQ(status.code(), Code::invalid_argument) << bad;
      EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.message();
    });
}

// Whether there is a bound or not.
TEST(Arguments, NativeNeverCompresses) {
  const Watchdog watchdog(100);
  for (const double bound : {0.0, kBound})
    on_ranks(2, [&](Communicator& communicator) {
      Values<float> values(10, 1);
      const Status status =
          allreduce(communicator, values, options_of(Algorithm::native, Scheme::hzccl, bound));
      EXPECT_EQ(status.code(), Code::invalid_argument);
      for (const char* const said : {"native", "never compresses", "hzccl goes by ring, "})
        EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
    });
}

// Ranks may start with different profiles: rank 0's holds.
TEST(Profiles, OfRankZeroHold) {
  const Watchdog watchdog(100);
  std::vector<std::thread> threads;
  for (auto& transport : loopback(3))
    threads.emplace_back([own = std::move(transport)]() mutable {
      Profile profile = Profile::unmeasured();
      profile.between.segment_bytes = 1024u << own->rank() * 5;
      auto communicator = Communicator::make(std::move(own), profile);
      ASSERT_TRUE(communicator.ok()) << communicator.status().message();
      Values<float> values(kCount, 1);
      EXPECT_TRUE(allreduce(*communicator, values, {}).ok());
      EXPECT_EQ(values.back(), 3);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace homz::test
