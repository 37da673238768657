// Messages between GPUs over any transport that moves them, with ranks that are threads.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/transport.hpp"
#include "core/gpu/gpu.hpp"

// At the head of a test: reports it as skipped where there are fewer GPUs.
#define HOMZ_NEEDS_GPUS(wanted)                           \
  if (const auto there = homz::gpu::count(); !there.ok()) \
    GTEST_SKIP() << there.status().message();             \
  else if (*there < (wanted))                             \
  GTEST_SKIP() << *there << " GPUs, " << (wanted) << " are needed"

namespace homz::test {

using MadeTransport = Result<std::unique_ptr<Transport>>;
using MakeTransport = std::function<MadeTransport(std::unique_ptr<Transport> control)>;

// A thread a rank, on one node, rank r on GPU r modulo their number; each makes its transport and destroys
// it.
void on_gpus(int ranks, const MakeTransport& make, const std::function<void(Transport&)>& work);

// The same with communicators.
void on_gpu_communicators(int ranks, const MakeTransport& make,
                          const std::function<void(Communicator&)>& work);

// The bytes of a message are made of this.
struct Name {
  int from, to, tag, number;
};
std::vector<std::byte> content_of(const Name& name, std::uint64_t bytes);

// Messages of one rank that are under way, and their memory.
class Traffic {
 public:
  explicit Traffic(Transport& transport) : transport_(transport) {}
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Both take memory, for start(): where NCCL moves messages, taking some must not wait for the GPU once they
  // are under way. Number: of those between the two ranks with this tag.
  void send(int to, int tag, std::uint64_t bytes, int number = 0);
  // from_any: takes the message of `from`, the only one with this tag, by kAnyRank.
  void receive(int from, int tag, std::uint64_t bytes, int number = 0, bool from_any = false);
  // In the order in which they were asked for.
  Status start();
  // Starts what is not, and waits until all are done; an error if that takes a minute. Then contents are
  // checked.
  Status finish();

 private:
  struct Message {
    Name name;
    bool is_sent;
    bool from_any = false;
    std::shared_ptr<gpu::Memory> memory;
    bool is_started = false;
    Pending pending;
  };
  Message* add(const Name& name, bool is_sent, std::uint64_t bytes);
  void check(Message& message);

  Transport& transport_;
  std::deque<Message> messages_;
};

// Every rank to every other: lengths from nothing to 64 MiB, received in another order than sent.
void exchange_all(Transport& transport);
// Some of the same length and tag arrive in order.
void exchange_in_order(Transport& transport);
void check_wrong_length(Transport& transport);  // gives the transport up
// Receives that nothing comes for; others still work.
void check_abandoned_receive(Transport& transport);
// A message that rank 0 announces and rank 1 has begun to receive: then a group takes the transport's place.
void check_given_up_under_way(Transport& transport, std::latch& given_up);
void check_groups(Transport& transport);
void check_messages_of_the_host(Transport& transport);

}  // namespace homz::test
