// Choices: what can run, the least of it, overrides and the environment, when to look at the data.
#include <cstdlib>
#include <set>

#include "codecs/builtin.hpp"
#include "tests/collectives/choosing.hpp"

namespace homz::test {
namespace {

using Ways = std::set<std::pair<Algorithm, Scheme>>;

Ways ways(const Task& task) {
  Ways all;
  for (const Algorithm algorithm : kAlgorithms)
    for (const Scheme scheme : kSchemes)
      if (can_run(algorithm, scheme, task)) all.emplace(algorithm, scheme);
  return all;
}

TEST(CanRun, ByCollective) {
  using A = Algorithm;
  const std::pair<Collective, std::set<A>> table[] = {
      {Collective::allreduce,
       {A::native, A::ring, A::recursive_doubling, A::rabenseifner, A::direct, A::binomial, A::two_level}},
      {Collective::reduce_scatter, {A::native, A::ring, A::rabenseifner, A::direct}},
      {Collective::reduce, {A::native, A::ring, A::rabenseifner, A::direct, A::binomial}},
      {Collective::allgather, {A::native, A::ring, A::recursive_doubling, A::direct, A::bruck}},
      {Collective::bcast, {A::native, A::ring, A::binomial}},
      {Collective::scatter, {A::native, A::direct, A::binomial}},
      {Collective::gather, {A::native, A::direct, A::binomial}},
      {Collective::alltoall, {A::native, A::direct, A::bruck}},
  };
  for (const auto& [collective, algorithms] : table) {
    Task task = task_of(1 << 20, 8, collective);
    task.ranks_per_node = 4;
    task.has_native = true;
    for (const Algorithm algorithm : kAlgorithms) {
      SCOPED_TRACE(testing::Message() << to_string(collective) << " " << to_string(algorithm));
      EXPECT_EQ(can_run(algorithm, Scheme::plain, task), algorithms.count(algorithm) == 1);
      for (const Scheme scheme : kSchemes)
        EXPECT_EQ(can_run(algorithm, scheme, task),
                  algorithms.count(algorithm) == 1 &&
                      (scheme == Scheme::plain || algorithm != Algorithm::native) &&
                      (!is_homomorphic(scheme) || reduces(collective)))
            << to_string(scheme);
    }
  }
}

TEST(CanRun, ByShapeOperationAndBound) {
  Task task = task_of(1 << 20, 6, Collective::allgather);
  EXPECT_FALSE(can_run(Algorithm::native, Scheme::plain, task));
  EXPECT_FALSE(can_run(Algorithm::recursive_doubling, Scheme::plain, task));  // 6 ranks
  task.ranks = 8;
  task.has_native = task.uneven = true;
  EXPECT_FALSE(can_run(Algorithm::recursive_doubling, Scheme::plain, task));
  EXPECT_FALSE(can_run(Algorithm::native, Scheme::plain, task));
  EXPECT_TRUE(can_run(Algorithm::bruck, Scheme::ccoll, task));
  for (const int per_node : {0, 1, 3, 8, 16}) {
    Task sum = task_of(1 << 20, 8);
    sum.ranks_per_node = per_node;
    EXPECT_FALSE(can_run(Algorithm::two_level, Scheme::plain, sum)) << per_node;
  }
  Task reduction = task_of(1 << 20, 8);
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    reduction.op = op;
    EXPECT_TRUE(can_run(Algorithm::ring, Scheme::hzccl, reduction));
    EXPECT_TRUE(can_run(Algorithm::ring, Scheme::homcomp_step, reduction));
    EXPECT_FALSE(can_run(Algorithm::ring, Scheme::homcomp_fused, reduction));
  }
  reduction.op = ReduceOp::prod;
  EXPECT_FALSE(can_run(Algorithm::ring, Scheme::hzccl, reduction));
  EXPECT_TRUE(can_run(Algorithm::ring, Scheme::ccoll, reduction));
  reduction.op = ReduceOp::sum;
  reduction.lossy = false;
  for (const Scheme scheme : kSchemes)
    EXPECT_EQ(can_run(Algorithm::ring, scheme, reduction), scheme == Scheme::plain);
  EXPECT_FALSE(can_run(Algorithm::automatic, Scheme::plain, reduction));
  EXPECT_FALSE(can_run(Algorithm::ring, Scheme::automatic, reduction));
}

TEST(Candidates, AreAllThatCanRunByRisingSeconds) {
  const Profile profile = profile_with(1e8);
  const std::vector<double> ratios = {8};
  for (const Collective collective : kCollectives)
    for (const int ranks : {1, 2, 6, 8}) {
      Task task = task_of(1 << 22, ranks, collective);
      task.ranks_per_node = 2;
      task.has_native = true;
      const auto all = candidates(task, options_of(Algorithm::automatic), profile, ratios);
      Ways found;
      double before = 0;
      for (const Candidate& each : all) {
        found.emplace(each.algorithm, each.scheme);
        EXPECT_GE(each.seconds, before);
        before = each.seconds;
        EXPECT_EQ(each.codec, each.scheme == Scheme::plain ? "" : "homcomp");
        EXPECT_GT(each.piece_values, 0u);
        EXPECT_EQ(each.piece_values % 4096, 0u);
        EXPECT_LE(4 * each.piece_values, 1u << 20);
      }
      EXPECT_TRUE(found == ways(task)) << to_string(collective) << ", " << ranks;
      EXPECT_EQ(found.size(), all.size());
    }
}

// Measured or not.
TEST(Candidates, OnGpus) {
  CollectiveOptions options = options_of(Algorithm::ring);
  options.space = Space::device;
  Task task = task_of(1 << 22, 4);
  task.on_device = true;
  for (const Scheme scheme : kSchemes) {
    options.scheme = scheme;
    const auto all = candidates(task, options, Profile::unmeasured(), {});
    EXPECT_EQ(all.size(), 1u) << to_string(scheme);
  }
}

TEST(Candidates, PiecesAsAsked) {
  CollectiveOptions options = options_of(Algorithm::ring);
  options.piece_values = 12345;
  const std::vector<double> ratios = {8};
  for (const Candidate& each : candidates(task_of(1 << 22, 4), options, profile_with(1e9), ratios))
    EXPECT_EQ(each.piece_values, 12345u);
}

Decision chosen(const Task& task, const CollectiveOptions& options, const Profile& profile, double ratio) {
  const std::vector<double> ratios = {ratio};
  const Result<Decision> decision = choose(task, options, profile, ratios);
  EXPECT_TRUE(decision.ok()) << decision.status().message();
  return decision.ok() ? *decision : Decision{};
}

// 2 (1 - rho) b + g > c + d + h, and 2 (1 - rho) b > c + 2 d; pieces that overlap help compression by a few
// times at most.
TEST(Choices, BreakEvenWhereTheLiteratureHasIt) {
  const double rho = 1.0 / 8, c = 1 / 1e9, d = 1 / 1.5e9, h = 1 / 2e9, g = 1 / 10e9;
  const Task task = task_of(256 << 20, 64);
  const std::pair<Scheme, double> table[] = {{Scheme::hzccl, (c + d + h - g) / (2 * (1 - rho))},
                                             {Scheme::ccoll, (c + 2 * d) / (2 * (1 - rho))}};
  for (const auto& [scheme, byte] : table)
    for (const double factor : {4.0, 0.25}) {
      const Profile profile = profile_with(1 / (byte * factor), 1e-6);
      const double ratio = 8;
      const auto seconds = [&](Scheme of) {
        return candidates(task, options_of(Algorithm::ring, of), profile, std::span(&ratio, 1))
            .front()
            .seconds;
      };
      EXPECT_EQ(seconds(scheme) < seconds(Scheme::plain), factor > 1) << to_string(scheme) << factor;
    }
}

TEST(Choices, NotToCompressIsOne) {
  const Decision fast = chosen(task_of(64 << 20, 8), options_of(Algorithm::automatic), profile_with(50e9), 8);
  EXPECT_EQ(fast.candidate.scheme, Scheme::plain);
  EXPECT_EQ(fast.candidate.codec, "");
  EXPECT_NE(fast.reason.find("without compression"), std::string::npos) << fast.reason;
  EXPECT_NE(fast.reason.find("would take"), std::string::npos) << fast.reason;
  const Decision slow = chosen(task_of(64 << 20, 8), options_of(Algorithm::automatic), profile_with(1e8), 8);
  EXPECT_TRUE(is_homomorphic(slow.candidate.scheme)) << slow.reason;
  EXPECT_EQ(slow.candidate.codec, "homcomp");
  EXPECT_NE(slow.reason.find("with homcomp"), std::string::npos) << slow.reason;
  EXPECT_NE(slow.reason.find("without compression would take"), std::string::npos) << slow.reason;
  // Data that cannot be compressed.
  EXPECT_EQ(
      chosen(task_of(64 << 20, 8), options_of(Algorithm::automatic), profile_with(1e8), 1).candidate.scheme,
      Scheme::plain);
  // Nobody looked.
  EXPECT_EQ(
      chosen(task_of(64 << 20, 8), options_of(Algorithm::automatic), profile_with(1e8), 0).candidate.scheme,
      Scheme::plain);
  Task exact = task_of(64 << 20, 8);
  exact.lossy = false;
  const Decision unbounded = chosen(exact, CollectiveOptions{}, profile_with(1e8), 8);
  EXPECT_EQ(unbounded.candidate.scheme, Scheme::plain);
  EXPECT_NE(unbounded.reason.find("bound is 0"), std::string::npos) << unbounded.reason;
}

TEST(Choices, SmallGainsAreNotReliedOn) {
  Task task = task_of(1 << 20, 4);
  task.has_native = true;
  Profile profile = profile_with(1e9);
  const double ring = candidates(task, options_of(Algorithm::automatic, Scheme::plain), profile_with(1e9), {})
                          .front()
                          .seconds;
  for (const double factor : {1.05, 1.2}) {
    profile.natives = {{Collective::allreduce, 4, {{{1 << 20, factor * ring}}}}};
    EXPECT_EQ(chosen(task, options_of(Algorithm::automatic, Scheme::plain), profile, 0).candidate.algorithm ==
                  Algorithm::native,
              factor < 1.1);
  }
}

TEST(Choices, Overrides) {
  const Profile profile = profile_with(50e9);
  const Task task = task_of(64 << 20, 8);
  for (const auto& [algorithm, scheme] : ways(task)) {
    const Decision decision = chosen(task, options_of(algorithm, scheme), profile, 0);  // at a guessed ratio
    EXPECT_EQ(decision.candidate.algorithm, algorithm);
    EXPECT_EQ(decision.candidate.scheme, scheme);
    EXPECT_EQ(decision.reason.find("as asked for"), 0u) << decision.reason;
  }
  CollectiveOptions other = options_of(Algorithm::automatic, Scheme::ccoll);
  other.codec = *registry().choose("cuszp2:mode=plain");
  EXPECT_EQ(codecs_in_question(other, profile), std::vector<std::string>{to_string(other.codec)});
  EXPECT_EQ(chosen(task, other, profile, 5).candidate.codec, to_string(other.codec));
  EXPECT_EQ(codecs_in_question(options_of(Algorithm::automatic), profile),
            std::vector<std::string>{"homcomp"});
}

TEST(Choices, ErrorsTellWhatThereIs) {
  const Profile profile = profile_with(1e9);
  const auto refused = [&](const Task& task, const CollectiveOptions& options) {
    const Status status = choose(task, options, profile, {}).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    return status.message();
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string tree = refused(task_of(1000, 4, Collective::alltoall), options_of(Algorithm::binomial));
  has(tree, "alltoall by algorithm binomial");
  has(tree, "binomial does not do alltoall");
  has(tree, "direct (plain, cprp2p, ccoll), bruck (");
  has(refused(task_of(1000, 4), options_of(Algorithm::native)), "ring (plain, cprp2p, ccoll, hzccl");
  CollectiveOptions other = options_of(Algorithm::automatic, Scheme::hzccl);
  other.codec = *registry().choose("zstd");
  has(refused(task_of(1000, 4), other), "no arithmetic");
  Task exact = task_of(1000, 4);
  exact.lossy = false;
  CollectiveOptions compressed;
  compressed.scheme = Scheme::ccoll;
  has(refused(exact, compressed), "bound is 0");
}

// An agreement takes as long as our own algorithms do for short calls: what is in doubt is the rest only.
TEST(Choices, TheTransportsOwnPaysForItsAgreement) {
  Profile profile = profile_with(1e9, 1e-6);
  profile.message_seconds = 2e-7;
  Task task = task_of(64, 2);
  task.has_native = true;
  task.ranks_per_node = 2;
  CollectiveOptions options = options_of(Algorithm::automatic, Scheme::plain);
  const auto algorithm = [&](double seconds) {
    profile.natives = {{Collective::allreduce, 2, {{{4, seconds}, {1 << 20, seconds}}}}};
    return choose(task, options, profile, {})->candidate.algorithm;
  };
  ASSERT_NEAR(seconds_to_agree(task, profile), 1.4e-6, 1e-9);
  EXPECT_EQ(algorithm(1e-6), Algorithm::recursive_doubling);  // 2.4 us with it, where our own takes 1.5
  EXPECT_EQ(algorithm(1e-8), Algorithm::native);
  options.trusts_ranks = true;
  EXPECT_EQ(algorithm(1e-6), Algorithm::native);
  options.trusts_ranks = false;
  task.count = 1 << 18;  // 1 ms and more: the agreement is nothing, and our own must take half
  EXPECT_EQ(algorithm(1.5e-3), Algorithm::native);
  EXPECT_NE(algorithm(4e-3), Algorithm::native);
}

// There is one wherever something cannot run, and only there.
TEST(Choices, ObjectionsAreThoseOfWhatCanRun) {
  for (const Collective collective : kCollectives)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::prod})
      for (const int ranks : {1, 2, 6, 8})
        for (const unsigned kind : {0u, 1u, 2u, 4u, 8u, 16u, 31u})
          for (const Algorithm algorithm : kAlgorithms)
            for (const Scheme scheme : kSchemes) {
              Task task = task_of(1000, ranks, collective);
              if (reduces(collective)) task.op = op;
              task.lossy = (kind & 1) == 0;
              task.uneven = (kind & 2) != 0;
              task.has_native = (kind & 4) != 0;
              task.on_device = (kind & 8) != 0;
              task.ranks_per_node = (kind & 16) != 0 ? 2 : 1;
              EXPECT_EQ(objection_to(algorithm, scheme, task).why.empty(), can_run(algorithm, scheme, task))
                  << to_string(collective) << ", " << to_string(task.op) << ", " << to_string(algorithm)
                  << ", " << to_string(scheme) << ", " << ranks << " ranks, kind " << kind;
            }
}

