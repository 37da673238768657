// The transport over NCCL: messages, and NCCL's own collectives against results of the host. Two GPUs.
#include <nccl.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "collectives/loopback.hpp"
#include "collectives/nccl.hpp"
#include "collectives/peer.hpp"
#include "tests/collectives/ranks.hpp"
#include "tests/gpu/routes.hpp"
#include "tests/gpu/support.hpp"

namespace homz::test {
namespace {

constexpr int kRanks = 2;

MadeTransport over_nccl(std::unique_ptr<Transport> control) {
  return nccl_transport(std::move(control));
}

MadeTransport over_peers(std::unique_ptr<Transport> control) {
  HOMZ_ASSIGN(auto peers, peer_transport(std::move(control)));
  return nccl_transport(std::move(peers));
}

class NcclMessages : public testing::TestWithParam<bool> {  // whether NCCL moves them itself
 protected:
  void run(const std::function<void(Transport&)>& work) {
    on_gpus(kRanks, GetParam() ? over_nccl : over_peers, work);
  }
};

TEST_P(NcclMessages, OfAllLengthsBothWays) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(exchange_all);
}

TEST_P(NcclMessages, OfOneTagInOrder) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(exchange_in_order);
}

TEST_P(NcclMessages, OfTheWrongLengthAreErrors) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(check_wrong_length);
}

TEST_P(NcclMessages, AreGivenUp) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(check_abandoned_receive);
}

TEST_P(NcclMessages, AreGivenUpUnderWay) {
  HOMZ_NEEDS_GPUS(kRanks);
  std::latch given_up(1);
  run([&](Transport& transport) { check_given_up_under_way(transport, given_up); });
}

TEST_P(NcclMessages, InGroups) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(check_groups);
}

TEST_P(NcclMessages, OfTheHost) {
  HOMZ_NEEDS_GPUS(kRanks);
  run(check_messages_of_the_host);
}

INSTANTIATE_TEST_SUITE_P(By, NcclMessages, testing::Bool(),
                         [](const auto& info) { return info.param ? "Nccl" : "Peers"; });

TEST_P(NcclMessages, OfCollectives) {
  HOMZ_NEEDS_GPUS(kRanks);
  std::vector<Request> requests;
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::direct})
      for (const std::uint64_t count : {0u, 1u, 10007u, (1u << 20) + 3})
        requests.push_back(request_of(Collective::allreduce, count, algorithm, scheme));
  for (const Scheme scheme : {Scheme::plain, Scheme::ccoll})
    requests.push_back(request_of(Collective::alltoall, 70001, Algorithm::direct, scheme));
  requests.push_back(
      request_of(Collective::allreduce, 300007, Algorithm::ring, Scheme::hzccl, ReduceOp::max));
  check_as_on_host(GetParam() ? over_nccl : over_peers, kRanks, requests);
}

TEST_P(NcclMessages, OfCallsThatDisagree) {
  HOMZ_NEEDS_GPUS(kRanks);
  on_gpu_communicators(kRanks, GetParam() ? over_nccl : over_peers, [&](Communicator& communicator) {
    for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
      Request right = request_of(Collective::allreduce, 100000, Algorithm::ring, scheme);
      right.options.space = Space::device;
      Request wrong = right;
      wrong.count += static_cast<std::uint64_t>(communicator.rank());
      EXPECT_FALSE(perform(communicator, wrong).status.ok());
      ASSERT_TRUE(communicator.renew().ok());
      EXPECT_TRUE(perform(communicator, right).status.ok());
    }
  });
}

// NCCL's own are the choice of uncompressed calls: in front of what follows on the stream, without a wait.
TEST(NcclTransport, UncompressedCallsAreNcclsOwn) {
  HOMZ_NEEDS_GPUS(kRanks);
  on_gpu_communicators(kRanks, over_peers, [&](Communicator& communicator) {
    Request request;
    request.count = 200003;
    request.options.space = Space::device;
    request.options.trusts_ranks = true;
    const Answer exact = perform(communicator, request);
    ASSERT_TRUE(exact.status.ok()) << exact.status.message();
    EXPECT_EQ(exact.report.algorithm, Algorithm::native);
    std::vector<Values<float>> all;
    for (int r = 0; r < kRanks; ++r) all.push_back(rank_data<float>(r, request.count));
    Values<float> sum(request.count);
    std::memcpy(sum.data(), exact.out.data(), exact.out.size());
    expect_within(sum, homz::test::exact<float>(all, ReduceOp::sum), 1e-6);
    request.abs_error = 1e-3;  // and it is audited as any other
    request.options.audit_every = 1;
    request.algorithm = Algorithm::native;
    const Answer audited = perform(communicator, request);
    ASSERT_TRUE(audited.status.ok()) << audited.status.message();
    EXPECT_GE(audited.report.audited_error, 0);
    EXPECT_LE(audited.report.audited_error, 1e-6);
  });
}

TEST(NcclTransport, WantsAGpuARank) {
  HOMZ_NEEDS_GPU();
  std::vector<std::thread> threads;
  for (auto& control : loopback(2, 2))
    threads.emplace_back([own = std::move(control)]() mutable {
      const auto transport = nccl_transport(std::move(own));
      EXPECT_EQ(transport.status().code(), Code::unsupported) << transport.status().message();
    });
  for (std::thread& thread : threads) thread.join();
}

// ---- Collectives

struct Case {
  Collective collective;
  ReduceOp op;
  std::uint64_t count;
  int root;
};

bool is_block_in(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::alltoall ||
         collective == Collective::scatter;
}

