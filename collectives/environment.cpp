// Overrides of choices from outside the program.
#include <algorithm>
#include <cstdlib>

#include "codecs/builtin.hpp"
#include "collectives/choose.hpp"

namespace homz {
namespace {

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

// By the algorithm that is asked for, or by any.
bool suits(Scheme scheme, Algorithm asked, const Task& task) {
  if (asked != Algorithm::automatic) return can_run(asked, scheme, task);
  for (auto each = Algorithm::native; each <= Algorithm::two_level;
       each = static_cast<Algorithm>(static_cast<int>(each) + 1))
    if (can_run(each, scheme, task)) return true;
  return false;
}

}  // namespace

Result<Overrides> overrides_of_environment() {
  return no_throw([&]() -> Result<Overrides> {
    Overrides overrides;
    if (const char* const text = variable("HOMZ_ALGORITHM")) {
      const Result<Algorithm> value = parse_algorithm(text);
      if (!value.ok()) return value.status().within("HOMZ_ALGORITHM");
      overrides.algorithm = *value;
    }
    if (const char* const text = variable("HOMZ_SCHEME")) {
      const Result<Scheme> value = parse_scheme(text);
      if (!value.ok()) return value.status().within("HOMZ_SCHEME");
      overrides.scheme = *value;
    }
    if (const char* const text = variable("HOMZ_CODEC")) {
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
  const bool suits_space =
      overrides.codec.codec == nullptr || !task.on_device || overrides.codec.codec->on_device();
  if (options.codec.codec == nullptr && suits_space) options.codec = overrides.codec;
  return options;
}

}  // namespace homz
