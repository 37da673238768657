// Sums vectors over MPI ranks with compression, as a program of yours might do it.
//
//   mpirun -n 4 allreduce profile.json    a profile that homz-mpi-bench --tune=profile.json has written
//
//   mpirun -n 4 allreduce                 measures one itself first
//
// Exit status: 0 if all results are within their bound on all ranks.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi.hpp"
#include "collectives/profile.hpp"
#include "collectives/tune.hpp"

namespace {

constexpr std::size_t kCount = 1 << 20;
constexpr double kBound = 1e-3;  // of every value of a sum, whatever the number of ranks

// ---- The application: data, and whether sums of them are right

std::vector<float> values_of(int rank, int step) {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = std::sin(1e-3f * static_cast<float>(i) + static_cast<float>(rank + step));
  return values;
}

homz::ConstBytes bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}
homz::Bytes bytes_of(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Against the sum in double by MPI. All ranks have the same bits of the sum, so all find the same.
homz::Status check(const char* what, int rank, const std::vector<float>& mine,
                   const std::vector<float>& sum) {
  std::vector<double> exact(mine.begin(), mine.end());
  MPI_Allreduce(MPI_IN_PLACE, exact.data(), static_cast<int>(kCount), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double error = 0;
  for (std::size_t i = 0; i < kCount; ++i) error = std::max(error, std::abs(exact[i] - double{sum[i]}));
  if (rank == 0) std::printf("%s: largest error %.3g, bound %g\n", what, error, kBound);
  return error <= kBound ? homz::Status()
                         : homz::Status(homz::Code::internal, std::string(what) + ": beyond the bound");
}

// ---- Setting up

// Without a profile links are taken for fast, and nothing is compressed unless a call asks for it. Right for
// most programs is a file that was measured once, by as many ranks a node as the program has. To measure here
// takes some seconds: right where a program runs for long, or on machines that nobody knows beforehand. All
// ranks measure together; of a file only what rank 0 reads counts.
homz::Result<homz::Profile> profile_for(homz::Transport& transport, const std::string& file) {
  if (file.empty()) return homz::tune(transport, {});
  return transport.rank() == 0 ? homz::read_profile(file) : homz::Profile::unmeasured();
}

homz::Result<homz::Communicator> make_communicator(const std::string& file) {
  HOMZ_ASSIGN(auto transport, homz::mpi_transport(MPI_COMM_WORLD));
  HOMZ_ASSIGN(const homz::Profile profile, profile_for(*transport, file));
  return homz::Communicator::make(std::move(transport), profile);
}

// ---- Calls

// A kind of call: what is asked for, and what the last call of the kind did. One object for each kind, since
// the bound is that of a kind's results, and calls that are under way at once must not share a report.
struct Kind {
  homz::CollectiveOptions options;
  homz::CallReport report;

  Kind() {
    options.abs_error = kBound;
    options.report = &report;  // filled in when a call is done: it stays in place until then
  }
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
};

void print(const char* what, int rank, const homz::CallReport& report) {
  if (rank != 0) return;
  std::printf("%s: algorithm %s, scheme %s%s%s, ratio %.1f (%s)\n", what,
              std::string(to_string(report.algorithm)).c_str(), std::string(to_string(report.scheme)).c_str(),
              report.codec.empty() ? "" : " with ", report.codec.c_str(), report.ratio(),
              report.reason.c_str());
}

homz::Status call_once(homz::Communicator& communicator, const char* what, Kind& kind) {
  const int rank = communicator.rank();
  const std::vector<float> mine = values_of(rank, 0);
  std::vector<float> sum(kCount);
  HOMZ_TRY(communicator.allreduce(bytes_of(mine), bytes_of(sum), homz::Dtype::f32, homz::ReduceOp::sum,
                                  kind.options));
  print(what, rank, kind.report);
  return check(what, rank, mine, sum);
}

// The same buffers again and again: the plan chooses once, by the data that are there when it is made, and
// keeps its memory. It must not outlive the communicator.
homz::Status call_by_plan(homz::Communicator& communicator, Kind& kind) {
  const int rank = communicator.rank();
  std::vector<float> mine = values_of(rank, 0), sum(kCount);
  HOMZ_ASSIGN(homz::AllreducePlan plan,
              communicator.plan_allreduce(bytes_of(mine), bytes_of(sum), homz::Dtype::f32,
                                          homz::ReduceOp::sum, kind.options));
  if (rank == 0) std::printf("plan: %s\n", plan.reason().c_str());
  for (int step = 1; step <= 3; ++step) {
    std::ranges::copy(values_of(rank, step), mine.begin());
    HOMZ_ASSIGN(homz::Ongoing call, plan.start());
    HOMZ_TRY(call.wait());
    HOMZ_TRY(check("plan", rank, mine, sum));
  }
  return homz::Status();
}

// Data only move during test(), wait() and calls that block: a rank that computes for long without them holds
// up the others. The buffers belong to the call until it is done.
homz::Status call_while_computing(homz::Communicator& communicator, Kind& kind) {
  const int rank = communicator.rank();
  const std::vector<float> mine = values_of(rank, 0);
  std::vector<float> sum(kCount), next;
  HOMZ_ASSIGN(homz::Ongoing call,
              communicator.start_allreduce(bytes_of(mine), bytes_of(sum), homz::Dtype::f32,
                                           homz::ReduceOp::sum, kind.options));
  for (int portion = 1; portion <= 4; ++portion) {
    next = values_of(rank, portion);  // what else there is to do
    HOMZ_ASSIGN(const bool is_done, call.test());
    if (is_done) break;
  }
  HOMZ_TRY(call.wait());  // also if it is done
  return check("non-blocking", rank, mine, sum);
}

// ---- Errors

// A call that fails, fails on all ranks, though perhaps not with the same text; uncompressed and rooted ones
// may have succeeded on some, which get the error by their next call. Then the communicator refuses calls
// until all ranks have called renew(). Which data are still good is for the program to know: here the call is
// made again.
homz::Status recover_from_an_error(homz::Communicator& communicator, Kind& kind) {
  const int rank = communicator.rank();
  const std::vector<float> mine = values_of(rank, 0);
  std::vector<float> sum(kCount);
  if (communicator.size() == 1) return homz::Status();  // nobody to disagree with
  homz::CollectiveOptions options = kind.options;
  if (rank == 0) options.abs_error *= 2;  // a defect: ranks disagree on what they call
  const homz::Status failed =
      communicator.allreduce(bytes_of(mine), bytes_of(sum), homz::Dtype::f32, homz::ReduceOp::sum, options);
  if (failed.ok()) return homz::Status(homz::Code::internal, "ranks disagreed, and nobody noticed");
  if (rank == 0) std::printf("as it should be: %s\n", failed.message().c_str());
  HOMZ_TRY(communicator.renew());
  return call_once(communicator, "after renew", kind);
}

homz::Status run(const std::string& profile_file) {
  HOMZ_ASSIGN(homz::Communicator communicator, make_communicator(profile_file));

  // Left to homz, which compresses where that is expected to take less time. Ranks that share memory have
  // links so fast that it usually does not.
  Kind automatic;
  HOMZ_TRY(call_once(communicator, "automatic", automatic));

  // Told what to do: to see the effect of a scheme, or where something was measured to be better.
  Kind forced;
  forced.options.scheme = homz::Scheme::homcomp_fused;
  HOMZ_TRY(call_once(communicator, "forced", forced));

  HOMZ_TRY(call_by_plan(communicator, forced));
  HOMZ_TRY(call_while_computing(communicator, forced));
  return recover_from_an_error(communicator, forced);
}

}  // namespace

int main(int argc, char** argv) {
  // MPI_THREAD_FUNNELED is enough where the thread that initialises MPI is the one that makes the calls.
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const homz::Status status = run(argc > 1 ? argv[1] : "");  // all of homz is gone before MPI_Finalize()
  if (!status.ok()) {
    std::fprintf(stderr, "allreduce: rank %d: %s\n", rank, status.message().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);  // others may wait for this rank
  }
  MPI_Finalize();
  return 0;
}
