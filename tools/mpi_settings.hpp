// What the command lines of homz-mpi-bench, homz-gpu-bench and homz-mpi-sim share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/profile.hpp"
#include "collectives/request.hpp"

namespace CLI {
class App;
}

namespace homz {

// Exit status, and what to say; for main().
struct Usage {
  int status;
  std::string text;
};

// How the program ends by its command line alone, if it does. `understand` makes settings of what was parsed.
std::optional<Usage> usage_of(CLI::App& app, int argc, char** argv,
                              const std::function<Status()>& understand);

// Of words between commas. `all`: what the word "all" stands for, if it is one.
template <class T>
Result<std::vector<T>> parse_list(const std::string& text, Result<T> (*parse)(std::string_view),
                                  std::span<const T> all = {}) {
  std::vector<T> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "all" && !all.empty()) {
      values.insert(values.end(), all.begin(), all.end());
      continue;
    }
    HOMZ_ASSIGN(const T value, parse(part));
    values.push_back(value);
  }
  if (values.empty()) return Status(Code::invalid_argument, "an empty list");
  return values;
}

// --algorithm and --scheme: lists, or "all"; programs leave out what cannot run. Errors name the option.
inline constexpr const char* kAlgorithmsHelp =
    "auto, native, ring, recursive-doubling, rabenseifner, direct, binomial, bruck or two-level; a list, or "
    "all that can run here";
inline constexpr const char* kSchemesHelp =
    "auto, plain, cprp2p, ccoll, hzccl, homcomp-ahead, homcomp-step or homcomp-fused; a list, or all that "
    "can run here";
Result<std::vector<Algorithm>> parse_algorithms(const std::string& option, const std::string& text);
Result<std::vector<Scheme>> parse_schemes(const std::string& option, const std::string& text);

// Whether write_profile may: before anything is measured. As of homz, what is there stays without --force.
Status check_output(const std::string& name, bool force);
// Whole, or not at all.
Status write_profile(const std::string& name, const Profile& profile);

}  // namespace homz
