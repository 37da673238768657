#include "tools/mpi_sim/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/amounts.hpp"
#include "tools/mpi_sim/machine.hpp"

namespace homz::mpi_sim {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz-mpi-sim --profile profile.json --ranks 64 --size 16MiB --algorithm ring,two-level --scheme plain,ccoll
  homz-mpi-sim --profile profile.json --ranks 64 --size 16MiB --mpi lr

The profile (docs/tuning.md) is the machine: its links are the cluster's, its first codec's speeds are charged.
--cfg=... and --log=... are options of SimGrid.)";

constexpr std::uint64_t kMost = std::uint64_t{1} << 31;

Result<std::uint64_t> parse_vector(std::string_view text) {
  HOMZ_ASSIGN(const std::uint64_t bytes, parse_size("--size", text));
  HOMZ_TRY(check_whole("--size", bytes, Dtype::f32));
  if (bytes <= kMost) return bytes;
  return Status(Code::invalid_argument, fmt::format("--size '{}': give at most 2 GiB", text));
}

Result<Profile> read_machine(const std::string& name) {
  auto profile = read_profile(name);
  if (!profile.ok()) return profile;
  profile->natives.clear();  // measured elsewhere
  if (profile->codecs.empty())
    return Status(Code::invalid_argument, fmt::format("{}: has no codec to simulate", name));
  profile->codecs.resize(1);
  for (const LinkProfile& link : {profile->inside, profile->between})
    if (link.seconds_per_byte == 0)
      return Status(Code::invalid_argument, fmt::format("{}: links take no time for a byte", name));
  if (to_json(*profile).size() > kReal)
    return Status(Code::invalid_argument,
                  fmt::format("{}: more than the {} bytes that simulated messages carry", name, kReal));
  return profile;
}

struct Texts {
  std::string profile, size = "1MiB", algorithm = "ring", scheme = "plain";
};

Status understand(const Texts& texts, Settings& settings) {
  HOMZ_ASSIGN(settings.profile, read_machine(texts.profile));
  HOMZ_ASSIGN(settings.sizes, parse_list(texts.size, parse_vector));
  HOMZ_ASSIGN(settings.algorithms, parse_algorithms("--algorithm", texts.algorithm));
  HOMZ_ASSIGN(settings.schemes, parse_schemes("--scheme", texts.scheme));
  if (settings.ranks < 1 || settings.per_node < 1 || settings.ranks % settings.per_node != 0)
    return Status(Code::invalid_argument, fmt::format("{} ranks, {} a node: all nodes must have as many",
                                                      settings.ranks, settings.per_node));
  if (!(settings.ratio > 0)) return Status(Code::invalid_argument, "--ratio: must be above 0");
  if (!(settings.relative > 0)) return Status(Code::invalid_argument, "--rel: must be above 0");
  return Status();
}

}  // namespace

std::optional<Usage> parse(int argc, char** argv, Settings& settings) {
  CLI::App app("Simulates an allreduce of f32 on a cluster: the library's own code, without data.",
               "homz-mpi-sim");
  app.footer(kExamples);
  Texts texts;
  app.add_option("--profile", texts.profile, "the machine: file of homz tune")->required();
  app.add_option("--ranks,-n", settings.ranks, "how many")->capture_default_str();
  app.add_option("--per-node", settings.per_node, "ranks of a node, which share its link")
      ->capture_default_str();
  app.add_option("--size,-m", texts.size,
                 fmt::format("bytes of a rank's vector; with {}; a list", kUnitsOfBytes))
      ->capture_default_str();
  app.add_option(
         "--algorithm", texts.algorithm,
         "ring, recursive-doubling, rabenseifner, direct, binomial, two-level or auto; a list, or all")
      ->capture_default_str();
  app.add_option(
         "--scheme", texts.scheme,
         "plain, cprp2p, ccoll, hzccl, homcomp-ahead, homcomp-step, homcomp-fused or auto; a list, or all")
      ->capture_default_str();
  app.add_option("--mpi", settings.mpi,
                 "SMPI's own allreduce instead, uncompressed: lr, rab, rdb, ... as its smpi/allreduce");
  app.add_option("--piece", settings.piece_values, "values that travel at once; 0: by the profile");
  app.add_option("--ratio", settings.ratio,
                 "raw over compressed bytes of one rank's data at its share of the bound")
      ->capture_default_str();
  app.add_option("--rel", settings.relative, "bound of the error of the sum, of its largest value")
      ->capture_default_str();
  app.add_flag("--lazy", settings.is_lazy,
               "ranks look for messages only when idle: many times faster for hundreds of ranks, and a "
               "few percent off");
  app.add_flag("--json", settings.json, "print JSON");
  return usage_of(app, argc, argv, [&] { return understand(texts, settings); });
}

}  // namespace homz::mpi_sim
