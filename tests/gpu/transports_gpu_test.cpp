// Messages from GPU to GPU by addresses. Ranks share GPUs where there are fewer.
#include <thread>

#include "collectives/loopback.hpp"
#include "collectives/peer.hpp"
#include "tests/gpu/support.hpp"
#include "tests/gpu/transports.hpp"

namespace homz::test {
namespace {

class PeerMessages : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(Transport&)>& work) { on_gpus(GetParam(), peer_transport, work); }
};

TEST_P(PeerMessages, OfAllLengthsBothWays) {
  HOMZ_NEEDS_GPU();
  run(exchange_all);
}

TEST_P(PeerMessages, OfOneTagInOrder) {
  HOMZ_NEEDS_GPU();
  run(exchange_in_order);
}

TEST_P(PeerMessages, OfTheWrongLengthAreErrors) {
  HOMZ_NEEDS_GPU();
  run(check_wrong_length);
}

TEST_P(PeerMessages, AreGivenUp) {
  HOMZ_NEEDS_GPU();
  run(check_abandoned_receive);
}

TEST_P(PeerMessages, AreGivenUpUnderWay) {
  HOMZ_NEEDS_GPU();
  std::latch given_up(1);
  run([&](Transport& transport) { check_given_up_under_way(transport, given_up); });
}

TEST_P(PeerMessages, InGroups) {
  HOMZ_NEEDS_GPU();
  run(check_groups);
}

TEST_P(PeerMessages, OfTheHost) {
  HOMZ_NEEDS_GPU();
  run(check_messages_of_the_host);
}

INSTANTIATE_TEST_SUITE_P(Ranks, PeerMessages, testing::Values(2, 3, 4), testing::PrintToStringParamName());

// Rank 1 could fetch it at any time: the memory stays until rank 0's transport is gone, and even then.
TEST(PeerTransport, KeepsWhatWasGivenUp) {
  HOMZ_NEEDS_GPU();
  on_gpus(2, peer_transport, [](Transport& transport) {
    if (transport.rank() != 0) return;
    auto memory = gpu::Memory::on_device(1000);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    auto owner = std::make_shared<gpu::Memory>(std::move(*memory));
    const std::weak_ptr<gpu::Memory> watched = owner;
    Pending pending;
    const ConstBytes bytes = owner->bytes();
    EXPECT_TRUE(transport.send_device(bytes, std::move(owner), 1, 0, &pending).ok());
    transport.abandon(&pending);
    EXPECT_TRUE(transport.poll().ok());
    EXPECT_FALSE(pending.done);
    EXPECT_FALSE(watched.expired());
  });
}

// The thread's own current GPU is left as it is.
TEST(PeerTransport, FindsItsGpu) {
  HOMZ_NEEDS_GPUS(2);
  on_gpus(2, peer_transport, [](Transport& transport) {
    Traffic traffic(transport);
    const int other = 1 - transport.rank();
    traffic.receive(other, 0, 5000);
    traffic.send(other, 0, 5000);
    EXPECT_TRUE(gpu::use(other).ok());
    const Status status = traffic.finish();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(*gpu::current(), other);
    EXPECT_TRUE(gpu::use(transport.rank()).ok());
  });
}

TEST(PeerTransport, OfSeveralHostsIsRefusedEverywhere) {
  std::vector<std::thread> threads;
  for (auto& control : loopback(3, 2))
    threads.emplace_back([own = std::move(control)]() mutable {
      const auto transport = peer_transport(std::move(own));
      EXPECT_EQ(transport.status().code(), Code::unsupported) << transport.status().message();
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace homz::test