// The reason, and what to take instead.
TEST(Choices, ErrorsTellWhy) {
  CodecChoice codec;
  const auto refused = [&](Task task, Algorithm algorithm, Scheme scheme,
                           std::initializer_list<const char*> parts) {
    CollectiveOptions options = options_of(algorithm, scheme);
    options.codec = codec;
    const Status status = choose(task, options, profile_with(1e9), {}).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    for (const char* const part : parts)
      EXPECT_NE(status.message().find(part), std::string::npos) << part << ": " << status.message();
  };
  using A = Algorithm;
  using S = Scheme;
  Task product = task_of(1000, 4), least = product, uneven = task_of(1000, 4, Collective::alltoall);
  product.op = ReduceOp::prod;
  least.op = ReduceOp::min;
  uneven.uneven = uneven.has_native = true;
  for (const S scheme : {S::hzccl, S::homcomp_ahead, S::homcomp_step, S::homcomp_fused})
    refused(product, A::automatic, scheme,
            {"allreduce prod", "cannot be multiplied", "take ccoll or cprp2p"});
  refused(least, A::ring, S::homcomp_fused, {"no minima and maxima", "take hzccl"});
  refused(task_of(1000, 4, Collective::bcast), A::automatic, S::hzccl,
          {"adds nothing", "take ccoll or cprp2p"});
  refused(task_of(1000, 4), A::native, S::hzccl, {"never compresses", "hzccl goes by ring, "});
  refused(task_of(1000, 4), A::native, S::automatic, {"has no collective of its own"});
  refused(uneven, A::native, S::automatic, {"the same count"});
  refused(uneven, A::bruck, S::automatic, {"bruck takes the same count"});
  refused(task_of(1000, 6, Collective::allgather), A::recursive_doubling, S::automatic,
          {"2, 4, 8", "there are 6"});
  least.on_device = true;
  codec = *registry().choose("cuszp2");
  refused(least, A::automatic, S::hzccl,
          {"on buffers of a GPU", "arithmetic does not run on GPUs", "take homcomp"});
}

