// Movement, and reductions that end on some ranks only: bound and identity, for any number of ranks and
// values; the same in place.
#include <barrier>
#include <initializer_list>
#include <numeric>

#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

struct Case {
  int ranks;
  std::uint64_t count;  // of a rank
  Algorithm algorithm;
  Scheme scheme;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.ranks << " ranks, " << c.count << " values, " << to_string(c.algorithm) << ", "
             << to_string(c.scheme);
}

CollectiveOptions options_of(const Case& c) {
  CollectiveOptions options;
  options.algorithm = c.algorithm;
  options.scheme = c.scheme;
  options.abs_error = c.scheme == Scheme::plain ? 0 : kBound;
  options.timeout_seconds = 60;
  options.piece_values = 4096;
  return options;
}

double bound_of(const Case& c) {
  return c.scheme == Scheme::plain ? 0 : kBound;
}
double sum_bound_of(const Case& c) {
  return c.scheme == Scheme::plain ? c.ranks * c.ranks * 1e-7 : kBound;
}

using Test = std::function<void(Communicator&, const Case&, const CollectiveOptions&)>;

void for_all(std::initializer_list<Algorithm> algorithms, std::initializer_list<Scheme> schemes,
             const Test& test, std::initializer_list<int> numbers_of_ranks = {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
  for (const int ranks : numbers_of_ranks)
    for (const std::uint64_t count : {0u, 1u, 33u, 5003u})
      for (const Algorithm algorithm : algorithms)
        for (const Scheme scheme : schemes) {
          const bool is_power = (ranks & (ranks - 1)) == 0;
          if (algorithm == Algorithm::recursive_doubling && !is_power) continue;
          const Case c{ranks, count, algorithm, scheme};
          SCOPED_TRACE(testing::Message() << c);
          on_ranks(ranks, [&](Communicator& communicator) {
            CallReport report;
            CollectiveOptions options = options_of(c);
            options.report = &report;
            test(communicator, c, options);
            if (ranks == 1) return;
            EXPECT_EQ(report.algorithm, algorithm) << c << ": " << report.reason;
            EXPECT_EQ(report.scheme, scheme) << c << ": " << report.reason;
          });
        }
}

constexpr auto kMoved = {Scheme::plain, Scheme::ccoll, Scheme::cprp2p};
constexpr auto kReduced = {Scheme::plain,         Scheme::cprp2p,       Scheme::ccoll,        Scheme::hzccl,
                           Scheme::homcomp_ahead, Scheme::homcomp_step, Scheme::homcomp_fused};

std::vector<long double> wide(const Values<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<long double> wide_of_ranks(int ranks, std::uint64_t count) {
  std::vector<long double> all;
  for (int r = 0; r < ranks; ++r)
    for (const float x : rank_data<float>(r, count)) all.push_back(x);
  return all;
}

std::vector<Values<float>> inputs_of(int ranks, std::uint64_t count) {
  std::vector<Values<float>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, count));
  return inputs;
}

TEST(Movement, Bcast) {
  for_all({Algorithm::binomial, Algorithm::ring}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            for (const int root : {0, c.ranks - 1}) {
              const auto wanted = rank_data<float>(7, c.count);
              Values<float> data = communicator.rank() == root ? wanted : Values<float>(c.count);
              const Status status = communicator.bcast(bytes_of(data), Dtype::f32, root, options);
              ASSERT_TRUE(status.ok()) << status.message();
              expect_within(data, wide(wanted), bound_of(c));
            }
          });
}

TEST(Movement, Allgather) {
  for_all({Algorithm::ring, Algorithm::recursive_doubling, Algorithm::direct, Algorithm::bruck}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const auto n = static_cast<std::uint64_t>(c.ranks),
                       rank = static_cast<std::uint64_t>(communicator.rank());
            const auto own = rank_data<float>(communicator.rank(), c.count);
            Values<float> all(n * c.count);
            Status status = communicator.allgather(bytes_of(own), bytes_of(all), Dtype::f32, options);
            ASSERT_TRUE(status.ok()) << status.message();
            expect_within(all, wide_of_ranks(c.ranks, c.count), bound_of(c));
            // In place.
            Values<float> again(n * c.count);
            std::copy(own.begin(), own.end(), again.begin() + static_cast<std::ptrdiff_t>(rank * c.count));
            const Bytes place = bytes_of(again).subspan(rank * c.count * 4, c.count * 4);
            status = communicator.allgather(place, bytes_of(again), Dtype::f32, options);
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(again, all);
          });
}

