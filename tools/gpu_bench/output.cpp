#include "tools/gpu_bench/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "tools/gpu_bench/nccl_version.hpp"

namespace homz::gpu_bench {
namespace {

// What tells NCCL which links to take: "NCCL_P2P_DISABLE=1", ..., sorted.
std::vector<std::string> nccl_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with("NCCL_")) variables.emplace_back(*variable);
  std::ranges::sort(variables);
  return variables;
}

void print_row(const Point& p) {
  const double faster = p.plain_seconds / p.seconds;
  const CallReport& report = p.report;
  fmt::print(
      "{:>13} {:>8} {:>13} {:>18} {:>10.3f} {:>6.0f}% {:>10.3f} {:>6.2f}x {:>6.2f} {:>8.2f} {:>8.2f} "
      "{:>8.2f} "
      "{:>12} {:>11} {:>4} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f}\n",
      p.size_bytes, p.data, bench::scheme_text(p), bench::algorithm_text(p), p.seconds * 1e3,
      100 * (p.most_seconds - p.least_seconds) / p.seconds, p.plain_seconds * 1e3, faster, p.ratio,
      faster / p.ratio, p.algbw_gbps, p.busbw_gbps, bench::wire_text(p), bench::error_text(p),
      p.identical ? "yes" : "NO", report.encode_seconds * 1e3, report.combine_seconds * 1e3,
      report.decode_seconds * 1e3, report.wait_seconds * 1e3);
}

}  // namespace

Output::Output(const Settings& settings, std::vector<std::string> gpus) : settings_(settings) {
  document_ = {{"gpus", std::move(gpus)},
               {"nccl", nccl_version()},
               {"environment", nccl_environment()},
               {"transport", to_string(settings.route)},
               {"results", nlohmann::ordered_json::array()}};
  if (!settings.json) print_head();
}

void Output::print_head() const {
  const auto gpus = document_["gpus"].get<std::vector<std::string>>();
  const auto environment = document_["environment"].get<std::vector<std::string>>();
  fmt::print("# homz {}, {} ranks, {} of {}, transport {}{}; {}\n", to_string(settings_.collective),
             gpus.size(), to_string(settings_.op), to_string(settings_.dtype), to_string(settings_.route),
             settings_.nodes ? ", a node each" : "", fmt::join(gpus, ", "));
  fmt::print("# NCCL {}, {}\n", document_["nccl"].get<std::string>(),
             environment.empty() ? "no NCCL_ variables" : fmt::format("{}", fmt::join(environment, " ")));
  fmt::print("# *: as auto has chosen. Coding and waiting: of rank 0, in the last call. Milliseconds.\n");
  fmt::print(
      "# {:>11} {:>8} {:>13} {:>18} {:>10} {:>7} {:>10} {:>7} {:>6} {:>8} {:>8} {:>8} {:>12} {:>11} {:>4} "
      "{:>8} {:>8} {:>8} {:>8}\n",
      "size", "data", "scheme", "algorithm", "ms", "spread", "NCCL ms", "faster", "ratio", "of ratio",
      "algbw", "busbw", "wire B/rank", "error/bound", "same", "encode", "combine", "decode", "wait");
  std::fflush(stdout);
}

void Output::add(const Point& point) {
  const std::lock_guard lock(guard_);
  is_sound_ &= point.identical && point.keeps_bound();
  nlohmann::ordered_json json = bench::json_of(settings_, point.data, point);
  json["calls"] = point.calls;
  document_["results"].push_back(std::move(json));
  if (settings_.json) return;
  print_row(point);
  std::fflush(stdout);  // what there is stays, however the program ends
}

void Output::finish() {
  const std::lock_guard lock(guard_);
  if (settings_.json) fmt::print("{}\n", document_.dump());
  std::fflush(stdout);
}

}  // namespace homz::gpu_bench
