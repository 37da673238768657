// What homz-mpi-bench is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/request.hpp"
#include "core/error_bound.hpp"
#include "tools/mpi_settings.hpp"

namespace homz::mpi_bench {

struct Settings {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::sum;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t>
      sizes;                    // bytes: of a rank's vector (allreduce, reduce, bcast), else of all ranks'
  std::string data = "smooth";  // or a file's name
  bool is_file = false;
  std::optional<ErrorBound> bound;  // of the result; relative: to its range
  std::vector<Algorithm> algorithms{Algorithm::automatic};
  std::vector<Scheme> schemes{Scheme::automatic};
  std::vector<Algorithm> plain{Algorithm::native};  // what uncompressed means: the best of these
  CollectiveOptions options;
  unsigned iterations = 11, warmup = 2;
  double pause_seconds = 0;
  bool json = false, only_plain = false;
  std::string profile, tune;  // files
};

// Settings, or how the program ends without them.
std::optional<Usage> parse(int argc, char** argv, Settings& settings);

}  // namespace homz::mpi_bench