// Rank r has 37 r + 1 values; rank 1 none.
std::vector<std::uint64_t> uneven_counts(int ranks) {
  std::vector<std::uint64_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(r == 1 ? 0 : 37 * static_cast<std::uint64_t>(r) + 1);
  return counts;
}

Values<float> uneven(int ranks) {
  Values<float> all;
  for (const std::uint64_t count : uneven_counts(ranks))
    for (const float x : rank_data<float>(static_cast<int>(count), count)) all.push_back(x);
  return all;
}

Values<float> own_uneven(int ranks, int rank) {
  const std::uint64_t count = uneven_counts(ranks)[static_cast<std::size_t>(rank)];
  return rank_data<float>(static_cast<int>(count), count);
}

TEST(Movement, Allgatherv) {
  for_all({Algorithm::ring, Algorithm::direct, Algorithm::bruck}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const auto wanted = uneven(c.ranks);
            Values<float> all(wanted.size());
            const auto own = own_uneven(c.ranks, communicator.rank());
            const Status status = communicator.allgatherv(bytes_of(own), bytes_of(all),
                                                          uneven_counts(c.ranks), Dtype::f32, options);
            ASSERT_TRUE(status.ok()) << status.message();
            expect_within(all, wide(wanted), bound_of(c));
          });
}

TEST(Movement, ScatterAndGather) {
  for_all({Algorithm::binomial, Algorithm::direct}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const int root = c.ranks / 2;
            const auto n = static_cast<std::uint64_t>(c.ranks);
            const bool is_root = communicator.rank() == root;
            const auto own = rank_data<float>(communicator.rank(), c.count);
            Values<float> all(is_root ? n * c.count : 0), back(c.count);
            Status status = communicator.gather(bytes_of(own), bytes_of(all), Dtype::f32, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
            if (is_root) expect_within(all, wide_of_ranks(c.ranks, c.count), bound_of(c));
            status =
                communicator.scatter(bytes_of(std::as_const(all)), bytes_of(back), Dtype::f32, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
            expect_within(back, wide(own), 2 * bound_of(c));
          });
}

TEST(Movement, ScattervAndGatherv) {
  for_all({Algorithm::binomial, Algorithm::direct}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const int root = c.ranks - 1;
            const bool is_root = communicator.rank() == root;
            const auto wanted = uneven(c.ranks);
            const auto counts = uneven_counts(c.ranks);
            const auto own = own_uneven(c.ranks, communicator.rank());
            Values<float> all(is_root ? wanted.size() : 0), back(own.size());
            Status status =
                communicator.gatherv(bytes_of(own), bytes_of(all), counts, Dtype::f32, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
            if (is_root) expect_within(all, wide(wanted), bound_of(c));
            status = communicator.scatterv(bytes_of(std::as_const(all)), bytes_of(back), counts, Dtype::f32,
                                           root, options);
            ASSERT_TRUE(status.ok()) << status.message();
            expect_within(back, wide(own), 2 * bound_of(c));
          });
}

TEST(Movement, Alltoall) {
  for_all({Algorithm::direct, Algorithm::bruck}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const auto n = static_cast<std::uint64_t>(c.ranks);
            const auto own = rank_data<float>(communicator.rank(), n * c.count);
            Values<float> received(n * c.count);
            const Status status =
                communicator.alltoall(bytes_of(own), bytes_of(received), Dtype::f32, options);
            ASSERT_TRUE(status.ok()) << status.message();
            std::vector<long double> wanted;
            for (int r = 0; r < c.ranks; ++r) {
              const auto theirs = rank_data<float>(r, n * c.count);
              const std::uint64_t first = static_cast<std::uint64_t>(communicator.rank()) * c.count;
              for (std::uint64_t i = 0; i < c.count; ++i) wanted.push_back(theirs[first + i]);
            }
            expect_within(received, wanted, bound_of(c));
          });
}

