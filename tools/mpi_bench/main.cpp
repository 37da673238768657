// homz-mpi-bench: what collectives with compression take, against MPI's own in the same run.
#include <fmt/format.h>
#include <mpi.h>

#include <nlohmann/json.hpp>

#include "collectives/mpi.hpp"
#include "collectives/profile.hpp"
#include "collectives/tune.hpp"
#include "tools/mpi_bench/measure.hpp"

namespace homz::mpi_bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUsage = 2, kFailed = 1, kBroken = 3;  // 3: a bound or the identity of results

void print_head(const Settings& settings, int ranks) {
  fmt::print("# homz {}, {} ranks, {} of {}, data {}; *: as auto has chosen\n",
             to_string(settings.collective), ranks, to_string(settings.op), to_string(settings.dtype),
             settings.data);
  if (settings.profile.empty())
    fmt::print(
        "# no --profile: links are taken for fast, so auto compresses nothing; --tune=FILE makes one\n");
  fmt::print("# {:>11} {:>13} {:>18} {:>12} {:>7} {:>12} {:>7} {:>10} {:>10} {:>12} {:>7} {:>11} {:>5}\n",
             "size", "scheme", "algorithm", "time us", "spread", "plain us", "faster", "algbw GB/s",
             "busbw GB/s", "wire B/rank", "ratio", "error/bound", "same");
}

void print_row(const Point& p) {
  fmt::print(
      "{:>13} {:>13} {:>18} {:>12.1f} {:>6.0f}% {:>12.1f} {:>6.2f}x {:>10.3f} {:>10.3f} {:>12} {:>7.2f} "
      "{:>11} "
      "{:>5}\n",
      p.size_bytes, bench::scheme_text(p), bench::algorithm_text(p), p.seconds * 1e6,
      100 * (p.most_seconds - p.least_seconds) / p.seconds, p.plain_seconds * 1e6,
      p.plain_seconds / p.seconds, p.algbw_gbps, p.busbw_gbps, bench::wire_text(p), p.ratio,
      bench::error_text(p), p.identical ? "yes" : "NO");
  if (p.report.reason.starts_with("uncompressed: ")) fmt::print("# {}\n", p.report.reason);
}

// Rank 0 alone has the file; all ranks end alike.
Status check_profile(const Settings& settings, int rank) {
  const Status own = rank == 0 ? check_output(settings.tune, settings.force) : Status();
  int is_fine = own.ok() ? 1 : 0;
  MPI_Bcast(&is_fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return own.ok() && is_fine == 0 ? Status(Code::invalid_argument, "rank 0 cannot write the profile") : own;
}

Status tune_into(const std::string& name, int rank) {
  HOMZ_ASSIGN(const auto transport, mpi_transport(MPI_COMM_WORLD));
  HOMZ_ASSIGN(const Profile profile, tune(*transport, {}));
  if (rank != 0) return Status();
  HOMZ_TRY(write_profile(name, profile));
  fmt::print("{}: written; hand it to --profile, homz plan and homz::read_profile()\n", name);
  return Status();
}

// The exit status.
Result<int> run(const Settings& settings, int rank) {
  if (!settings.tune.empty()) {
    HOMZ_TRY(check_profile(settings, rank));
    HOMZ_TRY(tune_into(settings.tune, rank));
    return 0;
  }
  HOMZ_ASSIGN(const Profile profile,
              settings.profile.empty() ? Profile::unmeasured() : read_profile(settings.profile));
  HOMZ_ASSIGN(const auto plain, mpi_transport(MPI_COMM_WORLD));
  HOMZ_ASSIGN(auto transport, mpi_transport(MPI_COMM_WORLD));
  HOMZ_ASSIGN(Communicator communicator, Communicator::make(std::move(transport), profile));
  const bool speaks = rank == 0;
  if (speaks && !settings.json) print_head(settings, communicator.size());
  Json results = Json::array();
  bool is_sound = true;
  for (const std::uint64_t size : settings.sizes) {
    HOMZ_ASSIGN(const std::vector<Point> points, measure(communicator, *plain, settings, size));
    for (const Point& point : points) {
      const bool may_exceed = settings.options.sigmas > 0;  // some values, as promised
      is_sound &= point.identical && (may_exceed || point.keeps_bound());
      if (speaks && settings.json) results.push_back(bench::json_of(settings, settings.data, point));
      if (speaks && !settings.json) print_row(point);
    }
  }
  if (speaks && settings.json) fmt::print("{}\n", Json{{"results", results}}.dump());
  return is_sound ? 0 : kBroken;
}

// Waits a while for the others, if all have come to this: then one message is enough, and no rank hangs.
bool all_have_failed() {
  MPI_Request request = MPI_REQUEST_NULL;
  int is_done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (const double until = MPI_Wtime() + 2; is_done == 0 && MPI_Wtime() < until;)
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  return is_done != 0;
}

int tell(const Status& failure, int rank) {
  const bool all = all_have_failed();
  if (!all || rank == 0)
    fmt::print(stderr, "homz-mpi-bench: {}{}\n", all ? "" : fmt::format("rank {}: ", rank),
               failure.message());
  std::fflush(stderr);
  if (!all) MPI_Abort(MPI_COMM_WORLD, kFailed);
  return failure.code() == Code::invalid_argument ? kUsage : kFailed;
}

}  // namespace
}  // namespace homz::mpi_bench

int main(int argc, char** argv) {
  using namespace homz::mpi_bench;
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Settings settings;
  if (const auto usage = parse(argc, argv, settings)) {
    if (rank == 0) fmt::print(usage->status == 0 ? stdout : stderr, "{}", usage->text);
    MPI_Finalize();
    return usage->status;
  }
  const auto status = homz::no_throw([&] { return run(settings, rank); });
  const int exit_status = status.ok() ? *status : tell(status.status(), rank);
  MPI_Finalize();
  return exit_status;
}
