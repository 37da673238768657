#include "tools/mpi_bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include "tools/bench/calls.hpp"
#include "tools/bench/rank_data.hpp"
#include "tools/mpi_bench/reference.hpp"

namespace homz::mpi_bench {
namespace {

struct Trial {
  CollectiveOptions options;
  bool is_baseline = false;  // MPI's own are then called as they are, without an agreement
  std::vector<double> seconds;
  CallReport report;
};

Status call_native(Transport& transport, const Settings& settings, Buffers& buffers, CallReport& report) {
  report.algorithm = Algorithm::native;
  const ConstBytes in = settings.collective == Collective::bcast ? buffers.out : buffers.in;
  return transport.native(settings.collective, settings.op, settings.dtype, in, buffers.out, buffers.count, 0,
                          host());
}

// Seconds until the last rank is done.
Result<double> time_once(Communicator& communicator, Transport& transport, const Settings& settings,
                         Buffers& buffers, Trial& trial) {
  if (settings.collective == Collective::bcast) buffers.out = buffers.in;  // it is changed by the call
  CollectiveOptions options = trial.options;
  options.report = &trial.report;
  const bool is_mpi = trial.is_baseline && options.algorithm == Algorithm::native;
  if (settings.pause_seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause_seconds));
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  HOMZ_TRY(is_mpi ? call_native(transport, settings, buffers, trial.report)
                  : bench::call(communicator, settings, buffers.in, buffers.out, options));
  double own = MPI_Wtime() - start, most = 0;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

double over_ranks(double own, MPI_Op op) {
  double all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return all;
}

Result<std::vector<Trial>> trials_of(const Settings& settings, double bound, const Task& task) {
  HOMZ_ASSIGN(const auto all, bench::options_to_try(settings, bound, task));
  std::vector<Trial> trials;
  for (const CollectiveOptions& options : all) trials.emplace_back().options = options;
  return trials;
}

// Of lists, what can be run.
Result<std::vector<Trial>> plain_trials_of(const Settings& settings, const Task& task) {
  std::vector<Trial> trials;
  for (const Algorithm algorithm : settings.plain) {
    const bool is_fine = algorithm == Algorithm::automatic || can_run(algorithm, Scheme::plain, task);
    if (settings.plain.size() > 1 && !is_fine) continue;
    Trial& trial = trials.emplace_back();
    trial.is_baseline = true;
    trial.options.algorithm = algorithm;
    trial.options.scheme = Scheme::plain;
    trial.options.timeout_seconds = settings.options.timeout_seconds;
  }
  if (!trials.empty()) return trials;
  return Status(Code::invalid_argument,
                fmt::format("nothing of --plain can do {} here", to_string(task.collective)));
}

Point point_of(const Settings& settings, const Trial& trial, std::uint64_t size) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Point point = bench::point_of(settings, size, ranks, trial.options, trial.report, trial.seconds);
  const CallReport& report = trial.report;
  if (report.algorithm != Algorithm::native)
    point.wire_bytes_per_rank =
        over_ranks(static_cast<double>(report.sent_bytes + report.agreement_bytes), MPI_MAX);
  const double raw = over_ranks(static_cast<double>(report.raw_bytes), MPI_SUM);
  const double sent = over_ranks(static_cast<double>(report.sent_bytes), MPI_SUM);
  point.ratio = bench::ratio_of(raw, sent);
  return point;
}

}  // namespace

Result<std::vector<Point>> measure(Communicator& communicator, Transport& transport, const Settings& settings,
                                   std::uint64_t size) {
  Buffers buffers = make_buffers(settings, size);
  HOMZ_TRY(bench::fill({settings.data, settings.is_file, settings.dtype}, communicator.rank(), buffers.in));
  std::optional<Reference> reference;
  const Task task = bench::task_of(settings, transport, buffers.count);
  std::vector<Trial> trials;
  HOMZ_ASSIGN(std::vector<Trial> plain, plain_trials_of(settings, task));
  if (!settings.only_plain) {
    HOMZ_ASSIGN(reference, Reference::make(transport, settings, buffers));
    HOMZ_ASSIGN(trials, trials_of(settings, bench::bound_of(settings, reference->range()), task));
  }
  std::vector<Point> points(trials.size());
  std::vector<Trial*> turns;
  for (auto* const some : {&plain, &trials})
    for (Trial& trial : *some) turns.push_back(&trial);
  std::mt19937 random(1);  // the same order on all ranks
  const unsigned rounds = settings.warmup + settings.iterations;
  for (unsigned round = 0; round < rounds; ++round) {
    std::ranges::shuffle(turns, random);  // what ran before is in the caches
    for (Trial* const trial : turns) {
      HOMZ_ASSIGN(const double seconds, time_once(communicator, transport, settings, buffers, *trial));
      if (round >= settings.warmup) trial->seconds.push_back(seconds);
      if (round + 1 < rounds || trial->is_baseline) continue;
      Point& point = points[static_cast<std::size_t>(trial - trials.data())];
      point = point_of(settings, *trial, size);
      point.max_error = reference->largest_error(buffers.out);
      point.identical = is_identical(settings, buffers.out);
    }
  }
  if (settings.only_plain)
    for (const Trial& trial : plain) points.push_back(point_of(settings, trial, size));
  const auto best =
      std::ranges::min_element(plain, {}, [](const Trial& p) { return bench::median(p.seconds); });
  for (Point& point : points) {
    point.plain_seconds = bench::median(best->seconds);
    point.plain = to_string(best->report.algorithm);
  }
  return points;
}

}  // namespace homz::mpi_bench
