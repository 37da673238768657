// Collectives on buffers of a GPU, with ranks that are threads and share it: the bits of the same calls on
// the host.
#include <algorithm>
#include <cmath>

#include "collectives/block.hpp"
#include "core/gpu/gpu.hpp"
#include "tests/collectives/requests.hpp"
#include "tests/gpu/support.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

void check_as_on_host(int ranks, Request request) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << request);
  const Answers host = perform_on(ranks, request);
  request.options.space = Space::device;
  const Answers gpu = perform_on(ranks, request);
  for (std::size_t r = 0; r < host.size(); ++r) {
    ASSERT_TRUE(host[r].status.ok()) << host[r].status.message();
    ASSERT_TRUE(gpu[r].status.ok()) << gpu[r].status.message();
    EXPECT_TRUE(gpu[r].out == host[r].out) << "rank " << r;
    EXPECT_EQ(gpu[r].report.scheme, host[r].report.scheme) << gpu[r].report.reason;
    EXPECT_EQ(gpu[r].report.algorithm, host[r].report.algorithm);
    EXPECT_EQ(gpu[r].report.sent_bytes, host[r].report.sent_bytes);
  }
}

class GpuCollectives : public testing::TestWithParam<Scheme> {};

TEST_P(GpuCollectives, Allreduce) {
  HOMZ_NEEDS_GPU();
  for (const int ranks : {2, 3, 4, 8})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                      Algorithm::direct, Algorithm::binomial})
      for (const std::uint64_t count : {0u, 1u, 33u, 10007u})
        check_as_on_host(ranks, request_of(Collective::allreduce, count, algorithm, GetParam()));
}

TEST_P(GpuCollectives, LongAllreduce) {
  HOMZ_NEEDS_GPU();
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      check_as_on_host(
          2, request_of(Collective::allreduce, (1 << 20) + 3, algorithm, GetParam(), ReduceOp::sum, dtype));
}

TEST_P(GpuCollectives, Operations) {
  HOMZ_NEEDS_GPU();
  for (const ReduceOp op : {ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod}) {
    if (!can_do(GetParam(), op)) continue;
    check_as_on_host(3, request_of(Collective::allreduce, 5003, Algorithm::ring, GetParam(), op));
    check_as_on_host(3, request_of(Collective::reduce, 5003, Algorithm::direct, GetParam(), op, Dtype::f64));
    check_as_on_host(4, request_of(Collective::reduce_scatter, 1003, Algorithm::ring, GetParam(), op));
  }
}

// In pieces of several chunks, and of less than one.
TEST_P(GpuCollectives, Extrema) {
  HOMZ_NEEDS_GPU();
  if (!can_do(GetParam(), ReduceOp::min)) GTEST_SKIP() << "the scheme has no minima and maxima";
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                      Algorithm::direct, Algorithm::binomial})
      for (const Dtype dtype : {Dtype::f32, Dtype::f64})
        for (const std::uint64_t count : {0u, 1u, 33u, 300007u})
          check_as_on_host(3, request_of(Collective::allreduce, count, algorithm, GetParam(), op, dtype));
}

INSTANTIATE_TEST_SUITE_P(Schemes, GpuCollectives, testing::ValuesIn(kAllSchemes), scheme_name);

TEST(GpuCalls, Movement) {
  HOMZ_NEEDS_GPU();
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::cprp2p}) {
    for (const std::uint64_t count : {0u, 1u, 5003u, 70001u}) {
      check_as_on_host(3, request_of(Collective::allgather, count, Algorithm::ring, scheme));
      check_as_on_host(3, request_of(Collective::bcast, count, Algorithm::binomial, scheme));
      check_as_on_host(4, request_of(Collective::scatter, count, Algorithm::binomial, scheme));
      check_as_on_host(4, request_of(Collective::gather, count, Algorithm::direct, scheme));
      check_as_on_host(3, request_of(Collective::alltoall, count, Algorithm::direct, scheme));
    }
  }
}

