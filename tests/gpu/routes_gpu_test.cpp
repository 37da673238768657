// Collectives whose messages go from GPU to GPU: the bits of the same calls on the host.
#include <algorithm>

#include "collectives/over_control.hpp"
#include "collectives/peer.hpp"
#include "tests/gpu/routes.hpp"

namespace homz::test {
namespace {

const MakeTransport kPeers = [](std::unique_ptr<Transport> control) {
  return peer_transport(std::move(control));
};

class GpuRoutes : public testing::TestWithParam<Scheme> {};

TEST_P(GpuRoutes, Reductions) {
  HOMZ_NEEDS_GPUS(1);
  for (const int ranks : {2, 3, 4}) {
    std::vector<Request> requests;
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                      Algorithm::direct, Algorithm::binomial})
      for (const std::uint64_t count : {0u, 1u, 33u, 10007u})
        requests.push_back(request_of(Collective::allreduce, count, algorithm, GetParam()));
    requests.push_back(request_of(Collective::allreduce, (1 << 20) + 3, Algorithm::ring, GetParam()));
    requests.push_back(request_of(Collective::allreduce, (1 << 20) + 3, Algorithm::direct, GetParam()));
    requests.push_back(request_of(Collective::reduce, 70001, Algorithm::direct, GetParam()));
    requests.push_back(request_of(Collective::reduce_scatter, 20011, Algorithm::ring, GetParam()));
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max})
      if (can_do(GetParam(), op))
        for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::direct})
          requests.push_back(request_of(Collective::allreduce, 300007, algorithm, GetParam(), op));
    check_as_on_host(kPeers, ranks, requests);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, GpuRoutes, testing::ValuesIn(kAllSchemes), scheme_name);

TEST(GpuRoute, Movement) {
  HOMZ_NEEDS_GPUS(1);
  std::vector<Request> requests;
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::cprp2p})
    for (const std::uint64_t count : {0u, 1u, 5003u, 70001u}) {
      requests.push_back(request_of(Collective::allgather, count, Algorithm::ring, scheme));
      requests.push_back(request_of(Collective::bcast, count, Algorithm::binomial, scheme));
      requests.push_back(request_of(Collective::scatter, count, Algorithm::binomial, scheme));
      requests.push_back(request_of(Collective::gather, count, Algorithm::direct, scheme));
      requests.push_back(request_of(Collective::alltoall, count, Algorithm::direct, scheme));
    }
  check_as_on_host(kPeers, 3, requests);
}

TEST(GpuRoute, DisagreementIsToldAndRenewed) {
  HOMZ_NEEDS_GPUS(1);
  on_gpu_communicators(3, kPeers, [&](Communicator& communicator) {
    const auto count = static_cast<std::uint64_t>(100000 + communicator.rank());
    Request wrong = request_of(Collective::allreduce, count, Algorithm::ring, Scheme::hzccl);
    wrong.options.space = Space::device;
    EXPECT_FALSE(perform(communicator, wrong).status.ok());
    ASSERT_TRUE(communicator.renew().ok());
    Request right = request_of(Collective::allreduce, 100000, Algorithm::ring, Scheme::hzccl);
    right.options.space = Space::device;
    const Answer answer = perform(communicator, right);
    EXPECT_TRUE(answer.status.ok()) << answer.status.message();
  });
}

// Of the host and of GPUs, on one communicator.
TEST(GpuRoute, SpacesMix) {
  HOMZ_NEEDS_GPUS(1);
  Request request = request_of(Collective::allreduce, 50021, Algorithm::ring, Scheme::hzccl);
  on_gpu_communicators(2, kPeers, [&](Communicator& communicator) {
    const Answer first = perform(communicator, request);
    for (const Space space : {Space::device, Space::host, Space::device}) {
      Request next = request;
      next.options.space = space;
      const Answer answer = perform(communicator, next);
      ASSERT_TRUE(answer.status.ok()) << answer.status.message();
      EXPECT_TRUE(answer.out == first.out);
    }
  });
}

// Flips a bit of one message of rank 0 from GPU to GPU.
class Damaging final : public OverControl {
 public:
  Damaging(std::unique_ptr<Transport> peers, int number)
      : OverControl(std::move(peers), nullptr), number_(number) {}

  Status send_device(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
                     Pending* pending) override {
    if (rank() != 0 || sent_++ != number_)
      return OverControl::send_device(bytes, std::move(owner), to, tag, pending);
    HOMZ_ASSIGN(gpu::Memory copied, gpu::Memory::on_device(bytes.size()));
    const auto damaged = std::make_shared<gpu::Memory>(std::move(copied));
    std::vector<std::byte> content(bytes.size());
    HOMZ_TRY(gpu::copy(bytes, content, nullptr));
    HOMZ_TRY(gpu::wait(nullptr));
    content[content.size() / 2] ^= std::byte{4};
    HOMZ_TRY(gpu::copy(content, damaged->bytes(), nullptr));
    HOMZ_TRY(gpu::wait(nullptr));
    return OverControl::send_device(damaged->bytes(), damaged, to, tag, pending);
  }
  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    return control().group(ranks);
  }

 private:
  int number_, sent_ = 0;
};

