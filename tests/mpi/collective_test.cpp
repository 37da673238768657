// Collectives on the transport over MPI: all of them by all algorithms and schemes on small counts, calls
// that differ between ranks, communicators of a part of the ranks, calls under way, plans.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "collectives/choose.hpp"
#include "core/checksum.hpp"
#include "tests/mpi/checks.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

CollectiveOptions options_with(Algorithm algorithm, Scheme scheme) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = scheme == Scheme::plain ? 0 : kBound;
  options.timeout_seconds = 60;
  return options;
}

bool gives_all_the_same(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::allgather ||
         collective == Collective::bcast;
}

template <class T>
Status call(Communicator& communicator, const Case& what, const std::vector<T>& in, std::vector<T>& out,
            const CollectiveOptions& options) {
  const ConstBytes from = bytes_of(in);
  const Bytes to = bytes_of(out);
  const Dtype dtype = dtype_of<T>();
  switch (what.collective) {
    case Collective::allreduce:
      return communicator.allreduce(from, to, dtype, what.op, options);
    case Collective::reduce_scatter:
      return communicator.reduce_scatter_block(from, to, dtype, what.op, options);
    case Collective::reduce:
      return communicator.reduce(from, to, dtype, what.op, what.root, options);
    case Collective::allgather:
      return communicator.allgather(from, to, dtype, options);
    case Collective::bcast:
      std::ranges::copy(in, out.begin());
      return communicator.bcast(to, dtype, what.root, options);
    case Collective::scatter:
      return communicator.scatter(from, to, dtype, what.root, options);
    case Collective::gather:
      return communicator.gather(from, to, dtype, what.root, options);
    case Collective::alltoall:
      return communicator.alltoall(from, to, dtype, options);
  }
  return Status();
}

// By every algorithm and scheme that can do it.
template <class T>
void results_are_within_the_bound(Communicator& communicator, const Case& what) {
  const auto in = data_of<T>(own_rank, in_count(what));
  const auto wanted = expected<T>(what);
  Task task;
  task.collective = what.collective;
  task.op = what.op;
  task.ranks = task.ranks_per_node = ranks;
  task.lossy = task.has_native = true;
  for (auto algorithm = Algorithm::automatic; algorithm <= Algorithm::two_level;
       algorithm = static_cast<Algorithm>(static_cast<int>(algorithm) + 1))
    for (auto scheme = Scheme::plain; scheme <= Scheme::homcomp_fused;
         scheme = static_cast<Scheme>(static_cast<int>(scheme) + 1)) {
      if (!can_run(algorithm == Algorithm::automatic ? Algorithm::direct : algorithm, scheme, task)) continue;
      const auto name = fmt::format("{} of {} {}, {}, {}", to_string(what.collective), what.count,
                                    to_string(dtype_of<T>()), to_string(algorithm), to_string(scheme));
      std::vector<T> out(out_count(what), std::numeric_limits<T>::quiet_NaN());
      expect_ok(call(communicator, what, in, out, options_with(algorithm, scheme)), name);
      const double roundings = ranks * 2.0 * std::numeric_limits<T>::epsilon();
      const double bound = scheme != Scheme::plain ? kBound : reduces(what.collective) ? roundings : 0;
      const double error = largest_difference(out, wanted);
      expect(error <= bound, fmt::format("{}: error {}", name, error));
      if (!gives_all_the_same(what.collective)) continue;
      const std::uint64_t own = checksum(bytes_of(std::as_const(out)));
      std::uint64_t least = 0, most = 0;
      MPI_Allreduce(&own, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
      MPI_Allreduce(&own, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
      expect(least == most, name + ": ranks have different bits");
    }
}

void all_collectives_by_all_ways() {
  Communicator communicator = make_communicator();
  const auto n = static_cast<std::size_t>(ranks);
  for (const Collective collective : kCollectives) {
    const ReduceOp op = reduces(collective) ? ReduceOp::sum : ReduceOp::none;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, n + 1, std::size_t{5003}})
      results_are_within_the_bound<float>(communicator, {collective, op, count, ranks - 1});
    results_are_within_the_bound<double>(communicator, {collective, op, 1003, ranks / 2});
  }
  for (const ReduceOp op : {ReduceOp::average, ReduceOp::max, ReduceOp::prod})
    results_are_within_the_bound<float>(communicator, {Collective::allreduce, op, 1003, 0});
}

