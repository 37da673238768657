#include "tests/gpu/transports.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "collectives/loopback.hpp"
#include "collectives/profile.hpp"

namespace homz::test {
namespace {

void expect_ok(const Status& status) {
  EXPECT_TRUE(status.ok()) << status.message();
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(r);
  return ranks;
}

// An error if it takes a minute.
Status wait_until(Transport& transport, const std::function<bool()>& is_done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::minutes(1);
  while (!is_done()) {
    HOMZ_TRY(transport.poll());
    if (Clock::now() > end) return Status(Code::io, "messages do not arrive");
    transport.yield();
  }
  return Status();
}

}  // namespace

namespace {

void with_transports(int ranks, const MakeTransport& make,
                     const std::function<void(std::unique_ptr<Transport>)>& work) {
  const auto gpus = gpu::count();
  ASSERT_TRUE(gpus.ok()) << gpus.status().message();
  std::vector<std::thread> threads;
  auto controls = loopback(ranks, ranks);
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r, own = std::move(controls[static_cast<std::size_t>(r)])]() mutable {
      expect_ok(gpu::use(r % *gpus));
      auto transport = make(std::move(own));
      ASSERT_TRUE(transport.ok()) << transport.status().message();
      EXPECT_TRUE((*transport)->moves_device_memory());
      work(std::move(*transport));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void on_gpus(int ranks, const MakeTransport& make, const std::function<void(Transport&)>& work) {
  with_transports(ranks, make, [&](std::unique_ptr<Transport> transport) { work(*transport); });
}

void on_gpu_communicators(int ranks, const MakeTransport& make,
                          const std::function<void(Communicator&)>& work) {
  with_transports(ranks, make, [&](std::unique_ptr<Transport> transport) {
    auto communicator = Communicator::make(std::move(transport), Profile::unmeasured(), 60);
    ASSERT_TRUE(communicator.ok()) << communicator.status().message();
    work(*communicator);
  });
}

std::vector<std::byte> content_of(const Name& name, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8 + 1);
  std::uint64_t state =
      static_cast<std::uint64_t>(((name.from * 16 + name.to) * 256 + name.tag) * 16 + name.number + 1);
  for (std::uint64_t& word : words) word = state = state * 6364136223846793005u + 1442695040888963407u;
  std::vector<std::byte> content(bytes);
  if (bytes != 0) std::memcpy(content.data(), words.data(), bytes);
  return content;
}

Traffic::~Traffic() {
  for (Message& message : messages_)
    if (message.is_started && !message.pending.done) transport_.abandon(&message.pending);
}

Traffic::Message* Traffic::add(const Name& name, bool is_sent, std::uint64_t bytes) {
  auto memory = gpu::Memory::on_device(bytes);
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  if (!memory.ok()) return nullptr;
  Message& message = messages_.emplace_back();
  message.name = name;
  message.is_sent = is_sent;
  message.memory = std::make_shared<gpu::Memory>(std::move(*memory));
  return &message;
}

void Traffic::send(int to, int tag, std::uint64_t bytes, int number) {
  const Message* const message = add({transport_.rank(), to, tag, number}, true, bytes);
  if (message == nullptr) return;
  const auto content = content_of(message->name, bytes);
  expect_ok(gpu::copy(content, message->memory->bytes(), nullptr));
  expect_ok(gpu::wait(nullptr));
}

void Traffic::receive(int from, int tag, std::uint64_t bytes, int number, bool from_any) {
  Message* const message = add({from, transport_.rank(), tag, number}, false, bytes);
  if (message == nullptr) return;
  message->from_any = from_any;
  expect_ok(gpu::fill(message->memory->bytes(), std::byte{0xa5}, nullptr));
  expect_ok(gpu::wait(nullptr));
}

Status Traffic::start() {
  for (Message& message : messages_) {
    if (message.is_started) continue;
    const Bytes bytes = message.memory->bytes();
    const Name& name = message.name;
    const int from = message.from_any ? kAnyRank : name.from;
    HOMZ_TRY(message.is_sent
                 ? transport_.send_device(bytes, message.memory, name.to, name.tag, &message.pending)
                 : transport_.receive_device(bytes, from, name.tag, &message.pending));
    message.is_started = true;
  }
  return Status();
}

Status Traffic::finish() {
  HOMZ_TRY(start());
  HOMZ_TRY(wait_until(transport_, [&] {
    return std::ranges::all_of(messages_, [](const Message& m) { return m.pending.done; });
  }));
  for (Message& message : messages_)
    if (!message.is_sent) check(message);
  messages_.clear();
  return Status();
}

void Traffic::check(Message& message) {
  std::vector<std::byte> content(message.memory->size());
  expect_ok(gpu::copy(message.memory->bytes(), content, nullptr));
  expect_ok(gpu::wait(nullptr));
  const Name& name = message.name;
  EXPECT_TRUE(content == content_of(name, content.size()))
      << content.size() << " bytes from " << name.from << " to " << name.to << ", tag " << name.tag;
  EXPECT_EQ(message.pending.bytes, content.size());
  EXPECT_EQ(message.pending.from, name.from);
}

void exchange_all(Transport& transport) {
  constexpr std::uint64_t kLengths[] = {0, 1, 1000, std::uint64_t{1} << 26, 999};
  constexpr int kCount = static_cast<int>(std::size(kLengths));
  Traffic traffic(transport);
  for (int r = 0; r < transport.size(); ++r)
    for (int i = kCount - 1; i >= 0 && r != transport.rank(); --i) traffic.receive(r, i, kLengths[i]);
  for (int i = 0; i < kCount; ++i)
    for (int r = 0; r < transport.size(); ++r)
      if (r != transport.rank()) traffic.send(r, i, kLengths[i]);
  expect_ok(traffic.finish());
}

void exchange_in_order(Transport& transport) {
  constexpr int kTag = 32767, kMessages = 12;
  const int next = (transport.rank() + 1) % transport.size();
  const int last = (transport.rank() + transport.size() - 1) % transport.size();
  Traffic traffic(transport);
  for (int i = 0; i < kMessages; ++i) traffic.send(next, kTag, 4096, i);
  for (int i = 0; i < kMessages; ++i) traffic.receive(last, kTag, 4096, i);
  traffic.receive(last, 5, 77, 0, true);
  traffic.send(next, 5, 77);
  expect_ok(traffic.finish());
}

// From rank 0 to rank 1. The sender is not left waiting.
void check_wrong_length(Transport& transport) {
  if (transport.rank() > 1) return;
  Traffic traffic(transport);
  if (transport.rank() == 0) {
    traffic.send(1, 3, 100);
    expect_ok(traffic.finish());
    return;
  }
  traffic.receive(0, 3, 99);
  const Status status = traffic.finish();
  EXPECT_EQ(status.code(), Code::corrupt_stream) << status.message();
}

void check_abandoned_receive(Transport& transport) {
  {
    Traffic never(transport);
    never.receive((transport.rank() + 1) % transport.size(), 100, 1000);
    expect_ok(never.start());
    expect_ok(transport.poll());
  }
  exchange_in_order(transport);
}

void check_given_up_under_way(Transport& transport, std::latch& given_up) {
  if (transport.rank() < 2) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(200);
    Traffic traffic(transport);
    const bool is_sender = transport.rank() == 0;
    is_sender ? traffic.send(1, 0, 1 << 20) : traffic.receive(0, 0, 1 << 20);
    expect_ok(traffic.start());
    while (!is_sender && Clock::now() < end) expect_ok(transport.poll());
    if (is_sender) given_up.wait();
  }
  if (transport.rank() == 1) given_up.count_down();
  auto group = transport.group(all_ranks(transport.size()));
  ASSERT_TRUE(group.ok()) << group.status().message();
  exchange_in_order(**group);
}

void check_groups(Transport& transport) {
  std::vector<int> ranks = all_ranks(transport.size());
  std::ranges::reverse(ranks);
  auto reversed = transport.group(ranks);
  ASSERT_TRUE(reversed.ok()) << reversed.status().message();
  EXPECT_EQ((*reversed)->rank(), transport.size() - 1 - transport.rank());
  exchange_in_order(**reversed);
  if (transport.rank() < 2) {
    ranks = all_ranks(2);
    auto two = transport.group(ranks);
    ASSERT_TRUE(two.ok()) << two.status().message();
    exchange_in_order(**two);
  }
  exchange_in_order(transport);
}

void check_messages_of_the_host(Transport& transport) {
  const int next = (transport.rank() + 1) % transport.size();
  const int last = (transport.rank() + transport.size() - 1) % transport.size();
  const auto sent = std::make_shared<std::vector<std::byte>>(content_of({transport.rank(), next, 0, 0}, 500));
  std::vector<std::byte> received(500);
  Pending sending, receiving;
  expect_ok(transport.receive(received, last, 0, &receiving));
  expect_ok(transport.send(*sent, sent, next, 0, &sending));
  expect_ok(wait_until(transport, [&] { return sending.done && receiving.done; }));
  EXPECT_TRUE(received == content_of({last, transport.rank(), 0, 0}, 500));
}

}  // namespace homz::test
