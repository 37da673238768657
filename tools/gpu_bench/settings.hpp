// What homz-gpu-bench is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/settings.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::gpu_bench {

enum class Route { peer, nccl, staged };  // of messages between GPUs
std::string_view to_string(Route route) noexcept;

struct Settings : bench::Settings {
  std::vector<std::string> data;  // of data/synthetic.hpp, or "noise"
  Route route = Route::peer;
  int gpus = 0;               // 0: all
  bool nodes = false;         // every rank is a node of its own
  bool tune = false;          // before the calls
  std::string tuned;          // file for the profile that this makes
  double seconds = 20;        // spent on calls of a size, about; 0: no limit
  double most_seconds = 600;  // of the whole run
};

// Settings, or how the program ends without them.
std::optional<Usage> parse(int argc, char** argv, Settings& settings);

}  // namespace homz::gpu_bench
