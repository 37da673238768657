// The transport over MPI, and collectives on it, against MPI's own. Run under mpirun; exits with the number
// of failures.
#include "collectives/mpi.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/profile.hpp"

namespace homz {
namespace {

int failures = 0;
int own_rank = 0, ranks = 1;

void expect(bool is_right, const std::string& what) {
  if (is_right) return;
  ++failures;
  fmt::print(stderr, "rank {} of {}: {}\n", own_rank, ranks, what);
}
void expect_ok(const Status& status, const std::string& what) {
  expect(status.ok(), what + ": " + status.message());
}

std::unique_ptr<Transport> make_transport(MPI_Comm comm = MPI_COMM_WORLD) {
  auto made = mpi_transport(comm);
  expect_ok(made.status(), "transport");
  if (!made.ok()) MPI_Abort(MPI_COMM_WORLD, 1);
  return std::move(*made);
}

Communicator make_communicator(MPI_Comm comm = MPI_COMM_WORLD) {
  auto made = Communicator::make(make_transport(comm), Profile::unmeasured());
  expect_ok(made.status(), "communicator");
  if (!made.ok()) MPI_Abort(MPI_COMM_WORLD, 1);
  return std::move(*made);
}

void wait_for(Transport& transport, const std::vector<Pending>& pendings) {
  while (!std::ranges::all_of(pendings, [](const Pending& p) { return p.done; })) {
    expect_ok(transport.poll(), "poll");
    transport.yield();
  }
}

// ---- The transport

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
    for (const int tag : {0, 1}) {
      expect_ok(transport->receive(bytes(in, tag * kCount + i), last, tag, pending++), "receive");
      expect_ok(transport->send(bytes(out, tag * kCount + i), nullptr, next, tag, pending++), "send");
    }
  wait_for(*transport, pendings);
  for (int i = 0; i < 2 * kCount; ++i)
    expect(in[static_cast<std::size_t>(i)] == 1000 * last + i,
           fmt::format("message {} is {}", i, in[static_cast<std::size_t>(i)]));
}

void long_messages_and_any_source() {
  const auto transport = make_transport();
  std::vector<std::byte> out(3 << 20, static_cast<std::byte>(own_rank + 1));
  std::vector<std::vector<std::byte>> in(static_cast<std::size_t>(ranks), std::vector<std::byte>(out.size()));
  std::vector<Pending> receives(static_cast<std::size_t>(own_rank == 0 ? ranks : 0)), sends(1);
  for (std::size_t i = 0; i < receives.size(); ++i)
    expect_ok(transport->receive(in[i], kAnyRank, 5, &receives[i]), "receive");
  expect_ok(transport->send(out, nullptr, 0, 5, sends.data()), "send");
  wait_for(*transport, receives);
  wait_for(*transport, sends);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    expect(receives[i].bytes == out.size(), "length of a message");
    expect(in[i].back() == static_cast<std::byte>(receives[i].from + 1), "content of a message");
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

void groups_have_messages_of_their_own() {
  const auto transport = make_transport();
  std::vector<int> members;
  for (int r = own_rank % 2; r < ranks; r += 2) members.push_back(r);
  auto group = transport->group(members);
  expect_ok(group.status(), "group");
  if (!group.ok()) return;
  expect((*group)->size() == static_cast<int>(members.size()), "size of a group");
  expect((*group)->rank() == own_rank / 2, "rank in a group");
}

// ---- Collectives

std::vector<float> data_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i) + rank));
  return values;
}
ConstBytes bytes_of(const std::vector<float>& v) {
  return std::as_bytes(std::span(v));
}
Bytes bytes_of(std::vector<float>& v) {
  return std::as_writable_bytes(std::span(v));
}

CollectiveOptions options_with(Algorithm algorithm, Scheme scheme) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = scheme == Scheme::plain ? 0 : 1e-3;
  options.timeout_seconds = 60;
  return options;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

