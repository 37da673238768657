// What the command lines of homz-mpi-bench and homz-gpu-bench share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/request.hpp"
#include "core/error_bound.hpp"

namespace CLI {
class App;
}

namespace homz::bench {

struct Settings {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::sum;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t>
      sizes;  // bytes: of a rank's vector (allreduce, reduce, bcast), else of all ranks'
  std::optional<ErrorBound> bound;  // of the result; relative: to its range
  std::vector<Algorithm> algorithms{Algorithm::automatic};
  std::vector<Scheme> schemes{Scheme::automatic};
  CollectiveOptions options;
  unsigned iterations = 11, warmup = 2;
  bool json = false;
  bool force = false;   // a profile that is written may take another one's place
  std::string profile;  // file
};

// Words of the command line that settings are made of.
struct Texts {
  std::string collective = "allreduce", op = "sum", type = "f32", size = "1MiB", absolute, relative,
              algorithm = "auto", scheme = "auto", codec;
};

// ---- Options, in groups between which programs have their own

void ask_what(CLI::App& app, Texts& texts, const char* collectives);
void ask_how(CLI::App& app, Texts& texts, Settings& settings);
// `native`: whose collectives the transport's own are, as in "MPI's".
void ask_calls(CLI::App& app, Texts& texts, Settings& settings, const std::string& native);

// --data. `random`: what a program calls data of random bits.
Status check_data(std::string_view name, std::string_view random);

// Errors: invalid_argument, with the remedy.
Status understand(const Texts& texts, Settings& settings);

}  // namespace homz::bench
