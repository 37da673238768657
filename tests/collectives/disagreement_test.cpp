// Ranks that call different things, and calls that one rank gets wrong: all ranks get the same error, which
// says what differs, soon; then nothing until renew(), and then all is well.
#include <barrier>
#include <cctype>

#include "codecs/builtin.hpp"
#include "collectives/frame.hpp"
#include "collectives/loopback.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

bool names_two_ranks(const std::string& text) {
  constexpr std::string_view kRank = "rank ";
  int named = 0;
  for (std::size_t at = text.find(kRank); at != std::string::npos; at = text.find(kRank, at + 1)) {
    const std::size_t number = at + kRank.size();
    named += number < text.size() && std::isdigit(static_cast<unsigned char>(text[number])) != 0 ? 1 : 0;
  }
  return named >= 2;
}

// What the ranks get that `odd` differs from the others on: of this call, or, where a rank had nothing to
// wait for and has sent what it had, of the next one.
struct Outcome {
  std::vector<Status> of_rank;
  std::vector<bool> at_once;
};

Outcome disagree(int ranks, int odd, const Request& common, const Request& other) {
  Outcome outcome{std::vector<Status>(static_cast<std::size_t>(ranks)),
                  std::vector<bool>(static_cast<std::size_t>(ranks))};
  std::mutex guard;
  std::barrier<> all(ranks);
  on_ranks(ranks, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    const Request next{.collective = Collective::allreduce, .count = 10};
    Status status = perform(communicator, rank == odd ? other : common).status;
    const bool at_once = !status.ok();
    if (!at_once) status = perform(communicator, next).status;
    {
      const std::lock_guard lock(guard);
      outcome.of_rank[static_cast<std::size_t>(rank)] = status;
      outcome.at_once[static_cast<std::size_t>(rank)] = at_once;
    }
    const Status refused = perform(communicator, next).status;
    EXPECT_FALSE(refused.ok());
    EXPECT_NE(refused.message().find("renew"), std::string::npos) << refused.message();
    all.arrive_and_wait();
    ASSERT_TRUE(communicator.renew().ok());
    const Status renewed = perform(communicator, common).status;
    EXPECT_TRUE(renewed.ok()) << renewed.message();
  });
  return outcome;
}

void expect_disagreement(int ranks, int odd, const Request& common, const Request& other,
                         const std::string& said) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, rank " << odd << " calls " << other << "; others "
                                  << common);
  const Outcome outcome = disagree(ranks, odd, common, other);
  // Roots of trees may send what nobody waits for.
  const bool is_unseen =
      common.scheme <= Scheme::plain && (has_root(common.collective) || has_root(other.collective));
  for (std::size_t r = 0; r < outcome.of_rank.size(); ++r) {
    const Status& status = outcome.of_rank[r];
    EXPECT_EQ(status.code(), Code::invalid_argument) << "rank " << r << ": " << status.message();
    EXPECT_TRUE(names_two_ranks(status.message())) << status.message();
    const auto has = [&](const std::string& text) {
      return status.message().find(text) != std::string::npos;
    };
    EXPECT_TRUE(has(said) || (is_unseen && has("earlier"))) << said << ": " << status.message();
    // Whoever gets something from others waits for it, and so gets the error at once.
    const bool is_tree = has_root(common.collective) && common.scheme <= Scheme::plain;
    if (!is_tree && other.collective == common.collective) {
      EXPECT_TRUE(outcome.at_once[r]) << "rank " << r;
    }
  }
}

class Disagreement : public testing::TestWithParam<Collective> {
 protected:
  // f(ranks, odd rank, what all but that rank call)
  template <class F>
  void for_all(std::initializer_list<Scheme> schemes, F&& f) {
    for (const int ranks : {2, 5})
      for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{20000}})
        for (const Scheme scheme : schemes) {
          if (is_homomorphic(scheme) && !reduces(GetParam())) continue;
          if (HasFailure()) return;
          Request request{.collective = GetParam(), .count = count, .scheme = scheme};
          request.op = reduces(GetParam()) ? ReduceOp::sum : ReduceOp::none;
          request.abs_error = scheme == Scheme::plain || scheme == Scheme::automatic ? 0 : kBound;
          f(ranks, (static_cast<int>(count) + ranks) % ranks, request);
        }
  }
  const Watchdog watchdog{60};
};

constexpr auto kSome = {Scheme::automatic, Scheme::ccoll, Scheme::hzccl};

TEST_P(Disagreement, OnTheCount) {
  for_all(kSome, [](int ranks, int odd, const Request& common) {
    Request other = common;
    other.count += 1;
    expect_disagreement(ranks, odd, common, other, std::to_string(common.count));
    other.count = common.count == 3 ? 50000 : 1;
    expect_disagreement(ranks, odd, common, other, std::to_string(common.count));
  });
}

TEST_P(Disagreement, OnTheType) {
  for_all(kSome, [](int ranks, int odd, const Request& common) {
    Request other = common;
    other.dtype = Dtype::f64;
    expect_disagreement(ranks, odd, common, other, "f64");
  });
}

TEST_P(Disagreement, OnTheOperation) {
  if (!reduces(GetParam())) return;
  for_all(kSome, [](int ranks, int odd, const Request& common) {
    Request other = common;
    other.op = ReduceOp::max;
    expect_disagreement(ranks, odd, common, other, "max");
  });
}

