// What homz-mpi-sim is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/profile.hpp"
#include "collectives/request.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::mpi_sim {

struct Settings {
  int ranks = 8, per_node = 4;
  std::vector<std::uint64_t> sizes;
  std::vector<Algorithm> algorithms;
  std::vector<Scheme> schemes;
  std::string mpi;  // SMPI's own allreduce instead, by this algorithm of it
  std::uint64_t piece_values = 0;
  Profile profile;
  double ratio = 8, relative = 1e-3;
  bool is_lazy = false, json = false;
};

// Settings, or how the program ends without them.
std::optional<Usage> parse(int argc, char** argv, Settings& settings);

}  // namespace homz::mpi_sim
