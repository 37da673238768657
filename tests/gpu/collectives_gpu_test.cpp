// Collectives on buffers of a GPU, with ranks that are threads and share it: the bits of the same calls on
// the host.
#include <algorithm>

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

Request request_of(Collective collective, std::uint64_t count, Algorithm algorithm, Scheme scheme,
                   ReduceOp op = ReduceOp::sum, Dtype dtype = Dtype::f32) {
  Request request{.collective = collective,
                  .count = count,
                  .algorithm = algorithm,
                  .scheme = scheme,
                  .op = reduces(collective) ? op : ReduceOp::none,
                  .dtype = dtype};
  request.abs_error = scheme == Scheme::plain ? 0 : kBound;
  request.options.piece_values = 1 << 16;
  return request;
}

constexpr Scheme kSchemes[] = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                               Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                               Scheme::homcomp_fused};

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
    if (is_homomorphic(GetParam()) && op != ReduceOp::average) continue;
    check_as_on_host(3, request_of(Collective::allreduce, 5003, Algorithm::ring, GetParam(), op));
    check_as_on_host(3, request_of(Collective::reduce, 5003, Algorithm::direct, GetParam(), op, Dtype::f64));
    check_as_on_host(4, request_of(Collective::reduce_scatter, 1003, Algorithm::ring, GetParam(), op));
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, GpuCollectives, testing::ValuesIn(kSchemes), [](const auto& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
});

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
