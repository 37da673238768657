#include "tools/gpu_bench/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

namespace homz::gpu_bench {
namespace {

constexpr std::array<std::string_view, 3> kRoutes = {"peer", "nccl", "staged"};

constexpr const char* kExamples = R"(Examples:
  homz-gpu-bench allreduce --size 4KiB:1GiB --data smooth,noise --rel 1e-3
  homz-gpu-bench allreduce --size 256MiB --rel 1e-3 --scheme hzccl,homcomp-fused --algorithm ring --json
  NCCL_P2P_DISABLE=1 homz-gpu-bench allreduce --size 256MiB --rel 1e-3 --transport nccl --tune

Ranks are threads of one process, each with a GPU. Sizes are of values before compression: of a rank's vector
(allreduce, bcast), or of all ranks' data together (reduce_scatter, allgather); algbw and busbw are computed
from them as nccl-tests does. Data differ on every rank; above 64 MiB they repeat, shifted by a million values
each time. Errors are looked for in the first 64 MiB of every result, differences between ranks in all of it.
Noise has random bits; a bound relative to its range leaves few. Variables NCCL_... are the caller's.)";

struct Texts : bench::Texts {
  std::string data = "smooth", route = "peer";
};

Result<Route> parse_route(std::string_view text) {
  for (std::size_t i = 0; i < kRoutes.size(); ++i)
    if (text == kRoutes[i]) return static_cast<Route>(i);
  return Status(Code::invalid_argument,
                fmt::format("--transport '{}': must be {}", text, fmt::join(kRoutes, ", ")));
}

Result<std::string> parse_data(std::string_view text) {
  HOMZ_TRY(bench::check_data(text, "noise"));
  return std::string(text);
}

Status check_numbers(const Settings& settings) {
  if (settings.gpus < 0)
    return Status(Code::invalid_argument,
                  fmt::format("--gpus {}: give at least 1, or 0 for all", settings.gpus));
  if (!(settings.seconds >= 0))
    return Status(Code::invalid_argument,
                  fmt::format("--seconds {}: give 0 for no limit, or more", settings.seconds));
  if (!(settings.most_seconds > 0))
    return Status(Code::invalid_argument, fmt::format("--limit {}: must be above 0", settings.most_seconds));
  return Status();
}

Status understand(const Texts& texts, Settings& settings) {
  HOMZ_TRY(bench::understand(texts, settings));
  switch (settings.collective) {
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::bcast:
      break;
    default:
      return Status(Code::invalid_argument,
                    fmt::format("{}: measured are allreduce, reduce_scatter, allgather and bcast",
                                to_string(settings.collective)));
  }
  HOMZ_ASSIGN(settings.data, parse_list(texts.data, parse_data));
  HOMZ_ASSIGN(settings.route, parse_route(texts.route));
  HOMZ_TRY(check_numbers(settings));
  if (settings.tune && !settings.profile.empty())
    return Status(Code::invalid_argument, "--tune and --profile: give one of them");
  if (!settings.tune && !settings.tuned.empty())
    return Status(Code::invalid_argument, "--write-profile without --tune: give both");
  return settings.tuned.empty() ? Status() : check_output(settings.tuned, settings.force);
}

}  // namespace

std::string_view to_string(Route route) noexcept {
  return kRoutes[static_cast<std::size_t>(route)];
}

std::optional<Usage> parse(int argc, char** argv, Settings& settings) {
  CLI::App app("Measures collectives with compression on GPUs against NCCL's own, interleaved.",
               "homz-gpu-bench");
  app.footer(kExamples);
  Texts texts;
  settings.options.timeout_seconds = 60;
  settings.options.space = Space::device;
  ask_what(app, texts, "allreduce, reduce_scatter, allgather or bcast");
  app.add_option("--data", texts.data, "normal, walk, longwalk, smooth, waves or noise; a list")
      ->capture_default_str();
  app.add_option("--gpus,-g", settings.gpus, "how many; 0: all")->capture_default_str();
  app.add_option("--transport", texts.route,
                 "peer (from GPU to GPU), nccl (by ncclSend), or staged (through memory of the host)")
      ->capture_default_str();
  app.add_flag("--nodes", settings.nodes, "every GPU counts as a node of its own");
  ask_how(app, texts, settings);
  ask_calls(app, texts, settings, "NCCL's");
  app.add_option("--seconds", settings.seconds,
                 "spent on calls of a size, about; at least 3 of each are measured; 0: no limit")
      ->capture_default_str();
  app.add_option("--limit", settings.most_seconds, "seconds after which the program gives up")
      ->capture_default_str();
  app.add_flag("--tune", settings.tune, "measure this machine first, for the profile");
  app.add_option("--write-profile", settings.tuned, "the file for the profile that --tune makes");
  app.add_flag("--force", settings.force, "replace a profile that exists");
  app.add_option("--profile", settings.profile, "file of homz tune");
  app.add_flag("--json", settings.json, "print JSON");
  return usage_of(app, argc, argv, [&] { return understand(texts, settings); });
}

}  // namespace homz::gpu_bench