// From s to t: 3 s + 5 t values, and none from a rank to itself.
std::uint64_t between(int s, int t) {
  return s == t ? 0 : 3 * static_cast<std::uint64_t>(s) + 5 * static_cast<std::uint64_t>(t);
}

TEST(Movement, Alltoallv) {
  for_all({Algorithm::direct}, kMoved,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            std::vector<std::uint64_t> sent, received;
            Values<float> out, in;
            std::vector<long double> wanted;
            for (int r = 0; r < c.ranks; ++r) {
              sent.push_back(between(communicator.rank(), r));
              received.push_back(between(r, communicator.rank()));
              for (const float x : rank_data<float>(r, sent.back())) out.push_back(x);
              for (const float x : rank_data<float>(communicator.rank(), received.back()))
                wanted.push_back(x);
            }
            in.resize(wanted.size());
            const Status status = communicator.alltoallv(bytes_of(std::as_const(out)), sent, bytes_of(in),
                                                         received, Dtype::f32, options);
            ASSERT_TRUE(status.ok()) << status.message();
            expect_within(in, wanted, bound_of(c));
          });
}

// Encoded at every hop, close to what the type resolves.
TEST(Movement, TightBoundsGiveTheSameBits) {
  for (const Collective collective : {Collective::bcast, Collective::allgather, Collective::allreduce})
    for (const double bound : {1e-5, 1e-6, 3e-7, 1e-8}) {
      Request request{.collective = collective,
                      .count = 5000,
                      .algorithm = Algorithm::ring,
                      .scheme = Scheme::cprp2p,
                      .abs_error = bound};
      if (collective != Collective::allreduce) request.op = ReduceOp::none;
      const Answers answers = perform_on(5, request);
      for (const Answer& answer : answers) {
        ASSERT_TRUE(answer.status.ok()) << answer.status.message();
        EXPECT_EQ(answer.out, answers[0].out) << request << " within " << bound;
      }
    }
}

// Ranks send very different amounts, and choose alike all the same.
TEST(Movement, AlltoallvByItself) {
  const auto amount = [](int s, int t) { return s == 0 ? 100000u : static_cast<std::uint64_t>(3 * t); };
  for (const double bound : {0.0, kBound})
    on_ranks(3, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      std::vector<std::uint64_t> sent, received;
      Values<float> out, in;
      std::vector<long double> wanted;
      for (int r = 0; r < 3; ++r) {
        sent.push_back(amount(rank, r));
        received.push_back(amount(r, rank));
        for (const float x : rank_data<float>(r, sent.back())) out.push_back(x);
        for (const float x : rank_data<float>(rank, received.back())) wanted.push_back(x);
      }
      in.resize(wanted.size());
      CollectiveOptions options;
      options.abs_error = bound;
      options.timeout_seconds = 60;
      const Status status = communicator.alltoallv(bytes_of(std::as_const(out)), sent, bytes_of(in), received,
                                                   Dtype::f32, options);
      ASSERT_TRUE(status.ok()) << status.message();
      expect_within(in, wanted, bound);
    });
}

TEST(Movement, Reduce) {
  for_all({Algorithm::ring, Algorithm::rabenseifner, Algorithm::direct, Algorithm::binomial}, kReduced,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const int root = c.ranks - 1;
            const auto own = rank_data<float>(communicator.rank(), c.count);
            Values<float> result(communicator.rank() == root ? c.count : 0);
            const Status status = communicator.reduce(bytes_of(own), bytes_of(result), Dtype::f32,
                                                      ReduceOp::sum, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
            if (communicator.rank() == root)
              expect_within(result, exact(inputs_of(c.ranks, c.count), ReduceOp::sum), sum_bound_of(c));
          });
}

TEST(Movement, ReduceScatter) {
  for_all({Algorithm::ring, Algorithm::rabenseifner, Algorithm::direct}, kReduced,
          [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
            const auto n = static_cast<std::uint64_t>(c.ranks),
                       rank = static_cast<std::uint64_t>(communicator.rank());
            const auto own = rank_data<float>(communicator.rank(), n * c.count);
            Values<float> result(c.count);
            Status status = communicator.reduce_scatter_block(bytes_of(own), bytes_of(result), Dtype::f32,
                                                              ReduceOp::average, options);
            ASSERT_TRUE(status.ok()) << status.message();
            const auto all = exact(inputs_of(c.ranks, n * c.count), ReduceOp::average);
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * c.count);
            expect_within(result, {first, first + static_cast<std::ptrdiff_t>(c.count)}, sum_bound_of(c));
          });
}

