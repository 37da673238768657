// Damaged, lost, repeated and late messages: every rank gets an error, or the right bits, and none hangs.
#include <barrier>

#include "collectives/loopback.hpp"
#include "tests/collectives/faulty_transport.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;
constexpr int kRanks = 4;

Profile with_short_segments() {
  Profile profile = Profile::unmeasured();
  profile.inside.segment_bytes = profile.between.segment_bytes = 1024;
  return profile;
}

struct Outcome {
  int failed = 0;
  std::uint64_t happened = 0;
};

// With the faults, then renewed without them, and without a timeout: the machine may have other work to do.
Outcome run(const Request& request, Faults& faults, const Answers& wanted) {
  Outcome outcome;
  Request patient = request;
  patient.options.timeout_seconds = 0;
  Answers first(wanted.size()), second(wanted.size());
  std::barrier<> all(kRanks);
  on_ranks(
      faulty(loopback(kRanks), faults),
      [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        all.arrive_and_wait();
        faults.is_on = true;
        first[rank] = perform(communicator, request);
        all.arrive_and_wait();
        faults.is_on = false;
        ASSERT_TRUE(communicator.renew().ok());
        second[rank] = perform(communicator, patient);
      },
      with_short_segments());
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    if (first[r].status.ok())
      EXPECT_TRUE(first[r].out == wanted[r].out) << "rank " << r << " has other bits";
    else
      EXPECT_FALSE(first[r].status.message().empty());
    outcome.failed += first[r].status.ok() ? 0 : 1;
    EXPECT_TRUE(second[r].status.ok()) << "renewed: " << second[r].status.message();
    EXPECT_TRUE(second[r].out == wanted[r].out) << "rank " << r << ", renewed";
  }
  outcome.happened = faults.happened;
  return outcome;
}

class Damage : public testing::TestWithParam<Fault> {
 protected:
  // Seeds of each request.
  void sweep(std::uint64_t seeds, double timeout_seconds, double share, std::uint64_t most) {
    int failed = 0;
    std::uint64_t happened = 0;
    for (const Collective collective : kAllCollectives)
      for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl}) {
        if (is_homomorphic(scheme) && !reduces(collective)) continue;
        Request request{.collective = collective, .count = 2500, .scheme = scheme, .root = 1};
        request.abs_error = scheme == Scheme::plain ? 0 : kBound;
        request.options.checksum_plain = true;
        request.options.piece_values = 512;
        const Answers wanted = perform_on(kRanks, request);
        request.options.timeout_seconds = timeout_seconds;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          SCOPED_TRACE(testing::Message() << request << ", seed " << seed);
          Faults faults{GetParam(), seed, share, most, {}, {}};
          const Outcome outcome = run(request, faults, wanted);
          failed += outcome.failed;
          happened += outcome.happened;
          if (HasFailure()) return;
        }
      }
    EXPECT_GT(happened, 0u);
    std::cout << happened << " faults, " << failed << " calls failed\n";
  }
};

TEST_P(Damage, GivesErrorsOrTheRightBits) {
  const Watchdog watchdog(120);
  const bool loses = GetParam() == Fault::drop;
  sweep(loses ? 1 : 4, loses ? 0.2 : 0, 0.1, 1);
}

TEST_P(Damage, OfManyMessages) {
  const Watchdog watchdog(120);
  const bool loses = GetParam() == Fault::drop;
  sweep(1, loses ? 0.2 : 0, 0.3, 1000);
}

INSTANTIATE_TEST_SUITE_P(Faults, Damage,
                         testing::Values(Fault::flip, Fault::truncate, Fault::drop, Fault::duplicate,
                                         Fault::delay),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// Values, magnitudes, frames: each bit of the first message of each rank, one by one.
TEST(Damage, OfAnyByteIsSeen) {
  const Watchdog watchdog(120);
  Request request{
      .collective = Collective::allreduce, .count = 20, .scheme = Scheme::hzccl, .abs_error = kBound};
  const Answers wanted = perform_on(kRanks, request);
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    Faults faults{Fault::flip, seed, 1, 1, {}, {}};
    const Outcome outcome = run(request, faults, wanted);
    EXPECT_EQ(outcome.failed, kRanks) << "seed " << seed;
    if (HasFailure()) return;
  }
}

// A profile that does not arrive whole is an error on all ranks, too.
TEST(Damage, OfTheProfile) {
  const Watchdog watchdog(120);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Faults faults{seed % 2 == 0 ? Fault::flip : Fault::truncate, seed, 0.5, 1, {}, {}};
    faults.is_on = true;
    Transports transports = faulty(loopback(kRanks), faults);
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (auto& transport : transports)
      threads.emplace_back([&failed, own = std::move(transport)]() mutable {
        if (!Communicator::make(std::move(own), Profile::unmeasured()).ok()) ++failed;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(faults.happened == 0 || failed > 0);
  }
}

}  // namespace
}  // namespace homz::test
