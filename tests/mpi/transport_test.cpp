// The transport over MPI by itself: order, lengths, what is given up, groups, and errors of MPI.
#include <algorithm>
#include <numeric>

#include "tests/mpi/checks.hpp"

namespace homz::test {
namespace {

// Numbers go round; those with one tag arrive in order, whatever happens with another.
void messages_keep_their_order() {
  const auto transport = make_transport();
  constexpr int kCount = 50;
  const int next = (own_rank + 1) % ranks, last = (own_rank + ranks - 1) % ranks;
  std::vector<int> out(2 * kCount), in(2 * kCount, -1);
  std::vector<Pending> pendings(4 * kCount);
  std::iota(out.begin(), out.end(), 1000 * own_rank);
  const auto bytes = [](auto& v, int i) {
    return std::as_writable_bytes(std::span(&v[static_cast<std::size_t>(i)], 1));
  };
  Pending* pending = pendings.data();
  for (int i = 0; i < kCount; ++i)
    for (const int tag : {0, 32767}) {
      const int at = (tag != 0 ? kCount : 0) + i;
      expect_ok(transport->receive(bytes(in, at), last, tag, pending++), "receive");
      expect_ok(transport->send(bytes(out, at), nullptr, next, tag, pending++), "send");
    }
  wait_for(*transport, pendings);
  for (int i = 0; i < 2 * kCount; ++i)
    expect(in[static_cast<std::size_t>(i)] == 1000 * last + i,
           fmt::format("message {} is {}", i, in[static_cast<std::size_t>(i)]));
}

// Between every two ranks in both directions at once, of none to 3 MiB; with room for more than comes.
void messages_of_any_length() {
  const auto transport = make_transport();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{70000}, std::size_t{3} << 20}) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::vector<std::byte> out(length, static_cast<std::byte>(own_rank + 1));
    std::vector<std::vector<std::byte>> in(n, std::vector<std::byte>(length + 10));
    std::vector<Pending> pendings(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      expect_ok(transport->receive(in[i], kAnyRank, 5, &pendings[i]), "receive");
      expect_ok(transport->send(out, nullptr, static_cast<int>(i), 5, &pendings[n + i]), "send");
    }
    wait_for(*transport, pendings);
    std::vector<int> from;
    for (std::size_t i = 0; i < n; ++i) {
      expect(pendings[i].bytes == length, "length of a message");
      const auto wanted = static_cast<std::byte>(pendings[i].from + 1);
      expect(std::ranges::all_of(std::span(in[i]).first(length), [&](std::byte b) { return b == wanted; }),
             "content of a message");
      from.push_back(pendings[i].from);
    }
    std::ranges::sort(from);
    for (int r = 0; r < ranks; ++r) expect(from[static_cast<std::size_t>(r)] == r, "where messages are from");
    MPI_Barrier(MPI_COMM_WORLD);  // the next length is another matter
  }
}

void given_up_receives_are_gone() {
  const auto transport = make_transport();
  std::vector<std::byte> buffer(100);
  Pending pending;
  expect_ok(transport->receive(buffer, kAnyRank, 9, &pending), "receive");
  transport->abandon(&pending);
  expect_ok(transport->poll(), "poll");
  expect(!pending.done, "a receive that was given up");
}

// Long sends that nobody receives: their bytes stay with the transport, and a group of it works on.
void given_up_sends_keep_their_bytes() {
  const auto transport = make_transport();
  std::weak_ptr<const void> watched;
  {
    const auto bytes = std::make_shared<std::vector<std::byte>>(1 << 20, static_cast<std::byte>(own_rank));
    watched = bytes;
    Pending pending;
    expect_ok(transport->send(*bytes, bytes, (own_rank + 1) % ranks, 3, &pending), "send");
    if (!pending.done) transport->abandon(&pending);
  }
  expect_ok(transport->poll(), "poll");
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  auto group = transport->group(all);
  expect_ok(group.status(), "group");
  if (!group.ok()) return;
  int out = own_rank, in = -1;
  std::vector<Pending> pendings(2);
  const int last = (own_rank + ranks - 1) % ranks;
  expect_ok((*group)->receive(std::as_writable_bytes(std::span(&in, 1)), last, 3, pendings.data()),
            "receive");
  expect_ok(
      (*group)->send(std::as_bytes(std::span(&out, 1)), nullptr, (own_rank + 1) % ranks, 3, &pendings[1]),
      "send");
  wait_for(**group, pendings);
  expect(in == last && pendings[0].bytes == sizeof(int), "a group's message");
  // Whoever receives late finds the bytes as they were.
  std::vector<std::byte> late(1 << 20);
  std::vector<Pending> one(1);
  expect_ok(transport->receive(late, last, 3, one.data()), "a late receive");
  wait_for(*transport, one);
  expect(late.back() == static_cast<std::byte>(last), "bytes of a send that was given up");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 1000 && !watched.expired(); ++i) expect_ok(transport->poll(), "poll");
  expect(watched.expired(), "bytes that have arrived are still kept");
}