TEST(Choices, MinimaOfStreamsOnGpus) {
  Task task = task_of(1000, 4);
  task.on_device = true;
  task.op = ReduceOp::min;
  CollectiveOptions options = options_of(Algorithm::automatic, Scheme::homcomp_step);
  options.codec = *registry().choose("homcomp");
  const Status status = choose(task, options, profile_with(1e9), {}).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Choices, ErrorsTellWhatTwoLevelsNeed) {
  const auto refused = [](int ranks, int per_node) {
    Task task = task_of(1000, ranks);
    task.ranks_per_node = per_node;
    const Status status = choose(task, options_of(Algorithm::two_level), profile_with(1e9), {}).status();
    EXPECT_NE(status.message().find("several nodes with equally many ranks"), std::string::npos);
    return status.message();
  };
  const auto says = [&](int ranks, int per_node, const char* part) {
    const std::string message = refused(ranks, per_node);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(4, 4, "all 4 ranks are on one node");
  says(4, 1, "each of 4 ranks has a node of its own");
  says(7, 4, "there are 7 ranks, 4 a node");
  says(4, 0, "different numbers of ranks");
  says(1, 1, "there is one rank");
}

TEST(Asking, OnlyWhereItCanPay) {
  const CollectiveOptions any = options_of(Algorithm::automatic);
  const Profile slow = profile_with(1e8), fast = profile_with(50e9);
  EXPECT_TRUE(worth_asking(task_of(64 << 20, 4), any, slow));
  EXPECT_TRUE(worth_asking(task_of(64 << 20, 4, Collective::bcast), any, slow));
  for (const std::uint64_t bytes : {0, 4, 1024, 4096})
    EXPECT_FALSE(worth_asking(task_of(bytes, 4), any, slow)) << bytes;
  EXPECT_FALSE(worth_asking(task_of(64 << 20, 4), any, fast));
  EXPECT_FALSE(worth_asking(task_of(64 << 20, 1), any, slow));
  EXPECT_FALSE(worth_asking(task_of(64 << 20, 4), any, Profile::unmeasured()));
  Task exact = task_of(64 << 20, 4);
  exact.lossy = false;
  EXPECT_FALSE(worth_asking(exact, any, slow));
  Task transports_own = task_of(64 << 20, 4);
  transports_own.has_native = true;
  EXPECT_FALSE(worth_asking(transports_own, options_of(Algorithm::native), slow));
  EXPECT_FALSE(worth_asking(task_of(64 << 20, 4), options_of(Algorithm::automatic, Scheme::plain), slow));
  EXPECT_TRUE(worth_asking(task_of(4, 4), options_of(Algorithm::automatic, Scheme::hzccl), fast));
}

// Where asking takes more than a twenty-fifth of the call, what it would likely gain decides.
TEST(Asking, ForALikelyGain) {
  const CollectiveOptions any = options_of(Algorithm::automatic);
  const Profile far = profile_with(1e8, 1e-3);
  const Task task = task_of(2 << 20, 4);
  const double exact =
      candidates(task, options_of(Algorithm::automatic, Scheme::plain), far, {}).front().seconds;
  EXPECT_GT(seconds_to_agree(task, far), exact / 25);
  EXPECT_TRUE(worth_asking(task, any, far));
  EXPECT_FALSE(worth_asking(task_of(256 << 10, 4), any, far));
  Profile slow_codec = far;
  slow_codec.codecs.front() = {"homcomp", line(5e7), line(5e7), line(5e7), line(5e7)};
  EXPECT_FALSE(worth_asking(task, any, slow_codec));
}

TEST(Asking, CostsRounds) {
  const Profile profile = profile_with(1e9, 10e-6);
  EXPECT_EQ(seconds_to_agree(task_of(4, 1), profile), 0);
  EXPECT_NEAR(seconds_to_agree(task_of(4, 2), profile), 10e-6, 1e-9);
  EXPECT_NEAR(seconds_to_agree(task_of(4, 5), profile), 30e-6, 1e-9);
}

Result<CollectiveOptions> with_environment(const CollectiveOptions& options, const Task& task) {
  HOMZ_ASSIGN(const Overrides overrides, overrides_of_environment());
  return overridden(options, overrides, task);
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"HOMZ_ALGORITHM", "HOMZ_SCHEME", "HOMZ_CODEC"}) ::unsetenv(name);
  }
};

