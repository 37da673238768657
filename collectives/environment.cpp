// Overrides of choices from outside the program.
#include "collectives/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codecs/builtin.hpp"
#include "collectives/refusal.hpp"

namespace homz {
namespace {

// By the algorithm that is asked for, or by any.
bool suits(Scheme scheme, Algorithm asked, const Task& task) {
  if (asked != Algorithm::automatic) return can_run(asked, scheme, task);
  return std::ranges::any_of(kEveryAlgorithm, [&](Algorithm each) { return can_run(each, scheme, task); });
}

// Why it does not suit; empty if it does.
std::string_view objection_to(const CodecChoice& choice, Scheme scheme, const Task& task) {
  if (choice.codec == nullptr) return {};
  if (!task.lossy && !choice.codec->info().lossless) return kMustBeExact;
  switch (lack_of(*choice.codec, scheme, task)) {
    case Lack::nothing:
      return {};
    case Lack::gpu_coder:
      return "it does not run on GPUs";
    case Lack::arithmetic:
      return "it has no arithmetic, which the scheme needs";
    case Lack::gpu_arithmetic:
      return "its arithmetic does not run on GPUs";
  }
  return {};
}

std::string ignored(const char* variable, std::string_view value, std::string_view why) {
  return fmt::format("; {}={} is ignored: {}", variable, value, why);
}

}  // namespace

const char* environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != 0 && std::strcmp(value, "auto") != 0 ? value : nullptr;
}

Result<std::optional<bool>> environment_yes_or_no(const char* name) {
  const char* const value = environment_variable(name);
  if (value == nullptr) return std::optional<bool>();
  if (std::strcmp(value, "0") == 0 || std::strcmp(value, "1") == 0) return std::optional<bool>(*value == '1');
  return Status(Code::invalid_argument, fmt::format("{}: '{}' must be 0, 1 or auto", name, value));
}

Result<Overrides> overrides_of_environment() {
  return no_throw([&]() -> Result<Overrides> {
    Overrides overrides;
    if (const char* const text = environment_variable("HOMZ_ALGORITHM")) {
      const Result<Algorithm> value = parse_algorithm(text);
      if (!value.ok()) return value.status().within("HOMZ_ALGORITHM");
      overrides.algorithm = *value;
    }
    if (const char* const text = environment_variable("HOMZ_SCHEME")) {
      const Result<Scheme> value = parse_scheme(text);
      if (!value.ok()) return value.status().within("HOMZ_SCHEME");
      overrides.scheme = *value;
    }
    if (const char* const text = environment_variable("HOMZ_CODEC")) {
      const Result<CodecChoice> value = registry().choose(text);
      if (!value.ok()) return value.status().within("HOMZ_CODEC");
      overrides.codec = *value;
    }
    return overrides;
  });
}

CollectiveOptions overridden(CollectiveOptions options, const Overrides& overrides, const Task& task) {
  const Scheme scheme = options.scheme == Scheme::automatic ? Scheme::plain : options.scheme;
  if (options.algorithm == Algorithm::automatic && overrides.algorithm != Algorithm::automatic &&
      can_run(overrides.algorithm, scheme, task))
    options.algorithm = overrides.algorithm;
  if (options.scheme == Scheme::automatic && overrides.scheme != Scheme::automatic &&
      suits(overrides.scheme, options.algorithm, task))
    options.scheme = overrides.scheme;
  if (options.codec.codec == nullptr && objection_to(overrides.codec, options.scheme, task).empty())
    options.codec = overrides.codec;
  return options;
}

std::string ignored_overrides(const CollectiveOptions& options, const Overrides& overrides,
                              const Task& task) {
  std::string text;
  if (options.algorithm == Algorithm::automatic && overrides.algorithm != Algorithm::automatic)
    text += ignored("HOMZ_ALGORITHM", to_string(overrides.algorithm),
                    objection_to(overrides.algorithm, options.scheme, task).why);
  if (options.scheme == Scheme::automatic && overrides.scheme != Scheme::automatic)
    text += ignored("HOMZ_SCHEME", to_string(overrides.scheme),
                    objection_to(options.algorithm, overrides.scheme, task).why);
  if (options.codec.codec == nullptr && overrides.codec.codec != nullptr)
    text += ignored("HOMZ_CODEC", to_string(overrides.codec),
                    objection_to(overrides.codec, options.scheme, task));
  return text;
}

}  // namespace homz