// Whichever piece it is, those behind it are decoded or combined well before anybody looks.
TEST(GpuRoute, DamageIsToldAndRenewed) {
  HOMZ_NEEDS_GPUS(1);
  for (const Scheme scheme : {Scheme::hzccl, Scheme::homcomp_fused, Scheme::ccoll})
    for (const int number : {0, 3, 7}) {
      SCOPED_TRACE(testing::Message() << to_string(scheme) << ", message " << number);
      Request request = request_of(Collective::allreduce, 8 << 16, Algorithm::ring, scheme);
      const Answers wanted = perform_on(2, request);
      request.options.space = Space::device;
      const auto damaging = [&](std::unique_ptr<Transport> control) -> MadeTransport {
        HOMZ_ASSIGN(auto peers, peer_transport(std::move(control)));
        return std::unique_ptr<Transport>(new Damaging(std::move(peers), number));
      };
      on_gpu_communicators(2, damaging, [&](Communicator& communicator) {
        const Status status = perform(communicator, request).status;
        EXPECT_FALSE(communicator.rank() == 1 && status.ok());  // rank 0 may be done by then
        ASSERT_TRUE(communicator.renew().ok());
        const Answer answer = perform(communicator, request);
        ASSERT_TRUE(answer.status.ok()) << answer.status.message();
        EXPECT_TRUE(answer.out == wanted[static_cast<std::size_t>(communicator.rank())].out);
      });
    }
}

// The caller may work on another GPU while a call goes on.
TEST(GpuRoute, AnotherGpuIsCurrentMeanwhile) {
  HOMZ_NEEDS_GPUS(2);
  Request request = request_of(Collective::allreduce, 300007, Algorithm::ring, Scheme::hzccl);
  const Answers wanted = perform_on(2, request);
  on_gpu_communicators(2, kPeers, [&](Communicator& communicator) {
    const auto values = rank_data<float>(communicator.rank(), request.count);
    auto in = gpu::Memory::on_device(4 * request.count), out = gpu::Memory::on_device(4 * request.count);
    ASSERT_TRUE(in.ok() && out.ok());
    ASSERT_TRUE(gpu::copy(bytes_of(values), in->bytes(), nullptr).ok() && gpu::wait(nullptr).ok());
    CollectiveOptions options = options_of(request.algorithm, request.scheme);
    options.space = Space::device;
    auto call = communicator.start_allreduce(in->bytes(), out->bytes(), Dtype::f32, ReduceOp::sum, options);
    ASSERT_TRUE(call.ok()) << call.status().message();
    const int own = communicator.rank();
    ASSERT_TRUE(gpu::use(1 - own).ok());
    EXPECT_TRUE(call->wait().ok());
    const Status refused =
        communicator.allreduce(in->bytes(), out->bytes(), Dtype::f32, ReduceOp::sum, options);
    EXPECT_EQ(refused.code(), Code::invalid_argument) << refused.message();
    ASSERT_TRUE(gpu::use(own).ok());
    std::vector<std::byte> back(4 * request.count);
    ASSERT_TRUE(gpu::copy(out->bytes(), back, nullptr).ok() && gpu::wait(nullptr).ok());
    EXPECT_TRUE(back == wanted[static_cast<std::size_t>(own)].out);
  });
}

// Plans, and calls that go on in the background, two at a time.
TEST(GpuRoute, PlansAndNonBlockingCalls) {
  HOMZ_NEEDS_GPUS(1);
  constexpr std::uint64_t kCount = 300007;
  Request request = request_of(Collective::allreduce, kCount, Algorithm::ring, Scheme::homcomp_fused);
  const Answers wanted = perform_on(2, request);
  on_gpu_communicators(2, kPeers, [&](Communicator& communicator) {
    const auto values = rank_data<float>(communicator.rank(), kCount);
    const ConstBytes bytes = bytes_of(values);
    auto in = gpu::Memory::on_device(bytes.size()), out = gpu::Memory::on_device(bytes.size()),
         other = gpu::Memory::on_device(bytes.size());
    ASSERT_TRUE(in.ok() && out.ok() && other.ok());
    ASSERT_TRUE(gpu::copy(bytes, in->bytes(), nullptr).ok());
    CollectiveOptions options = request.options;
    options.algorithm = request.algorithm;
    options.scheme = request.scheme;
    options.abs_error = request.abs_error;
    options.space = Space::device;
    auto plan = communicator.plan_allreduce(in->bytes(), out->bytes(), Dtype::f32, ReduceOp::sum, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (int i = 0; i < 3; ++i) {
      auto planned = plan->start();
      auto free =
          communicator.start_allreduce(in->bytes(), other->bytes(), Dtype::f32, ReduceOp::sum, options);
      ASSERT_TRUE(planned.ok() && free.ok());
      EXPECT_TRUE(free->wait().ok());
      EXPECT_TRUE(planned->wait().ok());
      for (gpu::Memory* const result : {&*out, &*other}) {
        std::vector<std::byte> back(bytes.size());
        ASSERT_TRUE(gpu::copy(result->bytes(), back, nullptr).ok() && gpu::wait(nullptr).ok());
        EXPECT_TRUE(back == wanted[static_cast<std::size_t>(communicator.rank())].out);
      }
    }
  });
}

}  // namespace
}  // namespace homz::test