// Messages of many segments each.
void long_vectors() {
  Communicator communicator = make_communicator();
  results_are_within_the_bound<float>(communicator, {Collective::allreduce, ReduceOp::sum, 300000, 0});
}

void ranks_that_disagree_all_hear_of_it() {
  if (ranks == 1) return;
  Communicator communicator = make_communicator();
  for (const Scheme scheme : {Scheme::plain, Scheme::hzccl}) {
    const std::size_t count = own_rank == ranks - 1 ? 20000 : 10000;
    const auto in = data_of<float>(own_rank, count);
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

// MPI holds back long messages until they are received: ranks that only send wait, too.
void ranks_of_two_minds_about_the_root_hear_of_it() {
  if (ranks < 2) return;
  Communicator communicator = make_communicator();
  std::vector<float> data(1000000, 1);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::binomial}) {
    CollectiveOptions options;
    options.algorithm = algorithm;
    const int root = own_rank == ranks - 1 ? own_rank : 0;
    const Status status = communicator.bcast(bytes_of(data), Dtype::f32, root, options);
    const bool may_be_done = own_rank != ranks - 1;  // with what the other root has sent
    expect(status.code() == Code::invalid_argument || (may_be_done && status.ok()),
           "two roots are no error: " + status.message());
    expect_ok(communicator.renew(), "renew");
  }
}

// The late one finds messages of ranks that have given up. Whatever the algorithm, MPI's own not among them.
void ranks_that_come_late_hear_of_it() {
  if (ranks < 2) return;
  Communicator communicator = make_communicator();
  const bool is_late = own_rank == ranks - 1;
  if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::vector<float> one(1, 1), sum(1);
  CollectiveOptions options;
  options.timeout_seconds = is_late ? 100 : 0.2;
  const auto call = [&] {
    return communicator.allreduce(bytes_of(std::as_const(one)), bytes_of(sum), Dtype::f32, ReduceOp::sum,
                                  options);
  };
  const Status status = call();
  const bool is_done = is_late && status.ok();  // with all that the others have sent before they gave up
  expect(is_done || status.code() == Code::io, "a timeout is no error: " + status.message());
  expect(is_done || status.message().find("silent") != std::string::npos,
         "who is silent: " + status.message());
  expect(!call().ok(), "a call after a timeout");
  expect_ok(communicator.renew(), "renew after a timeout");
  options.timeout_seconds = 100;
  expect_ok(call(), "a call after a timeout and renew()");
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
    expect(std::abs(out[4999] - static_cast<float>(communicator.size())) <= kBound, "sum of a half");
  }
  MPI_Comm_free(&half);
}

double difference_of(const std::vector<float>& a, const std::vector<float>& b) {
  return largest_difference(a, std::vector<long double>(b.begin(), b.end()));
}

void several_calls_go_on_at_once() {
  Communicator communicator = make_communicator();
  std::vector<std::vector<float>> in, out;
  std::vector<Ongoing> calls;
  for (int i = 0; i < 4; ++i) {
    in.push_back(data_of<float>(own_rank + i, 30000));
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
    expect(difference_of(out[i], wanted) <= 1.01 * kBound, "one of several calls");
  }
}

void plans_are_used_again() {
  Communicator communicator = make_communicator();
  std::vector<float> in = data_of<float>(own_rank, 50000), out(in.size()), wanted(in.size());
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
    expect(difference_of(out, wanted) <= 1.01 * kBound, "a planned call");
  }
}

// MPI does not say what it sends: what ranks send to agree before is told apart.
void reports_of_native_calls_count_no_values() {
  Communicator communicator = make_communicator();
  const auto in = data_of<float>(own_rank, 1000);
  std::vector<float> out(1000);
  for (const bool trusts : {false, true}) {
    CallReport report;
    CollectiveOptions options = options_with(Algorithm::native, Scheme::automatic);
    options.trusts_ranks = trusts;
    options.report = &report;
    if (ranks == 1) options.algorithm = Algorithm::automatic;
    expect_ok(communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options),
              "native");
    expect(report.raw_bytes == 0 && report.sent_bytes == 0 && report.ratio() == 1,
           fmt::format("native: {} bytes for {}", report.sent_bytes, report.raw_bytes));
    expect((report.agreement_bytes > 0) == (ranks > 1 && !trusts),
           fmt::format("native: {} bytes to agree", report.agreement_bytes));
  }
}