// Long messages in the middle of their way, in both directions: nobody hangs, and groups work on.
void what_is_under_way_can_be_given_up() {
  const auto transport = make_transport();
  const int next = (own_rank + 1) % ranks, last = (own_rank + ranks - 1) % ranks;
  const auto out = std::make_shared<std::vector<std::byte>>(std::size_t{3} << 20);
  {
    std::vector<std::byte> in(out->size());
    Pending received, sent;
    expect_ok(transport->receive(in, last, 4, &received), "receive");
    expect_ok(transport->send(*out, out, next, 4, &sent), "send");
    for (int i = 0; i < own_rank + 1; ++i) expect_ok(transport->poll(), "poll");
    if (!received.done) transport->abandon(&received);
    if (!sent.done) transport->abandon(&sent);
  }
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  auto group = transport->group(all);
  expect_ok(group.status(), "group");
  expect_ok(transport->poll(), "poll");
}

void groups_have_messages_of_their_own() {
  const auto transport = make_transport();
  std::vector<int> members;
  for (int r = own_rank % 2; r < ranks; r += 2) members.push_back(r);
  std::ranges::reverse(members);
  auto group = transport->group(members);
  expect_ok(group.status(), "group");
  if (!group.ok()) return;
  const auto place = std::ranges::find(members, own_rank) - members.begin();
  expect((*group)->size() == static_cast<int>(members.size()), "size of a group");
  expect((*group)->rank() == place, "rank in a group");
  expect((*group)->nodes().size() == members.size(), "nodes of a group");
  int in[2] = {-1, -1}, out[2] = {own_rank, own_rank + 100};
  const auto bytes = [](int& x) { return std::as_writable_bytes(std::span(&x, 1)); };
  std::vector<Pending> pendings(4);
  expect_ok(transport->receive(bytes(in[0]), own_rank, 1, pendings.data()), "receive");
  expect_ok((*group)->receive(bytes(in[1]), kAnyRank, 1, &pendings[1]), "receive in a group");
  expect_ok((*group)->send(bytes(out[1]), nullptr, static_cast<int>(place), 1, &pendings[2]),
            "send in a group");
  expect_ok(transport->send(bytes(out[0]), nullptr, own_rank, 1, &pendings[3]), "send");
  while (!std::ranges::all_of(pendings, [](const Pending& p) { return p.done; })) {
    expect_ok(transport->poll(), "poll");
    expect_ok((*group)->poll(), "poll of a group");
  }
  expect(in[0] == own_rank && in[1] == own_rank + 100, "messages to oneself in two groups");

  const int beyond[] = {own_rank, ranks}, without[] = {(own_rank + 1) % ranks};
  expect(transport->group(beyond).status().code() == Code::invalid_argument, "a group with a rank too many");
  if (ranks > 1)
    expect(transport->group(without).status().code() == Code::invalid_argument, "a group without this rank");
}

// The program's own handler of errors would end it. (A message that is too long is against the interface, but
// the only error that can be had behind a send. It is short, and there is room behind the receive, since Open
// MPI 4.1 writes beyond receives where messages go by way of RDMA, to the rank itself among others.)
void errors_of_mpi_come_back() {
  const auto transport = make_transport();
  std::vector<std::byte> out(100), in(1000);
  Pending received, sent;
  const Status status = transport->send(out, nullptr, ranks, 1, &sent);
  expect(status.code() == Code::io && status.message().starts_with("MPI_Isend: MPI error"),
         "a send to nobody: " + status.message());
  if (ranks == 1) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int next = (own_rank + 1) % ranks, last = (own_rank + ranks - 1) % ranks;
  expect_ok(transport->receive(Bytes(in).first(10), last, 1, &received), "receive");
  expect_ok(transport->send(out, nullptr, next, 1, &sent), "send");
  Status polled;
  for (int i = 0; i < 1000000 && polled.ok(); ++i) polled = transport->poll();
  expect(polled.code() == Code::io && polled.message().starts_with("receiving: MPI error"),
         "a message that is too long: " + polled.message());
  expect(!received.done, "it is not done");
  transport->abandon(&received);
  while (!sent.done && transport->poll().ok()) transport->yield();
  expect(sent.done, "a send beside an error");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void other_communicators_are_refused_by_name() {
  const auto nobody = mpi_transport(MPI_COMM_NULL);
  expect(nobody.status().message().find("MPI_COMM_NULL") != std::string::npos, nobody.status().message());
  if (ranks < 2) return;
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, own_rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - own_rank % 2, 7, &between);
  const auto inter = mpi_transport(between);
  expect(inter.status().code() == Code::unsupported &&
             inter.status().message().find("intercommunicator") != std::string::npos,
         inter.status().message());
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

void ranks_of_a_machine_share_a_node() {
  const auto transport = make_transport();
  expect(transport->rank() == own_rank && transport->size() == ranks, "rank and size");
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  const auto nodes = transport->nodes();
  expect(static_cast<int>(nodes.size()) == ranks, "nodes of all ranks");
  expect(std::ranges::count(nodes, nodes[static_cast<std::size_t>(own_rank)]) == on_node, "ranks of a node");
}

}  // namespace

void transport_tests() {
  messages_keep_their_order();
  messages_of_any_length();
  given_up_receives_are_gone();
  given_up_sends_keep_their_bytes();
  what_is_under_way_can_be_given_up();
  groups_have_messages_of_their_own();
  errors_of_mpi_come_back();
  other_communicators_are_refused_by_name();
  ranks_of_a_machine_share_a_node();
}

}  // namespace homz::test