// NaN and infinities have the same bits in all results.
void check_values_without_quanta(Scheme scheme, ReduceOp op) {
  std::vector<Values<float>> results[2];
  for (const Space space : {Space::host, Space::device}) {
    auto& of_ranks = results[space == Space::device ? 1 : 0];
    of_ranks.resize(3);
    on_ranks(3, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      Values<float> in = rank_data<float>(rank, 9000), out(in.size());
      in[static_cast<std::size_t>(10 + rank)] = std::nanf("");
      in[20] = rank == 0 ? INFINITY : -INFINITY;
      in[30] = 1e30f;
      CollectiveOptions options;
      options.algorithm = Algorithm::ring;
      options.scheme = scheme;
      options.abs_error = scheme == Scheme::plain ? 0 : 1e25;  // that quanta of 1e30 have few bits
      options.space = space;
      const auto reduce = [&](ConstBytes from, Bytes to) {
        return communicator.allreduce(from, to, Dtype::f32, op, options);
      };
      const Status status = run_in(space, bytes_of(std::as_const(in)), bytes_of(out), reduce);
      ASSERT_TRUE(status.ok()) << status.message();
      of_ranks[static_cast<std::size_t>(rank)] = out;
    });
  }
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_TRUE(std::ranges::equal(bytes_of(results[0][r]), bytes_of(results[1][r])))
        << to_string(scheme) << ", " << to_string(op);
}

TEST(GpuCalls, ValuesWithoutQuanta) {
  HOMZ_NEEDS_GPU();
  for (const Scheme scheme : kAllSchemes)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
      if (can_do(scheme, op)) check_values_without_quanta(scheme, op);
}

TEST(GpuCalls, TwoLevelsAndRenewal) {
  HOMZ_NEEDS_GPU();
  on_ranks(
      4,
      [&](Communicator& communicator) {
        for (const bool is_second : {false, true}) {
          for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
            Request request = request_of(Collective::allreduce, 20011, Algorithm::two_level, scheme);
            const Answer host = perform(communicator, request);
            request.options.space = Space::device;
            const Answer gpu = perform(communicator, request);
            ASSERT_TRUE(host.status.ok()) << host.status.message();
            ASSERT_TRUE(gpu.status.ok()) << gpu.status.message();
            EXPECT_TRUE(gpu.out == host.out) << to_string(scheme);
          }
          if (is_second) break;
          Request wrong =
              request_of(Collective::allreduce, 10 + communicator.rank(), Algorithm::ring, Scheme::plain);
          wrong.options.space = Space::device;
          EXPECT_FALSE(perform(communicator, wrong).status.ok());
          ASSERT_TRUE(communicator.renew().ok());
        }
      },
      2);
}

TEST(GpuCalls, BuffersOfTheHostAreRefused) {
  HOMZ_NEEDS_GPU();
  on_ranks(1, [&](Communicator& communicator) {
    Values<float> values(100);
    CollectiveOptions options;
    options.space = Space::device;
    const Status status = communicator.allreduce(bytes_of(std::as_const(values)), bytes_of(values),
                                                 Dtype::f32, ReduceOp::sum, options);
    EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
  });
}

TEST(GpuCalls, ChooseByThemselves) {
  HOMZ_NEEDS_GPU();
  Request request = request_of(Collective::allreduce, 1 << 20, Algorithm::automatic, Scheme::automatic);
  request.options.space = Space::device;
  const Answers answers = perform_on(2, request);
  for (const Answer& answer : answers) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.message();
    EXPECT_FALSE(answer.report.reason.empty());
    EXPECT_TRUE(answer.out == answers[0].out);
  }
}

TEST(GpuCalls, AuditsSeeTheError) {
  HOMZ_NEEDS_GPU();
  Request request = request_of(Collective::allreduce, 50000, Algorithm::ring, Scheme::hzccl);
  request.options.space = Space::device;
  request.options.audit_every = 1;
  for (const Answer& answer : perform_on(2, request)) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.message();
    EXPECT_GT(answer.report.audited_error, 0);
    EXPECT_LE(answer.report.audited_error, kBound * 1.001);
  }
}

// With or without a GPU.
TEST(GpuCalls, MemoryThatIsNotThereHasAReason) {
  BlockPool pool;
  for (const Home home : {Home::pinned, Home::device}) {
    const Status status = pool.take(std::uint64_t{1} << 50, home).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message(), "out of memory");
  }
}

TEST(GpuCalls, WithoutAGpuAreRefused) {
  if (gpu::ready().ok()) GTEST_SKIP() << "there is a GPU";
  Request request = request_of(Collective::allreduce, 100, Algorithm::ring, Scheme::plain);
  request.options.space = Space::device;
  on_ranks(2, [&](Communicator& communicator) {
    Values<float> values(100);
    const Status status = communicator.allreduce(bytes_of(std::as_const(values)), bytes_of(values),
                                                 Dtype::f32, ReduceOp::sum, request.options);
    EXPECT_EQ(status.code(), Code::unsupported) << status.message();
  });
}

}  // namespace
}  // namespace homz::test