// ---- In place: the bits that two buffers give.

constexpr auto kFewRanks = {1, 2, 5};

TEST(InPlace, ReduceAtTheRoot) {
  for_all(
      {Algorithm::ring, Algorithm::rabenseifner, Algorithm::direct, Algorithm::binomial}, kReduced,
      [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
        const int root = c.ranks / 2;
        const bool is_root = communicator.rank() == root;
        Values<float> own = rank_data<float>(communicator.rank(), c.count), apart(is_root ? c.count : 0);
        for (const Bytes out : {bytes_of(apart), is_root ? bytes_of(own) : Bytes()}) {
          const Status status = communicator.reduce(bytes_of(std::as_const(own)), out, Dtype::f32,
                                                    ReduceOp::average, root, options);
          ASSERT_TRUE(status.ok()) << status.message();
        }
        EXPECT_EQ(own, is_root ? apart : rank_data<float>(communicator.rank(), c.count));
      },
      kFewRanks);
}

// Where a rank's values lie in those of all.
struct Own {
  std::uint64_t first, count;
};

Own own_of(const std::vector<std::uint64_t>& counts, int rank) {
  const auto own = counts.begin() + rank;
  return {std::accumulate(counts.begin(), own, std::uint64_t{0}), *own};
}

Bytes stretch(Values<float>& values, std::uint64_t first, std::uint64_t count) {
  return bytes_of(values).subspan(first * sizeof(float), count * sizeof(float));
}

// Even and uneven: all values, and how many are each rank's.
std::vector<std::vector<std::uint64_t>> counts_of(const Case& c) {
  return {std::vector<std::uint64_t>(static_cast<std::size_t>(c.ranks), c.count), uneven_counts(c.ranks)};
}

TEST(InPlace, Allgatherv) {
  for_all(
      {Algorithm::ring, Algorithm::direct, Algorithm::bruck}, kMoved,
      [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
        for (const auto& counts : counts_of(c)) {
          const auto [first, count] = own_of(counts, communicator.rank());
          const std::uint64_t all = own_of(counts, c.ranks - 1).first + counts.back();
          const auto own = rank_data<float>(communicator.rank(), count);
          Values<float> apart(all), together(all);
          std::ranges::copy(own, together.begin() + static_cast<std::ptrdiff_t>(first));
          Status status =
              communicator.allgatherv(bytes_of(own), bytes_of(apart), counts, Dtype::f32, options);
          ASSERT_TRUE(status.ok()) << status.message();
          status = communicator.allgatherv(stretch(together, first, count), bytes_of(together), counts,
                                           Dtype::f32, options);
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(together, apart);
        }
      },
      kFewRanks);
}

