#include "tools/bench/settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "codecs/builtin.hpp"
#include "data/synthetic.hpp"
#include "tools/amounts.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::bench {
namespace {

constexpr const char* kSize = "--size";

// "8MiB", and "4:64MiB": by doubling.
Status add_sizes(std::string_view text, Dtype dtype, std::vector<std::uint64_t>& sizes) {
  const std::size_t colon = text.find(':');
  HOMZ_ASSIGN(const std::uint64_t first, parse_size(kSize, text.substr(0, colon)));
  std::uint64_t last = first;
  if (colon != std::string_view::npos) {
    HOMZ_ASSIGN(last, parse_size(kSize, text.substr(colon + 1)));
  }
  HOMZ_TRY(check_whole(kSize, first, dtype));
  if (last < first)
    return Status(Code::invalid_argument, fmt::format("{} {}: give the smaller size first", kSize, text));
  for (std::uint64_t size = first; size <= last; size = std::max<std::uint64_t>(size_of(dtype), 2 * size))
    sizes.push_back(size);
  return Status();
}

Result<std::vector<std::uint64_t>> parse_sizes(const std::string& text, Dtype dtype) {
  std::vector<std::uint64_t> sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) HOMZ_TRY(add_sizes(part, dtype, sizes));
  if (sizes.empty())
    return Status(Code::invalid_argument, fmt::format("{} '{}': an empty list", kSize, text));
  return sizes;
}

Result<ReduceOp> parse_op(std::string_view text, Collective collective) {
  const auto op = parse_reduce_op(text);
  if (!op.ok()) return op.status().within("--op");
  if (!reduces(collective)) return ReduceOp::none;
  if (*op == ReduceOp::none)
    return Status(Code::invalid_argument,
                  "--op none: a reduction needs an operation: sum, average, min, max or prod");
  return op;
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
                 fmt::format("bytes of whole values; with {}; ranges by doubling as in 4:64MiB; lists",
                             kUnitsOfBytes))
      ->capture_default_str();
}

void ask_how(CLI::App& app, Texts& texts, Settings& settings) {
  app.add_option("--abs", texts.absolute, "bound of the error of the result, in units of the data");
  app.add_option("--rel", texts.relative, "the same, times the range of the result");
  app.add_option("--sigmas", settings.options.sigmas,
                 "statistical bound of a sum: E is so many standard deviations");
  app.add_option("--algorithm", texts.algorithm, kAlgorithmsHelp)->capture_default_str();
  app.add_option("--scheme", texts.scheme, kSchemesHelp)->capture_default_str();
}

void ask_calls(CLI::App& app, Texts& texts, Settings& settings, const std::string& native) {
  app.add_option("--codec,-c", texts.codec, "as of homz compress");
  app.add_option("--piece", settings.options.piece_values, "values that travel at once; 0: by the profile");
  app.add_option("--threads", settings.options.threads, "for coding, of each rank; 0: one a core")
      ->capture_default_str();
  app.add_flag("--trust", settings.options.trusts_ranks,
               native + " own collectives run without an agreement before");
  app.add_option("--timeout", settings.options.timeout_seconds,
                 "seconds that a rank may be silent; 0: for ever");
  app.add_option("--iterations,-i", settings.iterations, "measured calls")->capture_default_str();
  app.add_option("--warmup,-x", settings.warmup, "calls before")->capture_default_str();
}

Status check_data(std::string_view name, std::string_view random) {
  std::string known;
  for (const Synthetic kind : kSynthetics) known += fmt::format("{}, ", to_string(kind));
  if (name == random || parse_synthetic(name).ok()) return Status();
  return Status(Code::invalid_argument, fmt::format("--data '{}': must be one of {}{}", name, known, random));
}

Status understand(const Texts& texts, Settings& settings) {
  HOMZ_ASSIGN(settings.collective, parse_collective(texts.collective));
  HOMZ_ASSIGN(settings.op, parse_op(texts.op, settings.collective));
  if (texts.type != "f32" && texts.type != "f64")
    return Status(Code::invalid_argument, fmt::format("--type '{}': must be f32 or f64", texts.type));
  settings.dtype = texts.type == "f32" ? Dtype::f32 : Dtype::f64;
  HOMZ_ASSIGN(settings.sizes, parse_sizes(texts.size, settings.dtype));
  HOMZ_TRY(understand_bound(texts, settings));
  HOMZ_ASSIGN(settings.algorithms, parse_algorithms("--algorithm", texts.algorithm));
  HOMZ_ASSIGN(settings.schemes, parse_schemes("--scheme", texts.scheme));
  if (!texts.codec.empty()) {
    const auto codec = registry().choose(texts.codec);
    if (!codec.ok()) return codec.status().within("--codec");
    settings.options.codec = *codec;
  }
  if (settings.iterations == 0) return Status(Code::invalid_argument, "--iterations 0: at least 1");
  return Status();
}

}  // namespace homz::bench
