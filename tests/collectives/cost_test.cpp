// Expected costs: the formulas of the literature where nothing is pipelined, monotone, by the slowest link.
#include <cmath>

#include "tests/collectives/choosing.hpp"

namespace homz::test {
namespace {

constexpr double kLatency = 10e-6, kByte = 1e-9, kReduce = 1e-10;

double seconds_of(const Task& task, Algorithm algorithm, Scheme scheme, const Profile& profile,
                  double ratio = 8, std::uint64_t piece = std::uint64_t{1} << 40) {
  const CodecProfile* codec = scheme == Scheme::plain ? nullptr : &profile.codecs.front();
  return expected_cost(task, {algorithm, scheme, codec, ratio, piece, 1}, profile).seconds;
}

TEST(Costs, UncompressedAreThoseOfTheLiterature) {
  const Profile profile = profile_with(1 / kByte, kLatency);
  for (const int n : {2, 4, 16, 64}) {
    const double s = 64 << 20, rounds = std::log2(n), part = (n - 1.0) / n * s;
    const auto plain = [&](Algorithm algorithm, Collective collective = Collective::allreduce) {
      return seconds_of(task_of(64 << 20, n, collective), algorithm, Scheme::plain, profile);
    };
    const auto near = [&](double value, double expected) {
      EXPECT_NEAR(value, expected, 1e-3 * expected) << n << " ranks";
    };
    near(plain(Algorithm::ring), 2 * (n - 1) * kLatency + 2 * part * kByte + part * kReduce);
    near(plain(Algorithm::recursive_doubling), rounds * (kLatency + s * kByte + s * kReduce));
    // Halves are sent part by part, so that operating on one overlaps with the wire.
    EXPECT_GT(plain(Algorithm::rabenseifner), 2 * part * kByte);
    EXPECT_LT(plain(Algorithm::rabenseifner),
              1.001 * (2 * rounds * kLatency + 2 * part * kByte + part * kReduce));
    near(plain(Algorithm::ring, Collective::reduce_scatter),
         (n - 1) * kLatency + part * kByte + part * kReduce);
    near(plain(Algorithm::ring, Collective::allgather), (n - 1) * kLatency + part * kByte);
    near(plain(Algorithm::bruck, Collective::allgather), rounds * kLatency + part * kByte);
    near(plain(Algorithm::binomial, Collective::bcast), rounds * (kLatency + s * kByte));
    near(plain(Algorithm::ring, Collective::bcast), (rounds + n - 1) * kLatency + 2 * part * kByte);
    near(plain(Algorithm::binomial, Collective::gather), rounds * kLatency + part * kByte);
    near(plain(Algorithm::bruck, Collective::alltoall), rounds * (kLatency + s / 2 * kByte));
  }
}

// S (c + d) + L (a + S (rho b + h)) against L (a + S (c + rho b + d + g)), and d once more: partners go on
// with what they have sent.
TEST(Costs, DoublingOfStreamsCodesOnce) {
  const Profile profile = profile_with(1e12, 0);
  const Task task = task_of(64 << 20, 8);
  const double s = 64 << 20, c = s / 1e9, d = s / 1.5e9, h = s / 2e9, g = s * kReduce;
  EXPECT_NEAR(seconds_of(task, Algorithm::recursive_doubling, Scheme::hzccl, profile), c + d + 3 * h,
              1e-2 * c);
  EXPECT_NEAR(seconds_of(task, Algorithm::recursive_doubling, Scheme::ccoll, profile),
              c + 3 * (c + 2 * d + g) + d, 1e-2 * c);
}

// With pieces a hop tends to the greater of wire and work.
TEST(Costs, PiecesOverlapWireAndWork) {
  const Profile profile = profile_with(0.25e9, 1e-6);  // at 4 : 1 the wire takes as long as encoding
  const Task task = task_of(64 << 20, 4);
  for (const Scheme scheme : {Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused}) {
    const double whole = seconds_of(task, Algorithm::ring, scheme, profile, 4);
    const double pieces = seconds_of(task, Algorithm::ring, scheme, profile, 4, 65536);
    EXPECT_LT(pieces, 0.85 * whole) << to_string(scheme);
    EXPECT_GT(pieces, 0.4 * whole) << to_string(scheme);
  }
}

TEST(Costs, RiseWithSizeAndRatioNeverHurts) {
  Profile profile = profile_with(1e9);
  profile.message_seconds = profile.call_seconds = 1e-6;
  profile.copy_seconds_per_byte = 1e-10;
  for (const Collective collective : kCollectives)
    for (const Algorithm algorithm : kAlgorithms)
      for (const Scheme scheme : kSchemes)
        for (const int ranks : {1, 2, 3, 5, 8, 12, 17}) {
          Task task = task_of(0, ranks, collective);
          task.has_native = true;
          task.ranks_per_node = 4;
          if (!can_run(algorithm, scheme, task)) continue;
          SCOPED_TRACE(testing::Message() << to_string(collective) << " " << to_string(algorithm) << " "
                                          << to_string(scheme) << " " << ranks);
          double before = 0;
          for (const std::uint64_t bytes : {0, 4, 1 << 10, 1 << 14, 1 << 20, 1 << 26}) {
            task.count = bytes / 4;
            const double now = seconds_of(task, algorithm, scheme, profile, 8, 16384);
            EXPECT_TRUE(std::isfinite(now));
            EXPECT_GE(now, before);
            EXPECT_GE(now, seconds_of(task, algorithm, scheme, profile, 100, 16384));
            before = now;
          }
        }
}

TEST(Costs, HugeCountsAreFinite) {
  const Profile profile = profile_with(1e9);
  Task task = task_of(0, 1 << 20);
  task.count = std::uint64_t{1} << 55;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::rabenseifner, Algorithm::direct})
    EXPECT_TRUE(std::isfinite(seconds_of(task, algorithm, Scheme::hzccl, profile, 8, 4096)));
}

