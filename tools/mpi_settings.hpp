// What the command lines of homz-mpi-bench, homz-gpu-bench and homz-mpi-sim share.
#pragma once

#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/profile.hpp"

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

// Of words between commas.
template <class T>
Result<std::vector<T>> parse_list(const std::string& text, Result<T> (*parse)(std::string_view)) {
  std::vector<T> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    HOMZ_ASSIGN(const T value, parse(part));
    values.push_back(value);
  }
  if (values.empty()) return Status(Code::invalid_argument, "an empty list");
  return values;
}

Result<Profile> read_profile(const std::string& name);
Status write_profile(const std::string& name, const Profile& profile);

}  // namespace homz
