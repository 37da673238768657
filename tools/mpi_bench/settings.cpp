#include "tools/mpi_bench/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "codecs/builtin.hpp"
#include "core/text.hpp"
#include "data/synthetic.hpp"

namespace homz::mpi_bench {
namespace {

constexpr const char* kExamples = R"(Examples:
  mpirun -n 4 homz-mpi-bench allreduce --size 8MiB --data smooth --rel 1e-3
  mpirun -n 4 homz-mpi-bench allreduce --size 4:64MiB --data walk --rel 1e-3 --scheme hzccl,homcomp-fused --algorithm ring --json
  mpirun -n 4 homz-mpi-bench --tune profile.json

Sizes are of values before compression: of a rank's vector (allreduce, reduce, bcast), or of all ranks' data together
(other collectives); algbw and busbw are computed from them as nccl-tests does. Data differ on every rank.)";

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::pair<std::string_view, unsigned> kSuffixes[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"K", 10}, {"M", 20}, {"G", 30}, {"B", 0}, {"", 0}};
  for (const auto& [suffix, shift] : kSuffixes) {
    if (!text.ends_with(suffix)) continue;
    const auto number = parse_unsigned(text.substr(0, text.size() - suffix.size()));
    if (number.ok() && *number <= (std::uint64_t{1} << 40) >> shift) return *number << shift;
    break;
  }
  return Status(Code::invalid_argument,
                fmt::format("size '{}': give bytes, or a number with KiB, MiB or GiB", text));
}

// "8MiB", "4:64MiB" (doubling), and lists of them.
Result<std::vector<std::uint64_t>> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.find(':');
    HOMZ_ASSIGN(const std::uint64_t first, parse_size(part.substr(0, colon)));
    std::uint64_t last = first;
    if (colon != std::string::npos) {
      HOMZ_ASSIGN(last, parse_size(part.substr(colon + 1)));
    }
    for (std::uint64_t size = first; size <= last; size = std::max<std::uint64_t>(1, 2 * size))
      sizes.push_back(size);
  }
  if (sizes.empty()) return Status(Code::invalid_argument, fmt::format("no sizes in '{}'", text));
  return sizes;
}

struct Texts {
  std::string collective = "allreduce", op = "sum", type = "f32", size = "1MiB", data = "smooth", file,
              absolute, relative, algorithm = "auto", scheme = "auto", plain = "native", codec;
};

Status understand(const Texts& texts, Settings& settings) {
  HOMZ_ASSIGN(settings.collective, parse_collective(texts.collective));
  HOMZ_ASSIGN(settings.op, parse_reduce_op(texts.op));
  if (!reduces(settings.collective)) settings.op = ReduceOp::none;
  if (reduces(settings.collective) && settings.op == ReduceOp::none)
    return Status(Code::invalid_argument, "--op none: a reduction needs an operation");
  if (texts.type != "f32" && texts.type != "f64")
    return Status(Code::invalid_argument, fmt::format("type '{}': must be f32 or f64", texts.type));
  settings.dtype = texts.type == "f32" ? Dtype::f32 : Dtype::f64;
  HOMZ_ASSIGN(settings.sizes, parse_sizes(texts.size));
  settings.is_file = !texts.file.empty();
  settings.data = settings.is_file ? texts.file : texts.data;
  if (!settings.is_file && settings.data != "incompressible")
    HOMZ_TRY(parse_synthetic(settings.data).status());
  if (!texts.absolute.empty() && !texts.relative.empty())
    return Status(Code::invalid_argument, "--abs and --rel: give one of them");
  if (!texts.absolute.empty()) {
    HOMZ_ASSIGN(settings.bound, parse_error_bound("abs:" + texts.absolute));
  }
  if (!texts.relative.empty()) {
    HOMZ_ASSIGN(settings.bound, parse_error_bound("rel:" + texts.relative));
  }
  HOMZ_ASSIGN(settings.algorithms, parse_list(texts.algorithm, parse_algorithm));
  HOMZ_ASSIGN(settings.schemes, parse_list(texts.scheme, parse_scheme));
  HOMZ_ASSIGN(settings.plain, parse_list(texts.plain, parse_algorithm));
  if (!texts.codec.empty()) {
    HOMZ_ASSIGN(settings.options.codec, registry().choose(texts.codec));
  }
  if (settings.iterations == 0) return Status(Code::invalid_argument, "--iterations 0: at least 1");
  return Status();
}

}  // namespace

std::optional<Usage> parse(int argc, char** argv, Settings& settings) {
  CLI::App app("Measures collectives with compression against MPI's own, interleaved.", "homz-mpi-bench");
  app.footer(kExamples);
  Texts texts;
  app.add_option("collective", texts.collective,
                 "allreduce, reduce_scatter, reduce, allgather, bcast, scatter, gather or alltoall");
  app.add_option("--op", texts.op, "sum, average, min, max or prod")->capture_default_str();
  app.add_option("--type", texts.type, "f32 or f64")->capture_default_str();
  app.add_option("--size,-m", texts.size,
                 "bytes; with KiB, MiB, GiB; ranges by doubling as in 4:64MiB; lists")
      ->capture_default_str();
  app.add_option("--data", texts.data, "normal, walk, longwalk, smooth, waves or incompressible")
      ->capture_default_str();
  app.add_option("--file", texts.file, "raw values of the type; ranks read at different places");
  app.add_option("--abs", texts.absolute, "bound of the error of the result, in units of the data");
  app.add_option("--rel", texts.relative, "the same, times the range of the result");
  app.add_option("--sigmas", settings.options.sigmas,
                 "statistical bound of a sum: E is so many standard deviations");
  app.add_option("--algorithm", texts.algorithm,
                 "auto, native, ring, recursive-doubling, rabenseifner, direct, binomial, "
                 "bruck or two-level; a list")
      ->capture_default_str();
  app.add_option("--scheme", texts.scheme,
                 "auto, plain, cprp2p, ccoll, hzccl, homcomp-ahead, homcomp-step or "
                 "homcomp-fused; a list")
      ->capture_default_str();
  app.add_option("--plain", texts.plain,
                 "algorithms of the uncompressed call that is compared with; the best counts")
      ->capture_default_str();
  app.add_flag("--only-plain", settings.only_plain, "measure these only, and check nothing");
  app.add_option("--codec,-c", texts.codec, "as of homz compress");
  app.add_option("--piece", settings.options.piece_values, "values that travel at once; 0: by the profile");
  app.add_option("--threads", settings.options.threads, "for coding, of each rank")->capture_default_str();
  app.add_flag("--trust", settings.options.trusts_ranks,
               "MPI's own collectives run without an agreement before");
  app.add_option("--timeout", settings.options.timeout_seconds,
                 "seconds that a rank may be silent; 0: for ever");
  app.add_option("--iterations,-i", settings.iterations, "measured calls")->capture_default_str();
  app.add_option("--warmup,-x", settings.warmup, "calls before")->capture_default_str();
  app.add_option("--pause", settings.pause_seconds,
                 "seconds of rest before each call, in which the token buckets of emulated links fill");
  app.add_option("--profile", settings.profile, "file of homz tune, or of --tune");
  app.add_option("--tune", settings.tune, "measure this machine, write the profile to this file, and end");
  app.add_flag("--json", settings.json, "print JSON");
  if (auto usage = usage_of(app, argc, argv)) return usage;
  const Status status = understand(texts, settings);
  if (!status.ok()) return Usage{2, "homz-mpi-bench: " + status.message() + "\n"};
  return std::nullopt;
}

}  // namespace homz::mpi_bench