TEST_F(Environment, HoldsWhereTheOptionsAreAutomatic) {
  const Task task = task_of(1000, 4);
  ::setenv("HOMZ_ALGORITHM", "recursive_doubling", 1);
  ::setenv("HOMZ_SCHEME", "homcomp-fused", 1);
  ::setenv("HOMZ_CODEC", "cuszp2:mode=plain", 1);
  const auto taken = with_environment(options_of(Algorithm::automatic), task);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->algorithm, Algorithm::recursive_doubling);
  EXPECT_EQ(taken->scheme, Scheme::homcomp_fused);
  EXPECT_EQ(taken->codec.codec->info().name, "cuszp2");
  CollectiveOptions said = options_of(Algorithm::ring, Scheme::plain);
  said.codec = *registry().choose("homcomp");
  const auto kept = with_environment(said, task);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->algorithm, Algorithm::ring);
  EXPECT_EQ(kept->scheme, Scheme::plain);
  EXPECT_EQ(kept->codec.codec->info().name, "homcomp");
}

std::string ignored_by(const Task& task,
                       const CollectiveOptions& options = options_of(Algorithm::automatic)) {
  const Result<Overrides> overrides = overrides_of_environment();
  EXPECT_TRUE(overrides.ok());
  return overrides.ok() ? ignored_overrides(overridden(options, *overrides, task), *overrides, task) : "";
}