bool is_block_out(Collective collective) {
  return collective == Collective::allgather || collective == Collective::gather ||
         collective == Collective::alltoall;
}

template <class T>
std::vector<long double> expected(const Case& what, const std::vector<Values<T>>& inputs, std::size_t rank) {
  std::vector<long double> result;
  const auto add = [&](const auto& values, std::size_t block) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(block * what.count);
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(what.count));
  };
  const auto root = static_cast<std::size_t>(what.root);
  if (reduces(what.collective))
    add(exact(inputs, what.op), what.collective == Collective::reduce_scatter ? rank : 0);
  else if (what.collective == Collective::bcast)
    add(inputs[root], 0);
  else if (what.collective == Collective::scatter)
    add(inputs[root], rank);
  else
    for (const Values<T>& values : inputs) add(values, what.collective == Collective::alltoall ? rank : 0);
  return result;
}

template <class T>
Values<T> run(Transport& transport, const Case& what, const Values<T>& in, std::uint64_t out_count) {
  constexpr Dtype kDtype = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
  Values<T> out(out_count);
  auto from = gpu::Memory::on_device(in.size() * sizeof(T));
  auto to = gpu::Memory::on_device(out_count * sizeof(T));
  auto stream = gpu::Stream::make();
  EXPECT_TRUE(from.ok() && to.ok() && stream.ok());
  if (!from.ok() || !to.ok() || !stream.ok()) return out;
  EXPECT_TRUE(gpu::copy(bytes_of(in), from->bytes(), stream->get()).ok());
  const bool is_bcast = what.collective == Collective::bcast;
  const Bytes result = is_bcast ? from->bytes() : to->bytes();
  EXPECT_TRUE(transport.has_native(what.collective, what.count, Space::device));
  const Status status = transport.native(what.collective, what.op, kDtype, from->bytes(), result, what.count,
                                         what.root, device(stream->get()));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(gpu::copy(result, bytes_of(out), stream->get()).ok());
  const Status waited = gpu::wait(stream->get());
  EXPECT_TRUE(waited.ok()) << waited.message();
  return out;
}

template <class T>
void check_native(Transport& transport, const Case& what) {
  SCOPED_TRACE(testing::Message() << to_string(what.collective) << " " << to_string(what.op) << ", "
                                  << what.count << " values of " << sizeof(T) << " bytes, root "
                                  << what.root);
  const auto n = static_cast<std::uint64_t>(transport.size());
  const std::uint64_t in_count = what.count * (is_block_in(what.collective) ? n : 1);
  const std::uint64_t out_count = what.count * (is_block_out(what.collective) ? n : 1);
  std::vector<Values<T>> inputs;
  for (int r = 0; r < transport.size(); ++r) inputs.push_back(rank_data<T>(r, in_count));
  const auto rank = static_cast<std::size_t>(transport.rank());
  const Values<T> out = run(transport, what, inputs[rank], out_count);
  const bool roots_only = what.collective == Collective::reduce || what.collective == Collective::gather;
  if (roots_only && transport.rank() != what.root) return;
  const auto wanted = expected(what, inputs, rank);
  ASSERT_EQ(out.size(), wanted.size());
  const double bound =
      reduces(what.collective) ? 4 * static_cast<double>(n) * std::numeric_limits<T>::epsilon() : 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_LE(std::fabs(static_cast<double>(out[i] - wanted[i])), bound) << "value " << i;
}

void check_natives(Transport& transport) {
  EXPECT_FALSE(transport.has_native(Collective::allreduce, 1, Space::host));
  for (auto collective = Collective::allreduce; collective <= Collective::alltoall;
       collective = static_cast<Collective>(static_cast<int>(collective) + 1))
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod})
      for (const std::uint64_t count : {0u, 1u, 1000u, 300007u}) {
        if (!reduces(collective) && op != ReduceOp::sum) continue;
        const Case what{collective, reduces(collective) ? op : ReduceOp::none, count, 1};
        check_native<float>(transport, what);
        check_native<double>(transport, what);
      }
}

TEST(NcclCollectives, AreThoseOfTheHost) {
  HOMZ_NEEDS_GPUS(kRanks);
  on_gpus(kRanks, over_nccl, check_natives);
}

TEST(NcclCollectives, OverMessagesOfPeers) {
  HOMZ_NEEDS_GPUS(kRanks);
  on_gpus(kRanks, over_peers, check_natives);
}

TEST(NcclCollectives, OnTheApplicationsCommunicator) {
  HOMZ_NEEDS_GPUS(kRanks);
  ncclComm_t communicators[kRanks];
  ASSERT_EQ(ncclCommInitAll(communicators, kRanks, nullptr), ncclSuccess);
  const auto make = [&](std::unique_ptr<Transport> control) {
    ncclComm_t const own = communicators[control->rank()];
    return nccl_transport(std::move(control), own);
  };
  on_gpus(kRanks, make, [](Transport& transport) {
    check_natives(transport);
    exchange_in_order(transport);
  });
  for (ncclComm_t communicator : communicators) EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);
}

TEST(NcclCollectives, InPlaceAlltoallIsRefused) {
  HOMZ_NEEDS_GPUS(kRanks);
  on_gpus(kRanks, over_nccl, [](Transport& transport) {
    auto memory = gpu::Memory::on_device(64);
    ASSERT_TRUE(memory.ok());
    const Status status = transport.native(Collective::alltoall, ReduceOp::none, Dtype::f32, memory->bytes(),
                                           memory->bytes(), 8, 0, device(nullptr));
    EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
  });
}

}  // namespace
}  // namespace homz::test
