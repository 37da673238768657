#include "tools/gpu_bench/measure.hpp"

#include <algorithm>
#include <chrono>

#include "tools/gpu_bench/check.hpp"

namespace homz::gpu_bench {
namespace {

constexpr std::size_t kLeastCalls = 3;  // whatever the limit of seconds

struct Trial {
  CollectiveOptions options;
  bool is_nccl = false;  // its own as it is, without an agreement
  std::vector<double> seconds;
  CallReport report;
  Finding finding;
};

// The buffers of a size, in those of the rank.
struct Buffers {
  bench::Extents extents;
  Bytes in, out;
};

Status call_once(Rank& rank, const Buffers& buffers, Trial& trial) {
  const Settings& settings = rank.party.settings;
  CUstream_st* const stream = rank.stream.get();
  if (trial.is_nccl) {
    const ConstBytes in = settings.collective == Collective::bcast ? buffers.out : buffers.in;
    HOMZ_TRY(rank.nccl->native(settings.collective, settings.op, settings.dtype, in, buffers.out,
                               buffers.extents.count, 0, device(stream)));
  } else {
    CollectiveOptions options = trial.options;
    options.space = Space::device;
    options.stream = stream;
    options.report = &trial.report;
    HOMZ_TRY(bench::call(*rank.communicator, settings, buffers.in, buffers.out, options));
  }
  return gpu::wait(stream);
}

// Seconds until the last rank is done.
Result<double> time_once(Rank& rank, const Buffers& buffers, Trial& trial) {
  using Clock = std::chrono::steady_clock;
  if (rank.party.settings.collective == Collective::bcast)  // it is changed by the call
    HOMZ_TRY(gpu::copy(buffers.in, buffers.out, rank.stream.get()));
  HOMZ_TRY(gpu::wait(rank.stream.get()));
  HOMZ_TRY(rank.party.meeting.meet());
  const Clock::time_point start = Clock::now();
  HOMZ_TRY(call_once(rank, buffers, trial));
  const double own = std::chrono::duration<double>(Clock::now() - start).count();
  return rank.party.meeting.most(rank.rank, own);
}

// NCCL's own, and behind it all others.
Result<std::vector<Trial>> trials_of(const Rank& rank, const bench::Extents& extents, double bound) {
  const Settings& settings = rank.party.settings;
  Task task = bench::task_of(settings, *rank.nccl, extents.count);
  task.has_native = settings.route != Route::staged;  // else the communicator has another transport
  HOMZ_ASSIGN(const auto all, bench::options_to_try(settings, bound, task));
  std::vector<Trial> trials(1);
  trials.front().is_nccl = true;
  for (const CollectiveOptions& options : all) trials.emplace_back().options = options;
  return trials;
}

// In turns, so that none is always the first; every result of the last turn is looked at.
Status take_turns(Rank& rank, const Buffers& buffers, std::vector<Trial>& trials) {
  const Settings& settings = rank.party.settings;
  const unsigned rounds = settings.warmup + settings.iterations;
  double spent = 0;  // the same on all ranks
  bool is_last = false;
  for (unsigned round = 0; !is_last; ++round) {
    const bool is_enough = round + 1 >= settings.warmup + kLeastCalls;
    const bool is_late = settings.seconds > 0 && round > 0 && spent * (round + 2) / round > settings.seconds;
    is_last = round + 1 == rounds || (is_enough && is_late);
    for (std::size_t k = 0; k < trials.size(); ++k) {
      Trial& trial = trials[(k + round) % trials.size()];
      HOMZ_ASSIGN(const double seconds, time_once(rank, buffers, trial));
      spent += seconds;
      if (round >= settings.warmup) trial.seconds.push_back(seconds);
      if (!is_last || trial.is_nccl) continue;
      HOMZ_ASSIGN(trial.finding, look_at(rank, buffers.extents));
    }
  }
  return Status();
}

Result<double> range_of(Rank& rank, const bench::Extents& extents) {
  const ValueRange part = rank.party.values.part_of_range(rank.rank, extents);
  HOMZ_ASSIGN(const double most, rank.party.meeting.most(rank.rank, part.max));
  HOMZ_ASSIGN(const double least, rank.party.meeting.most(rank.rank, -part.min));
  return most >= -least ? most + least : 0;
}

Result<Point> point_of(Rank& rank, const Trial& trial, const Trial& nccl, std::uint64_t size) {
  Meeting& meeting = rank.party.meeting;
  Point point;
  static_cast<bench::Point&>(point) =
      bench::point_of(rank.party.settings, size, meeting.ranks(), trial.options, trial.report, trial.seconds);
  const CallReport& report = trial.report;
  const auto own_raw = static_cast<double>(report.raw_bytes);
  const auto own_sent = static_cast<double>(report.sent_bytes);
  const auto own_agreement = static_cast<double>(report.agreement_bytes);
  if (report.algorithm != Algorithm::native) {
    HOMZ_ASSIGN(point.wire_bytes_per_rank, meeting.most(rank.rank, own_sent + own_agreement));
  }
  HOMZ_ASSIGN(const double raw, meeting.sum(rank.rank, own_raw));
  HOMZ_ASSIGN(const double sent, meeting.sum(rank.rank, own_sent));
  point.ratio = bench::ratio_of(raw, sent);
  point.max_error = trial.finding.max_error;
  point.identical = trial.finding.identical;
  point.plain_seconds = bench::median(nccl.seconds);
  point.plain = "NCCL";
  point.calls = trial.seconds.size();
  return point;
}

}  // namespace

Result<std::vector<Point>> measure(Rank& rank, const std::string& data, std::uint64_t size) {
  const bench::Extents extents = rank.extents(size);
  const Buffers buffers{extents, rank.in.bytes().first(extents.in), rank.out.bytes().first(extents.out)};
  HOMZ_TRY(rank.party.values.copy_to(rank.rank, buffers.in, rank.stream.get()));
  HOMZ_TRY(gpu::wait(rank.stream.get()));
  HOMZ_ASSIGN(const double range, range_of(rank, extents));
  const double bound = bench::bound_of(rank.party.settings, range);
  HOMZ_ASSIGN(std::vector<Trial> trials, trials_of(rank, extents, bound));
  std::vector<Point> points;
  HOMZ_TRY(take_turns(rank, buffers, trials));
  for (std::size_t t = 1; t < trials.size(); ++t) {
    HOMZ_ASSIGN(Point point, point_of(rank, trials[t], trials.front(), size));
    point.data = data;
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace homz::gpu_bench