CollectiveOptions trusting(Algorithm algorithm, Scheme scheme) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.trusts_ranks = true;
  if (ranks == 1) options.algorithm = Algorithm::automatic;
  return options;
}

// Calls that trust each other take a shorter way from the second one on; checked ones may come in between,
// and ranks that ask for a report beside ones that do not.
void calls_are_repeated_by_a_shorter_way() {
  Communicator communicator = make_communicator();
  CollectiveOptions bounded = trusting(Algorithm::automatic, Scheme::automatic);
  bounded.abs_error = 1e-3;
  bounded.timeout_seconds = 60;
  for (CollectiveOptions options : {trusting(Algorithm::native, Scheme::plain), bounded})
    for (const Collective collective : kCollectives)
      for (int i = 0; i < 4; ++i) {
        const Case what{collective, ReduceOp::average, 77, ranks - 1};
        auto in = data_of<double>(own_rank, in_count(what));
        std::vector<double> out(out_count(what));
        CallReport report;
        options.report = own_rank == 0 && i % 2 == 1 ? &report : nullptr;
        options.trusts_ranks = i != 2;
        const std::string name = fmt::format("{}, call {}", to_string(collective), i);
        expect_ok(call(communicator, what, in, out, options), name);
        expect(largest_difference(out, expected<double>(what)) <= options.abs_error + 1e-14, name);
        if (options.report == nullptr || ranks == 1 || options.abs_error > 0) continue;
        expect(report.algorithm == Algorithm::native && !report.reason.empty() && report.total_seconds > 0,
               name);
      }
}

// More kinds of calls than are remembered, and calls under way meanwhile.
void many_kinds_of_calls_are_repeated() {
  Communicator communicator = make_communicator();
  const CollectiveOptions options = trusting(Algorithm::native, Scheme::plain);
  for (int i = 0; i < 100; ++i) {
    const auto count = static_cast<std::size_t>(i % 23 + 1);
    const auto in = data_of<double>(own_rank, count), other = data_of<double>(own_rank, 5000);
    std::vector<double> out(count), slow(5000);
    Ongoing ongoing;
    if (i % 10 == 9) {
      auto started = communicator.start_allreduce(bytes_of(other), bytes_of(slow), Dtype::f64, ReduceOp::sum,
                                                  trusting(Algorithm::ring, Scheme::plain));
      expect_ok(started.status(), "a start");
      if (started.ok()) ongoing = std::move(*started);
    }
    expect_ok(communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f64, ReduceOp::sum, options),
              "a sum");
    const Case what{Collective::allreduce, ReduceOp::sum, count};
    expect(largest_difference(out, expected<double>(what)) <= 1e-14, fmt::format("a sum of {}", count));
    expect_ok(ongoing.wait(), "a wait");
  }
}

void repeated_calls_are_checked() {
  Communicator communicator = make_communicator();
  const CollectiveOptions options = trusting(Algorithm::native, Scheme::plain);
  const std::vector<float> in(64);
  std::vector<float> out(64);
  const auto sum_of = [&](std::size_t first) {
    return communicator.allreduce(bytes_of(in).subspan(first, 128), bytes_of(out).first(128), Dtype::f32,
                                  ReduceOp::sum, options);
  };
  expect_ok(sum_of(0), "a sum");
  expect_ok(sum_of(4), "a sum from elsewhere");
  const Status status = sum_of(2);
  expect(status.code() == Code::invalid_argument && status.message().find("aligned") != std::string::npos,
         "a buffer that is not aligned: " + status.message());
  expect(sum_of(0).message().find("renew") != std::string::npos, "a call behind a failed one");
  expect_ok(communicator.renew(), "renew");
  expect_ok(sum_of(0), "a sum after renew()");
}

}  // namespace

void collective_tests() {
  all_collectives_by_all_ways();
  long_vectors();
  ranks_that_disagree_all_hear_of_it();
  ranks_of_two_minds_about_the_root_hear_of_it();
  ranks_that_come_late_hear_of_it();
  subcommunicators_work();
  several_calls_go_on_at_once();
  plans_are_used_again();
  reports_of_native_calls_count_no_values();
  calls_are_repeated_by_a_shorter_way();
  many_kinds_of_calls_are_repeated();
  repeated_calls_are_checked();
}

}  // namespace homz::test