TEST_P(Disagreement, OnTheBound) {
  for_all({Scheme::automatic, Scheme::plain, Scheme::ccoll}, [](int ranks, int odd, const Request& common) {
    Request other = common;
    other.abs_error = 0.5;
    expect_disagreement(ranks, odd, common, other, "0.5");
  });
}

TEST_P(Disagreement, OnTheScheme) {
  for_all({Scheme::plain, Scheme::ccoll}, [](int ranks, int odd, Request common) {
    common.abs_error = kBound;
    Request other = common;
    other.scheme = Scheme::cprp2p;
    expect_disagreement(ranks, odd, common, other, "scheme");
  });
}

TEST_P(Disagreement, OnTheAlgorithm) {
  for_all(kSome, [](int ranks, int odd, Request common) {
    Request other = common;
    const bool is_bcast = common.collective == Collective::bcast;
    common.algorithm = is_bcast ? Algorithm::binomial : Algorithm::direct;
    const bool takes_ring =
        is_bcast || reduces(common.collective) || common.collective == Collective::allgather;
    other.algorithm = takes_ring                                  ? Algorithm::ring
                      : common.collective == Collective::alltoall ? Algorithm::bruck
                                                                  : Algorithm::binomial;
    expect_disagreement(ranks, odd, common, other, "algorithm");
  });
}

TEST_P(Disagreement, OnOtherOptions) {
  for_all({Scheme::automatic, Scheme::ccoll}, [](int ranks, int odd, const Request& common) {
    for (int i = 0; i < 4; ++i) {
      Request other = common;
      if (i == 0) other.options.piece_values = 1000;
      if (i == 1) other.options.sigmas = 3;
      if (i == 2) other.options.audit_every = 2;
      if (i == 3) other.options.codec = *registry().choose("cuszp");
      expect_disagreement(ranks, odd, common, other, "options");
    }
  });
}

TEST_P(Disagreement, OnTheCollective) {
  for (const int ranks : {2, 3, 4})
    for (const Collective theirs : kAllCollectives)
      for (const Scheme scheme : {Scheme::plain, Scheme::ccoll}) {
        if (theirs == GetParam()) continue;
        Request common{.collective = GetParam(), .count = 1000, .scheme = scheme};
        common.op = reduces(GetParam()) ? ReduceOp::sum : ReduceOp::none;
        common.abs_error = scheme == Scheme::plain ? 0 : kBound;
        Request other = common;
        other.collective = theirs;
        other.op = reduces(theirs) ? ReduceOp::sum : ReduceOp::none;
        expect_disagreement(ranks, 1, common, other, std::string(to_string(theirs)));
        if (HasFailure()) return;
      }
}

TEST_P(Disagreement, OnTheRoot) {
  if (!has_root(GetParam())) return;
  for_all(kSome, [](int ranks, int odd, const Request& common) {
    Request other = common;
    other.root = 1;
    expect_disagreement(ranks, odd, common, other, "root 0");
  });
}

TEST(Signatures, AreToldAsTheyAreCalled) {
  const auto told = [](Collective collective, bool has_counts) {
    CallSignature call;
    call.collective = collective;
    call.op = reduces(collective) ? ReduceOp::sum : ReduceOp::none;
    call.count = 5;
    call.has_counts = has_counts;
    return to_string(call);
  };
  EXPECT_EQ(told(Collective::allreduce, false), "allreduce sum of 5 f32, uncompressed");
  EXPECT_EQ(told(Collective::reduce, false), "reduce sum of 5 f32, uncompressed, root 0");
  EXPECT_EQ(told(Collective::bcast, false), "bcast of 5 f32, uncompressed, root 0");
  EXPECT_EQ(told(Collective::reduce_scatter, false), "reduce_scatter_block sum of 5 f32, uncompressed");
  EXPECT_EQ(told(Collective::reduce_scatter, true), "reduce_scatter sum of 5 f32, uncompressed");
  EXPECT_EQ(told(Collective::allgather, false), "allgather of 5 f32, uncompressed");
  EXPECT_EQ(told(Collective::allgather, true), "allgatherv of 5 f32, uncompressed");
  EXPECT_EQ(told(Collective::scatter, true), "scatterv of 5 f32, uncompressed, root 0");
  EXPECT_EQ(told(Collective::gather, true), "gatherv of 5 f32, uncompressed, root 0");
  EXPECT_EQ(told(Collective::alltoall, true), "alltoallv of 5 f32, uncompressed");
}

// Also where all else is the same: one value of each rank, or of the only one that has any.
TEST(Disagreements, OnCountsNameWhoGaveThem) {
  const Watchdog watchdog(60);
  on_ranks(2, [&](Communicator& communicator) {
    const std::uint64_t counts[] = {1, 1};
    Values<float> in(1, 1), out(2);
    const ConstBytes from = bytes_of(std::as_const(in));
    const Status status = communicator.rank() == 0
                              ? communicator.allgather(from, bytes_of(out), Dtype::f32, {})
                              : communicator.allgatherv(from, bytes_of(out), counts, Dtype::f32, {});
    EXPECT_EQ(status.code(), Code::invalid_argument);
    for (const char* const said : {"rank 0 calls allgather of ", "rank 1 calls allgatherv of "})
      EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
  });
}

INSTANTIATE_TEST_SUITE_P(All, Disagreement, testing::ValuesIn(kAllCollectives),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace homz::test