// Sums of N ranks' data are wider by log2 N bits at most; data that vanish stay away.
TEST(Costs, SumsGrow) {
  const Profile profile = profile_with(1e9);
  const CodecProfile* codec = &profile.codecs.front();
  const Task task = task_of(64 << 20, 8);
  const auto wire = [&](Scheme scheme, double ratio) {
    return expected_cost(task, {Algorithm::ring, scheme, codec, ratio, 65536, 1}, profile).wire_bytes;
  };
  const double raw = 2.0 * 7 / 8 * (64 << 20);
  EXPECT_GT(wire(Scheme::hzccl, 8), raw / 8);
  EXPECT_LT(wire(Scheme::hzccl, 8), raw * 7 / 32);  // 4 bits and log2 8
  EXPECT_LT(wire(Scheme::hzccl, 1000), raw / 100);
  EXPECT_GT(wire(Scheme::cprp2p, 8), wire(Scheme::ccoll, 8));
  EXPECT_NEAR(wire(Scheme::hzccl, 1), raw, 0.01 * raw);
}

TEST(Costs, TheSlowestLinkDecides) {
  Profile profile = profile_with(10e9, 1e-6);
  profile.between.seconds_per_byte = 1e-9;
  Task task = task_of(64 << 20, 16);
  const auto plain = [&](Algorithm algorithm, int per_node) {
    task.ranks_per_node = per_node;
    return seconds_of(task, algorithm, Scheme::plain, profile);
  };
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::direct})
    EXPECT_LT(plain(algorithm, 16), plain(algorithm, 1)) << to_string(algorithm);
  // In a ring one rank of a node crosses; where all do, they share the link.
  EXPECT_NEAR(plain(Algorithm::ring, 4), plain(Algorithm::ring, 1), 1e-3);
  EXPECT_GT(plain(Algorithm::direct, 4), 2 * plain(Algorithm::ring, 4));
  EXPECT_GT(plain(Algorithm::recursive_doubling, 4), plain(Algorithm::recursive_doubling, 1));
  // Where nodes differ, costs are those of a rank a node.
  EXPECT_EQ(plain(Algorithm::ring, 0), plain(Algorithm::ring, 1));
  EXPECT_EQ(plain(Algorithm::direct, 0), plain(Algorithm::direct, 1));
}

TEST(Costs, ThreadsShareTheCoding) {
  const Profile profile = profile_with(10e9);
  Approach approach{Algorithm::ring, Scheme::hzccl, &profile.codecs.front(), 8, 65536, 1};
  const Task task = task_of(64 << 20, 4);
  const double one = expected_cost(task, approach, profile).seconds;
  approach.threads = 4;
  EXPECT_LT(expected_cost(task, approach, profile).seconds, 0.4 * one);
}

TEST(Costs, OfTheTransportsOwn) {
  Profile profile = profile_with(1e9);
  Task task = task_of(1 << 20, 4);
  task.has_native = true;
  const double guessed = seconds_of(task, Algorithm::native, Scheme::plain, profile);
  EXPECT_LE(guessed, seconds_of(task, Algorithm::ring, Scheme::plain, profile));
  profile.natives.push_back({Collective::allreduce, 4, {{{1024, 1e-3}, {1 << 21, 3e-3}}}});
  profile.natives.push_back({Collective::allreduce, 64, {{{1024, 5e-3}, {1 << 21, 9e-3}}}});
  profile.natives.push_back({Collective::bcast, 8, {{{1024, 1}}}});
  EXPECT_NEAR(seconds_of(task, Algorithm::native, Scheme::plain, profile), 2e-3, 1e-5);
  task.ranks = 8;  // nearest to 4, and costs more
  const double scaled = seconds_of(task, Algorithm::native, Scheme::plain, profile);
  EXPECT_GT(scaled, 2e-3);
  EXPECT_LT(scaled, 4e-3);
}

TEST(Costs, TwoLevelsSparePlentyOfCoding) {
  Profile profile = profile_with(50e9, 1e-6);
  profile.between.seconds_per_byte = 1 / 1e9;
  Task task = task_of(64 << 20, 32);
  task.ranks_per_node = 8;
  EXPECT_LT(seconds_of(task, Algorithm::two_level, Scheme::hzccl, profile),
            0.5 * seconds_of(task, Algorithm::ring, Scheme::hzccl, profile));
}

TEST(Costs, Log2) {
  for (const double exact : {1.0, 2.0, 4.0, 1024.0}) EXPECT_EQ(log2_about(exact), std::log2(exact));
  for (double x = 1; x < 100; x += 0.37) EXPECT_NEAR(log2_about(x), std::log2(x), 0.087);
}

}  // namespace
}  // namespace homz::test
