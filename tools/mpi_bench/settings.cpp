#include "tools/mpi_bench/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

namespace homz::mpi_bench {
namespace {

constexpr const char* kExamples = R"(Examples:
  mpirun -n 4 homz-mpi-bench allreduce --size 8MiB --data smooth --rel 1e-3
  mpirun -n 4 homz-mpi-bench allreduce --size 4:64MiB --data walk --rel 1e-3 --scheme hzccl,homcomp-fused --algorithm ring --json
  mpirun -n 4 homz-mpi-bench --tune=profile.json

Sizes are of values before compression: of a rank's vector (allreduce, reduce, bcast), or of all ranks' data
together (other collectives), then rounded up to the same whole values on every rank; algbw and busbw are
computed from them as nccl-tests does. Data differ on every rank. A list leaves out what cannot run.)";

struct Texts : bench::Texts {
  std::string data = "smooth", file, plain = "native";
};

Status understand(const Texts& texts, Settings& settings) {
  HOMZ_TRY(bench::understand(texts, settings));
  settings.is_file = !texts.file.empty();
  settings.data = settings.is_file ? texts.file : texts.data;
  if (!settings.is_file) HOMZ_TRY(bench::check_data(settings.data, "incompressible"));
  HOMZ_ASSIGN(settings.plain, parse_algorithms("--plain", texts.plain));
  if (!(settings.pause_seconds >= 0) || std::isinf(settings.pause_seconds))
    return Status(Code::invalid_argument,
                  fmt::format("--pause {}: give seconds, or 0", settings.pause_seconds));
  return Status();
}

}  // namespace

std::optional<Usage> parse(int argc, char** argv, Settings& settings) {
  CLI::App app("Measures collectives with compression against MPI's own, interleaved.", "homz-mpi-bench");
  app.footer(kExamples);
  Texts texts;
  ask_what(app, texts, "allreduce, reduce_scatter, reduce, allgather, bcast, scatter, gather or alltoall");
  app.add_option("--data", texts.data, "normal, walk, longwalk, smooth, waves or incompressible")
      ->capture_default_str();
  app.add_option("--file", texts.file, "raw values of the type; ranks read at different places");
  ask_how(app, texts, settings);
  app.add_option("--plain", texts.plain,
                 "algorithms of the uncompressed call that is compared with; a list, or all; the best counts")
      ->capture_default_str();
  app.add_flag("--only-plain", settings.only_plain, "measure these only, and check nothing");
  ask_calls(app, texts, settings, "MPI's");
  app.add_option("--pause", settings.pause_seconds,
                 "seconds of rest before each call, in which the token buckets of emulated links fill");
  app.add_option("--profile", settings.profile, "file of homz tune, or of --tune");
  app.add_option("--tune", settings.tune,
                 "measure this machine, write the profile to this file, and end; with =, since mpirun has a "
                 "--tune, too");
  app.add_flag("--force", settings.force, "replace a profile that exists");
  app.add_flag("--json", settings.json, "print JSON");
  return usage_of(app, argc, argv, [&] { return understand(texts, settings); });
}

}  // namespace homz::mpi_bench