TEST_F(Environment, DoesNotHoldForCallsThatItDoesNotSuit) {
  ::setenv("HOMZ_ALGORITHM", "rabenseifner", 1);
  ::setenv("HOMZ_SCHEME", "hzccl", 1);
  const auto moved = with_environment(options_of(Algorithm::automatic), task_of(1000, 4, Collective::bcast));
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved->algorithm, Algorithm::automatic);
  EXPECT_EQ(moved->scheme, Scheme::automatic);
  Task exact = task_of(1000, 4);
  exact.lossy = false;
  EXPECT_EQ(with_environment(options_of(Algorithm::automatic), exact)->scheme, Scheme::automatic);
  Task sum = task_of(1000, 4);
  sum.has_native = true;
  ::setenv("HOMZ_ALGORITHM", "native", 1);  // which compresses nothing
  EXPECT_EQ(with_environment(options_of(Algorithm::automatic), sum)->scheme, Scheme::automatic);
  EXPECT_EQ(with_environment(options_of(Algorithm::automatic, Scheme::hzccl), sum)->algorithm,
            Algorithm::automatic);
}

TEST_F(Environment, SaysWhatIsIgnored) {
  EXPECT_EQ(ignored_by(task_of(1000, 4)), "");
  ::setenv("HOMZ_ALGORITHM", "two-level", 1);
  ::setenv("HOMZ_SCHEME", "hzccl", 1);
  ::setenv("HOMZ_CODEC", "zstd", 1);
  Task product = task_of(1000, 4);
  product.op = ReduceOp::prod;
  const std::string told = ignored_by(product);
  EXPECT_EQ(told.find("; HOMZ_ALGORITHM=two-level is ignored: two-level needs"), 0u) << told;
  EXPECT_TRUE(told.ends_with("; HOMZ_SCHEME=hzccl is ignored: streams cannot be multiplied")) << told;
  // What the program says itself is no matter of the environment.
  EXPECT_EQ(ignored_by(product, options_of(Algorithm::ring, Scheme::ccoll)), "");
  product.on_device = true;
  EXPECT_NE(ignored_by(product).find("; HOMZ_CODEC=zstd"), std::string::npos) << ignored_by(product);
  const std::string by_codec = ignored_by(task_of(1000, 4), options_of(Algorithm::automatic, Scheme::hzccl));
  EXPECT_TRUE(by_codec.ends_with("shuffle=1 is ignored: it has no arithmetic, which the scheme needs"))
      << by_codec;
  ::setenv("HOMZ_CODEC", "cuszp2", 1);
  const std::string by_gpu = ignored_by(product, options_of(Algorithm::automatic, Scheme::hzccl));
  EXPECT_TRUE(by_gpu.ends_with("is ignored: its arithmetic does not run on GPUs")) << by_gpu;
  ::setenv("HOMZ_ALGORITHM", "native", 1);
  Task native = task_of(1000, 4);
  native.has_native = true;
  EXPECT_EQ(ignored_by(native),
            "; HOMZ_SCHEME=hzccl is ignored: native is the transport's own collective and never compresses");
}