void allreduce_is_that_of_mpi() {
  Communicator communicator = make_communicator();
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{10007}, std::size_t{300000}}) {
    const auto in = data_of(own_rank, count);
    std::vector<float> wanted(count), out(count);
    MPI_Allreduce(in.data(), wanted.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (const Algorithm algorithm :
         {Algorithm::automatic, Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
          Algorithm::direct, Algorithm::binomial, Algorithm::native})
      for (const Scheme scheme : {Scheme::plain, Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused}) {
        if (algorithm == Algorithm::native && scheme != Scheme::plain) continue;
        const auto name =
            fmt::format("allreduce of {}, {}, {}", count, to_string(algorithm), to_string(scheme));
        expect_ok(communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum,
                                         options_with(algorithm, scheme)),
                  name);
        expect(difference(out, wanted) <= 1.01e-3, name + ": wrong values");
      }
  }
}

void natives_are_those_of_mpi() {
  Communicator communicator = make_communicator();
  const auto n = static_cast<std::size_t>(ranks), own = static_cast<std::size_t>(own_rank);
  constexpr std::size_t kCount = 1000;
  const CollectiveOptions options = options_with(Algorithm::native, Scheme::plain);
  const auto in = data_of(own_rank, n * kCount);
  std::vector<float> out(n * kCount), part(kCount), wanted(n * kCount);
  expect_ok(communicator.alltoall(bytes_of(in), bytes_of(out), Dtype::f32, options), "alltoall");
  MPI_Alltoall(in.data(), kCount, MPI_FLOAT, wanted.data(), kCount, MPI_FLOAT, MPI_COMM_WORLD);
  expect(out == wanted, "alltoall: wrong values");
  expect_ok(
      communicator.reduce_scatter_block(bytes_of(in), bytes_of(part), Dtype::f32, ReduceOp::average, options),
      "reduce_scatter");
  std::vector<float> sum(kCount);
  MPI_Reduce_scatter_block(in.data(), sum.data(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (float& x : sum) x /= static_cast<float>(ranks);
  expect(part == sum, "reduce_scatter: wrong values");
  std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(own * kCount), kCount, part.begin());
  expect_ok(communicator.allgather(bytes_of(std::as_const(part)), bytes_of(out), Dtype::f32, options),
            "allgather");
  MPI_Allgather(part.data(), kCount, MPI_FLOAT, wanted.data(), kCount, MPI_FLOAT, MPI_COMM_WORLD);
  expect(out == wanted, "allgather: wrong values");
  const Bytes place = bytes_of(out).subspan(own * kCount * 4, kCount * 4);
  expect_ok(communicator.allgather(place, bytes_of(out), Dtype::f32, options), "allgather in place");
  expect(out == wanted, "allgather in place: wrong values");
  std::vector<float> all(own_rank == 0 ? n * kCount : 0);
  expect_ok(communicator.gather(bytes_of(std::as_const(part)), bytes_of(all), Dtype::f32, 0, options),
            "gather");
  expect(own_rank != 0 || all == wanted, "gather: wrong values");
  std::vector<float> back(kCount);
  expect_ok(communicator.scatter(bytes_of(std::as_const(all)), bytes_of(back), Dtype::f32, 0, options),
            "scatter");
  expect(back == part, "scatter: wrong values");
  std::vector<float> moved = data_of(0, kCount);
  if (own_rank != 0) moved.assign(kCount, 0);
  expect_ok(communicator.bcast(bytes_of(moved), Dtype::f32, 0, options), "bcast");
  expect(moved == data_of(0, kCount), "bcast: wrong values");
  std::vector<float> total(own_rank == 0 ? kCount : 0);
  expect_ok(communicator.reduce(bytes_of(std::as_const(part)), bytes_of(total), Dtype::f32, ReduceOp::max, 0,
                                options),
            "reduce");
}

void ranks_that_disagree_all_hear_of_it() {
  if (ranks == 1) return;
  Communicator communicator = make_communicator();
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
    const std::size_t count = own_rank == ranks - 1 ? 20000 : 10000;
    const auto in = data_of(own_rank, count);
    std::vector<float> out(count);
    const auto call = [&] {
      return communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum,
                                    options_with(Algorithm::ring, scheme));
    };
    Status status = call();
    expect(status.code() == Code::invalid_argument, "a disagreement is no error: " + status.message());
    expect(status.message().find("20000") != std::string::npos, "which counts: " + status.message());
    expect(call().code() == Code::invalid_argument, "a call after a failure");
    expect_ok(communicator.renew(), "renew");
  }
  std::vector<float> one(1, 1), sum(1);
  expect_ok(communicator.allreduce(bytes_of(std::as_const(one)), bytes_of(sum), Dtype::f32, ReduceOp::sum,
                                   options_with(Algorithm::automatic, Scheme::plain)),
            "a call after renew()");
  expect(sum[0] == static_cast<float>(ranks), "its sum");
}

