// What homz-mpi-bench is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/settings.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::mpi_bench {

struct Settings : bench::Settings {
  std::string data = "smooth";  // or a file's name
  bool is_file = false;
  std::vector<Algorithm> plain{Algorithm::native};  // what uncompressed means: the best of these
  double pause_seconds = 0;
  bool only_plain = false;
  std::string tune;  // file
};

// Settings, or how the program ends without them.
std::optional<Usage> parse(int argc, char** argv, Settings& settings);

}  // namespace homz::mpi_bench
