// homz-gpu-bench: what collectives with compression take between GPUs, against NCCL's own in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "collectives/loopback.hpp"
#include "core/gpu/gpu.hpp"
#include "tools/gpu_bench/output.hpp"

namespace homz::gpu_bench {
namespace {

constexpr int kUsage = 2, kFailed = 1, kBroken = 3;  // 3: a bound or the identity of results

void tell(const Status& failure) {
  fmt::print(stderr, "homz-gpu-bench: {}\n", failure.message());
  std::fflush(stderr);
}

// The names of the GPUs that take part; ranks are numbered like them.
Result<std::vector<std::string>> gpus_of(const Settings& settings) {
  HOMZ_TRY(gpu::ready());
  HOMZ_ASSIGN(const int there, gpu::count());
  if (settings.gpus > there)
    return Status(Code::invalid_argument,
                  fmt::format("--gpus {}: this machine has {}; give at most that", settings.gpus, there));
  std::vector<std::string> names;
  for (int gpu = 0; gpu < (settings.gpus == 0 ? there : settings.gpus); ++gpu) {
    HOMZ_TRY(gpu::use(gpu));
    HOMZ_ASSIGN(names.emplace_back(), gpu::name());
  }
  return names;
}

Status measure_all(Rank& rank, Output& output) {
  const Settings& settings = rank.party.settings;
  const std::uint64_t most = rank.extents(std::ranges::max(settings.sizes)).in;
  for (const std::string& data : settings.data) {
    HOMZ_TRY(rank.party.meeting.meet());  // nobody looks at the values before any more
    HOMZ_TRY(rank.party.values.make(rank.rank, data, most));
    HOMZ_TRY(rank.party.meeting.meet());
    for (const std::uint64_t size : settings.sizes) {
      HOMZ_ASSIGN(const std::vector<Point> points, measure(rank, data, size));
      for (const Point& point : points)
        if (rank.rank == 0) output.add(point);
    }
  }
  return rank.party.meeting.meet();  // transports end together
}

Status run(const Settings& settings, int ranks, Output& output) {
  const int per_node = settings.nodes ? 1 : ranks;
  auto controls = loopback(ranks, per_node), for_nccl = loopback(ranks, per_node);
  Meeting meeting(ranks);
  HostValues values(settings, ranks);
  const Party party{settings, meeting, values};
  const auto work = [&](int number) -> Status {
    const auto i = static_cast<std::size_t>(number);
    HOMZ_ASSIGN(Rank rank, Rank::make(party, number, std::move(controls[i]), std::move(for_nccl[i])));
    const Status status = no_throw([&] { return measure_all(rank, output); });
    if (!status.ok()) meeting.fail(number, status);  // transports may wait for others when they end
    return status;
  };
  // Threads inside NCCL do not come back: the process ends under them.
  const auto give_up = [&](const Status& why) {
    output.finish();
    tell(why);
    std::_Exit(kFailed);
  };
  return on_ranks(meeting, settings.most_seconds, work, give_up);
}

// The exit status.
Result<int> bench(const Settings& settings) {
  HOMZ_ASSIGN(std::vector<std::string> gpus, gpus_of(settings));
  const int ranks = static_cast<int>(gpus.size());
  Output output(settings, std::move(gpus));
  const Status status = run(settings, ranks, output);
  output.finish();
  HOMZ_TRY(status);
  return output.is_sound() ? 0 : kBroken;
}

}  // namespace
}  // namespace homz::gpu_bench

int main(int argc, char** argv) {
  using namespace homz::gpu_bench;
  Settings settings;
  if (const auto usage = parse(argc, argv, settings)) {
    fmt::print(usage->status == 0 ? stdout : stderr, "{}", usage->text);
    return usage->status;
  }
  const auto status = homz::no_throw([&] { return bench(settings); });
  if (status.ok()) return *status;
  tell(status.status());
  return status.status().code() == homz::Code::invalid_argument ? kUsage : kFailed;
}
