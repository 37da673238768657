#include "tools/mpi_bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "collectives/choose.hpp"
#include "tools/mpi_bench/rank_data.hpp"
#include "tools/mpi_bench/reference.hpp"

namespace homz::mpi_bench {
namespace {

struct Trial {
  CollectiveOptions options;
  bool is_baseline = false;  // MPI's own are then called as they are, without an agreement
  std::vector<double> seconds;
  CallReport report;
};

double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * (n - 1) / n;
    case Collective::bcast:
    case Collective::reduce:
      return 1;
    default:
      return (n - 1) / n;
  }
}

Status call(Communicator& communicator, const Settings& settings, Buffers& buffers,
            const CollectiveOptions& options) {
  const ConstBytes in = buffers.in;
  const Bytes out = buffers.out;
  switch (settings.collective) {
    case Collective::allreduce:
      return communicator.allreduce(in, out, settings.dtype, settings.op, options);
    case Collective::reduce_scatter:
      return communicator.reduce_scatter_block(in, out, settings.dtype, settings.op, options);
    case Collective::reduce:
      return communicator.reduce(in, out, settings.dtype, settings.op, 0, options);
    case Collective::allgather:
      return communicator.allgather(in, out, settings.dtype, options);
    case Collective::bcast:
      return communicator.bcast(out, settings.dtype, 0, options);
    case Collective::scatter:
      return communicator.scatter(in, out, settings.dtype, 0, options);
    case Collective::gather:
      return communicator.gather(in, out, settings.dtype, 0, options);
    default:
      return communicator.alltoall(in, out, settings.dtype, options);
  }
}

Status call_native(Transport& transport, const Settings& settings, Buffers& buffers, CallReport& report) {
  report.algorithm = Algorithm::native;
  const ConstBytes in = settings.collective == Collective::bcast ? buffers.out : buffers.in;
  return transport.native(settings.collective, settings.op, settings.dtype, in, buffers.out, buffers.count,
                          0);
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
                  : call(communicator, settings, buffers, options));
  double own = MPI_Wtime() - start, most = 0;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

double over_ranks(double own, MPI_Op op) {
  double all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return all;
}

// Whether it can be run as asked for. MPI's own compress nothing, and need no scheme.
bool can_be_tried(const Settings& settings, Algorithm algorithm, Scheme scheme, bool lossy, int ranks) {
  if (algorithm == Algorithm::automatic) return true;
  Task task{.collective = settings.collective, .op = settings.op, .dtype = settings.dtype, .ranks = ranks};
  task.lossy = lossy;
  task.has_native = true;
  return can_run(algorithm, scheme == Scheme::automatic ? Scheme::plain : scheme, task);
}

// Of lists all that can be run; what is asked for alone tells itself that it cannot.
std::vector<Trial> trials_of(const Settings& settings, double bound, int ranks) {
  std::vector<Trial> trials;
  const bool is_list = settings.algorithms.size() * settings.schemes.size() > 1;
  for (const Algorithm algorithm : settings.algorithms)
    for (const Scheme scheme : settings.schemes) {
      if (is_list && !can_be_tried(settings, algorithm, scheme, bound > 0, ranks)) continue;
      Trial& trial = trials.emplace_back();
      trial.options = settings.options;
      trial.options.algorithm = algorithm;
      // A range of 0 leaves nothing to lose.
      trial.options.scheme = settings.bound && bound == 0 ? Scheme::plain : scheme;
      trial.options.abs_error = scheme == Scheme::plain || algorithm == Algorithm::native ? 0 : bound;
    }
  return trials;
}

std::vector<Trial> plain_trials_of(const Settings& settings) {
  std::vector<Trial> trials;
  for (const Algorithm algorithm : settings.plain) {
    Trial& trial = trials.emplace_back();
    trial.is_baseline = true;
    trial.options.algorithm = algorithm;
    trial.options.scheme = Scheme::plain;
    trial.options.timeout_seconds = settings.options.timeout_seconds;
  }
  return trials;
}

// In units of the data; 0: nothing may be lost.
double bound_of(const Settings& settings, double range) {
  if (!settings.bound) return 0;
  return settings.bound->mode == BoundMode::relative ? settings.bound->value * range : settings.bound->value;
}

Point point_of(const Settings& settings, const Trial& trial, std::uint64_t size, double bound) {
  Point point;
  point.size_bytes = size;
  MPI_Comm_size(MPI_COMM_WORLD, &point.ranks);
  point.report = trial.report;
  point.asked_algorithm = trial.options.algorithm;
  point.asked_scheme = trial.options.scheme;
  point.seconds = median(trial.seconds);
  point.least_seconds = std::ranges::min(trial.seconds);
  point.most_seconds = std::ranges::max(trial.seconds);
  point.algbw_gbps = static_cast<double>(size) / point.seconds / 1e9;
  point.busbw_gbps = point.algbw_gbps * busbw_factor(settings.collective, point.ranks);
  point.wire_bytes_per_rank = over_ranks(static_cast<double>(trial.report.sent_bytes), MPI_MAX);
  const double raw = over_ranks(static_cast<double>(trial.report.raw_bytes), MPI_SUM);
  const double sent = over_ranks(static_cast<double>(trial.report.sent_bytes), MPI_SUM);
  const bool is_mpi = trial.report.algorithm == Algorithm::native;  // what MPI sends, it does not tell
  point.ratio = sent > 0 && raw > 0 && !is_mpi ? raw / sent : 1;
  point.bound = trial.report.scheme == Scheme::plain ? 0 : bound;
  return point;
}

}  // namespace

Result<std::vector<Point>> measure(Communicator& communicator, Transport& transport, const Settings& settings,
                                   std::uint64_t size) {
  Buffers buffers = make_buffers(settings, size);
  HOMZ_TRY(fill(settings, communicator.rank(), buffers.in));
  std::optional<Reference> reference;
  std::vector<Trial> trials, plain = plain_trials_of(settings);
  double bound = 0;
  if (!settings.only_plain) {
    HOMZ_ASSIGN(reference, Reference::make(transport, settings, buffers));
    bound = bound_of(settings, reference->range());
    trials = trials_of(settings, bound, communicator.size());
  }
  std::vector<Point> points(trials.size());
  const unsigned rounds = settings.warmup + settings.iterations;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto run = [&](Trial& trial) -> Status {
      HOMZ_ASSIGN(const double seconds, time_once(communicator, transport, settings, buffers, trial));
      if (round >= settings.warmup) trial.seconds.push_back(seconds);
      return Status();
    };
    for (Trial& trial : plain) HOMZ_TRY(run(trial));
    for (std::size_t k = 0; k < trials.size(); ++k) {
      const std::size_t t = (k + round) % trials.size();  // none is always the first behind the baseline
      HOMZ_TRY(run(trials[t]));
      if (round + 1 < rounds) continue;
      points[t] = point_of(settings, trials[t], size, bound);
      points[t].max_error = reference->largest_error(buffers.out);
      points[t].identical = is_identical(settings, buffers.out);
    }
  }
  if (settings.only_plain)
    for (const Trial& trial : plain) points.push_back(point_of(settings, trial, size, 0));
  const auto best = std::ranges::min_element(plain, {}, [](const Trial& p) { return median(p.seconds); });
  for (Point& point : points) {
    point.plain_seconds = median(best->seconds);
    point.plain = to_string(best->report.algorithm);
  }
  return points;
}

}  // namespace homz::mpi_bench