void subcommunicators_work() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, own_rank % 2, -own_rank, &half);
  {
    Communicator communicator = make_communicator(half);
    std::vector<float> in(5000, 1), out(5000);
    expect_ok(communicator.allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32, ReduceOp::sum,
                                     options_with(Algorithm::ring, Scheme::homcomp_fused)),
              "allreduce of a half");
    expect(std::abs(out[4999] - static_cast<float>(communicator.size())) <= 1e-3f, "sum of a half");
  }
  MPI_Comm_free(&half);
}

void several_calls_go_on_at_once() {
  Communicator communicator = make_communicator();
  std::vector<std::vector<float>> in, out;
  std::vector<Ongoing> calls;
  for (int i = 0; i < 4; ++i) {
    in.push_back(data_of(own_rank + i, 30000));
    out.emplace_back(30000);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto call = communicator.start_allreduce(bytes_of(std::as_const(in[i])), bytes_of(out[i]), Dtype::f32,
                                             ReduceOp::sum, options_with(Algorithm::ring, Scheme::hzccl));
    expect_ok(call.status(), "start");
    if (!call.ok()) return;
    calls.push_back(std::move(*call));
  }
  for (std::size_t i = calls.size(); i-- > 0;) expect_ok(calls[i].wait(), "wait");
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::vector<float> wanted(30000);
    MPI_Allreduce(in[i].data(), wanted.data(), 30000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect(difference(out[i], wanted) <= 1.01e-3, "one of several calls");
  }
}

void plans_are_used_again() {
  Communicator communicator = make_communicator();
  std::vector<float> in = data_of(own_rank, 50000), out(in.size()), wanted(in.size());
  auto plan =
      communicator.plan_allreduce(bytes_of(std::as_const(in)), bytes_of(out), Dtype::f32, ReduceOp::sum,
                                  options_with(Algorithm::automatic, Scheme::homcomp_fused));
  expect_ok(plan.status(), "plan");
  if (!plan.ok()) return;
  for (int i = 0; i < 3; ++i) {
    for (float& x : in) x *= 3;  // beyond what the plan has seen
    auto call = plan->start();
    expect_ok(call.status(), "start");
    if (call.ok()) expect_ok(call->wait(), "wait");
    MPI_Allreduce(in.data(), wanted.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect(difference(out, wanted) <= 1.01e-3, "a planned call");
  }
}

}  // namespace
}  // namespace homz

int main(int argc, char** argv) {
  using namespace homz;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  messages_keep_their_order();
  long_messages_and_any_source();
  given_up_receives_are_gone();
  groups_have_messages_of_their_own();
  allreduce_is_that_of_mpi();
  natives_are_those_of_mpi();
  ranks_that_disagree_all_hear_of_it();
  subcommunicators_work();
  several_calls_go_on_at_once();
  plans_are_used_again();
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return std::min(all, 100);
}