TEST_F(Environment, AutoIsAsIfNotSet) {
  for (const char* name : {"HOMZ_ALGORITHM", "HOMZ_SCHEME", "HOMZ_CODEC"}) ::setenv(name, "auto", 1);
  const auto taken = with_environment(options_of(Algorithm::automatic), task_of(1000, 4));
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->algorithm, Algorithm::automatic);
  EXPECT_EQ(taken->scheme, Scheme::automatic);
  EXPECT_EQ(taken->codec.codec, nullptr);
  EXPECT_EQ(ignored_by(task_of(1000, 4, Collective::alltoall)), "");
}

TEST_F(Environment, WrongValuesAreErrors) {
  const std::pair<const char*, const char*> wrong[] = {
      {"HOMZ_ALGORITHM", "circle"}, {"HOMZ_SCHEME", "best"}, {"HOMZ_CODEC", "zip"}};
  for (const auto& [name, value] : wrong) {
    clear();
    ::setenv(name, value, 1);
    const Status status = with_environment(CollectiveOptions{}, task_of(1000, 4)).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_EQ(status.message().find(name), 0u) << status.message();
    ::setenv(name, "", 1);
    EXPECT_TRUE(with_environment(CollectiveOptions{}, task_of(1000, 4)).ok());
  }
}

}  // namespace
}  // namespace homz::test
