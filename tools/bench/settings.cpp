#include "tools/bench/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "codecs/builtin.hpp"
#include "core/text.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::bench {
namespace {

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

Status understand_bound(const Texts& texts, Settings& settings) {
  if (!texts.absolute.empty() && !texts.relative.empty())
    return Status(Code::invalid_argument, "--abs and --rel: give one of them");
  if (!texts.absolute.empty()) {
    HOMZ_ASSIGN(settings.bound, parse_error_bound("abs:" + texts.absolute));
  }
  if (!texts.relative.empty()) {
    HOMZ_ASSIGN(settings.bound, parse_error_bound("rel:" + texts.relative));
  }
  return Status();
}

}  // namespace

void ask_what(CLI::App& app, Texts& texts, const char* collectives) {
  app.add_option("collective", texts.collective, collectives);
  app.add_option("--op", texts.op, "sum, average, min, max or prod")->capture_default_str();
  app.add_option("--type", texts.type, "f32 or f64")->capture_default_str();
  app.add_option("--size,-m", texts.size,
                 "bytes; with KiB, MiB, GiB; ranges by doubling as in 4:64MiB; lists")
      ->capture_default_str();
}

void ask_how(CLI::App& app, Texts& texts, Settings& settings) {
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
}

void ask_calls(CLI::App& app, Texts& texts, Settings& settings, const std::string& native) {
  app.add_option("--codec,-c", texts.codec, "as of homz compress");
  app.add_option("--piece", settings.options.piece_values, "values that travel at once; 0: by the profile");
  app.add_option("--threads", settings.options.threads, "for coding, of each rank")->capture_default_str();
  app.add_flag("--trust", settings.options.trusts_ranks,
               native + " own collectives run without an agreement before");
  app.add_option("--timeout", settings.options.timeout_seconds,
                 "seconds that a rank may be silent; 0: for ever");
  app.add_option("--iterations,-i", settings.iterations, "measured calls")->capture_default_str();
  app.add_option("--warmup,-x", settings.warmup, "calls before")->capture_default_str();
}

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
  HOMZ_TRY(understand_bound(texts, settings));
  HOMZ_ASSIGN(settings.algorithms, parse_list(texts.algorithm, parse_algorithm));
  HOMZ_ASSIGN(settings.schemes, parse_list(texts.scheme, parse_scheme));
  if (!texts.codec.empty()) {
    HOMZ_ASSIGN(settings.options.codec, registry().choose(texts.codec));
  }
  if (settings.iterations == 0) return Status(Code::invalid_argument, "--iterations 0: at least 1");
  return Status();
}

}  // namespace homz::bench
