// Memory of GPUs over MPI: whether MPI is to move it, and how it does, here with memory of the host, since to
// MPI it is all the same.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/gpu/gpu.hpp"
#include "tests/mpi/checks.hpp"

namespace homz::test {
namespace {

// What HOMZ_MPI_CUDA says to this rank, for a while; nullptr: nothing.
class Told {
 public:
  explicit Told(const char* value) {
    if (value != nullptr) setenv("HOMZ_MPI_CUDA", value, 1);
  }
  ~Told() { unsetenv("HOMZ_MPI_CUDA"); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
};

bool is_last() {
  return own_rank == ranks - 1;
}

std::vector<int> all_ranks() {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Bytes bytes_of(int& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

void all_ranks_decide_alike() {
  for (const bool last_wants : {true, false}) {
    const Told told(is_last() && !last_wants ? "0" : "1");
    const auto transport = make_transport();
    const bool moves = gpu::built() && last_wants;
    expect(transport->moves_device_memory() == moves, "who moves memory of GPUs");
    const auto group = transport->group(all_ranks());
    expect_ok(group.status(), "group");
    if (group.ok()) expect((*group)->moves_device_memory() == moves, "who moves it in a group");
  }
  const Told nothing(own_rank == 0 ? "auto" : nullptr);
  const int own = make_transport()->moves_device_memory() ? 1 : 0;
  int least = 0, most = 0;
  MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(least == most, "ranks differ in who moves memory of GPUs");
}

void values_of_no_meaning_are_refused_everywhere() {
  for (const char* const value : {"yes", "2", "01"}) {
    const Told told(is_last() ? value : nullptr);
    const Status status = mpi_transport(MPI_COMM_WORLD).status();
    expect(status.code() == Code::invalid_argument, std::string(value) + " is no error: " + status.message());
    const std::string wanted = is_last() ? fmt::format("HOMZ_MPI_CUDA: '{}' must be 0, 1 or auto", value)
                                         : std::string("HOMZ_MPI_CUDA of another rank");
    expect(status.message().starts_with(wanted), status.message());
  }
}

void without_it_they_are_refused() {
  const Told told("0");
  const auto transport = make_transport();
  int number = 0;
  Pending pending;
  expect(transport->send_device(bytes_of(number), nullptr, 0, 1, &pending).code() == Code::unsupported,
         "sent");
  expect(transport->receive_device(bytes_of(number), 0, 1, &pending).code() == Code::unsupported, "received");
}

// ---- Messages

// Round, in order, beside messages of the host with the same tags.
void messages_have_tags_of_their_own(Transport& transport) {
  constexpr std::size_t kCount = 50;
  const int n = transport.size(), next = (transport.rank() + 1) % n, last = (transport.rank() + n - 1) % n;
  std::vector<int> out(2 * kCount), in(2 * kCount, -1);
  std::vector<Pending> pendings(4 * kCount);
  std::iota(out.begin(), out.end(), 1000 * transport.rank());
  Pending* pending = pendings.data();
  for (std::size_t i = 0; i < kCount; ++i) {
    int &of_device = in[i], &of_host = in[kCount + i];
    const int from = i % 2 == 0 ? last : kAnyRank;
    expect_ok(transport.receive_device(bytes_of(of_device), from, 7, pending++), "receive_device");
    expect_ok(transport.send(bytes_of(out[kCount + i]), nullptr, next, 7, pending++), "send");
    expect_ok(transport.send_device(bytes_of(out[i]), nullptr, next, 7, pending++), "send_device");
    expect_ok(transport.receive(bytes_of(of_host), last, 7, pending++), "receive");
  }
  wait_for(transport, pendings);
  for (std::size_t i = 0; i < in.size(); ++i)
    expect(in[i] == 1000 * last + static_cast<int>(i), fmt::format("message {} is {}", i, in[i]));
  for (std::size_t i = 0; i < pendings.size(); i += 4)
    expect(pendings[i].bytes == sizeof(int) && pendings[i].from == last, "length and sender of a message");
}

void messages_of_any_length(Transport& transport) {
  const int next = (own_rank + 1) % ranks, last = (own_rank + ranks - 1) % ranks;
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{70000}, std::size_t{3} << 20}) {
    const auto out = std::make_shared<std::vector<std::byte>>(length, static_cast<std::byte>(own_rank + 1));
    std::vector<std::byte> in(length);
    std::vector<Pending> pendings(2);
    expect_ok(transport.send_device(*out, out, next, 0, &pendings[1]), "send_device");
    expect_ok(transport.receive_device(in, last, 0, pendings.data()), "receive_device");
    wait_for(transport, pendings);
    expect(pendings[0].bytes == length, "length of a message");
    expect(std::ranges::all_of(in, [&](std::byte b) { return b == static_cast<std::byte>(last + 1); }),
           "content of a message");
  }
}

// A receive has exactly the length of its message.
void messages_that_are_too_short_are_errors(Transport& transport) {
  std::vector<std::byte> out(100), in(120);
  Pending sent, received;
  expect_ok(transport.receive_device(in, own_rank, 3, &received), "receive_device");
  expect_ok(transport.send_device(out, nullptr, own_rank, 3, &sent), "send_device");
  Status status;
  for (int i = 0; i < 1000000 && status.ok(); ++i) status = transport.poll();
  expect(status.code() == Code::corrupt_stream &&
             status.message() ==
                 fmt::format("a message of rank {} has 100 bytes of a GPU, the receive for it 120", own_rank),
         "a message that is too short: " + status.message());
  expect(!received.done, "it is not done");
  transport.abandon(&received);
  while (!sent.done && transport.poll().ok()) transport.yield();
  expect(sent.done, "a send beside an error");
}

void receives_are_given_up(Transport& transport) {
  std::vector<std::byte> in(100);
  Pending never;
  expect_ok(transport.receive_device(in, kAnyRank, 9, &never), "receive_device");
  transport.abandon(&never);
  expect_ok(transport.poll(), "poll");
  expect(!never.done, "a receive that was given up");
}

// Their memory stays as long as MPI may read it.
void sends_are_given_up(Transport& transport) {
  const int next = (own_rank + 1) % ranks, last = (own_rank + ranks - 1) % ranks;
  constexpr std::size_t kLong = 1 << 20;
  {
    const auto bytes = std::make_shared<std::vector<std::byte>>(kLong, static_cast<std::byte>(own_rank));
    Pending pending;
    expect_ok(transport.send_device(*bytes, bytes, next, 4, &pending), "send_device");
    if (!pending.done) transport.abandon(&pending);
  }
  std::vector<std::byte> late(kLong);
  std::vector<Pending> one(1);
  expect_ok(transport.receive_device(late, last, 4, one.data()), "a late receive");
  wait_for(transport, one);
  expect(late.back() == static_cast<std::byte>(last), "bytes of a send that was given up");
}

void groups_have_messages_of_their_own(Transport& transport) {
  auto members = all_ranks();
  std::ranges::reverse(members);
  auto group = transport.group(members);
  expect_ok(group.status(), "group");
  if (!group.ok()) return;
  messages_have_tags_of_their_own(**group);
  messages_have_tags_of_their_own(transport);
}

}  // namespace

void device_tests() {
  all_ranks_decide_alike();
  values_of_no_meaning_are_refused_everywhere();
  without_it_they_are_refused();
  if (!gpu::built()) return;  // then MPI is never to move it
  const Told told("1");
  const auto transport = make_transport();
  messages_have_tags_of_their_own(*transport);
  messages_of_any_length(*transport);
  messages_that_are_too_short_are_errors(*transport);
  receives_are_given_up(*transport);
  sends_are_given_up(*transport);
  groups_have_messages_of_their_own(*transport);
}

}  // namespace homz::test