TEST(InPlace, GatherAndScatter) {
  for_all(
      {Algorithm::binomial, Algorithm::direct}, kMoved,
      [&](Communicator& communicator, const Case& c, const CollectiveOptions& options) {
        const int root = c.ranks / 2;
        const bool is_root = communicator.rank() == root;
        for (const auto& counts : counts_of(c)) {
          const bool is_even = counts.front() == counts.back();
          const auto [first, count] = own_of(counts, communicator.rank());
          const std::uint64_t all = is_root ? own_of(counts, c.ranks - 1).first + counts.back() : 0;
          const auto gather = [&](ConstBytes in, Bytes out) {
            const Status status = is_even ? communicator.gather(in, out, Dtype::f32, root, options)
                                          : communicator.gatherv(in, out, counts, Dtype::f32, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
          };
          const auto scatter = [&](ConstBytes in, Bytes out) {
            const Status status = is_even ? communicator.scatter(in, out, Dtype::f32, root, options)
                                          : communicator.scatterv(in, out, counts, Dtype::f32, root, options);
            ASSERT_TRUE(status.ok()) << status.message();
          };
          const auto own = rank_data<float>(communicator.rank(), count);
          Values<float> apart(all), together(all), out(count);
          if (is_root) std::ranges::copy(own, together.begin() + static_cast<std::ptrdiff_t>(first));
          gather(bytes_of(own), bytes_of(apart));
          gather(is_root ? stretch(together, first, count) : bytes_of(own), bytes_of(together));
          EXPECT_EQ(together, apart);

          const Values<float> scattered = rank_data<float>(77, all);
          Values<float> back = scattered, wanted = scattered;
          scatter(bytes_of(scattered), bytes_of(out));
          if (!is_root) {
            scatter({}, bytes_of(out));
            continue;
          }
          scatter(bytes_of(std::as_const(back)), stretch(back, first, count));
          std::ranges::copy(out, wanted.begin() + static_cast<std::ptrdiff_t>(first));
          EXPECT_EQ(back, wanted);  // and the others' values are left alone
        }
      },
      kFewRanks);
}

// Other overlaps: an error on all ranks, with the next call if this one is over, and nothing is written.
TEST(InPlace, OtherOverlapsAreRefused) {
  constexpr std::uint64_t k = 100;
  constexpr int kRanks = 3;
  using Wrong = Status (*)(Communicator&, Values<float>&, const CollectiveOptions&);
  constexpr Dtype f32 = Dtype::f32;
  constexpr ReduceOp sum = ReduceOp::sum;
  static constexpr auto at = stretch;
  const Wrong wrongs[] = {
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        return c.allreduce(at(v, 0, k), at(v, 1, k), f32, sum, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        return c.reduce(at(v, 1, k), at(v, 0, k), f32, sum, 1, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        const auto own = static_cast<std::uint64_t>(c.rank());
        return c.reduce_scatter_block(at(v, 0, kRanks * k), at(v, own * k, k), f32, sum, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        const std::uint64_t counts[] = {k, k, k};
        return c.reduce_scatter(at(v, 0, kRanks * k), at(v, 0, k), counts, f32, sum, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {  // another's place
        const auto next = static_cast<std::uint64_t>((c.rank() + 1) % kRanks);
        return c.allgather(at(v, next * k, k), at(v, 0, kRanks * k), f32, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        return c.gather(at(v, 0, k), at(v, 0, kRanks * k), f32, 1, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        return c.scatter(at(v, 0, kRanks * k), at(v, 1, k), f32, 0, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        return c.alltoall(at(v, 0, kRanks * k), at(v, 0, kRanks * k), f32, options);
      },
      [](Communicator& c, Values<float>& v, const CollectiveOptions& options) {
        const std::uint64_t counts[] = {k, k, k};
        return c.alltoallv(at(v, 0, kRanks * k), counts, at(v, 0, kRanks * k), counts, f32, options);
      },
  };
  const Watchdog watchdog(100);
  std::barrier<> all(kRanks);
  on_ranks(kRanks, [&](Communicator& communicator) {
    for (const Scheme scheme : {Scheme::plain, Scheme::ccoll})
      for (const Wrong wrong : wrongs) {
        SCOPED_TRACE(testing::Message() << "case " << &wrong - wrongs);
        CollectiveOptions options;
        options.scheme = scheme;
        options.abs_error = scheme == Scheme::plain ? 0 : kBound;
        const auto before = rank_data<float>(communicator.rank(), 4 * k);
        Values<float> values = before, other(k);
        Status status = wrong(communicator, values, options);
        if (status.ok())
          status = communicator.allreduce(bytes_of(before).first(bytes_of(other).size()), bytes_of(other),
                                          f32, sum, {});
        EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
        EXPECT_NE(status.message().find("overlap"), std::string::npos) << status.message();
        EXPECT_EQ(values, before);
        all.arrive_and_wait();
        ASSERT_TRUE(communicator.renew().ok());
      }
  });
  on_ranks(1, [&](Communicator& communicator) {  // one rank may do all of it
    Values<float> values(k, 1);
    EXPECT_TRUE(communicator.alltoall(at(values, 0, k), at(values, 0, k), f32, {}).ok());
    EXPECT_TRUE(communicator.reduce_scatter_block(at(values, 0, k), at(values, 0, k), f32, sum, {}).ok());
    EXPECT_EQ(values, Values<float>(k, 1));
  });
}

}  // namespace
}  // namespace homz::test
