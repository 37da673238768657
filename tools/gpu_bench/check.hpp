// What is wrong with results, if anything.
#pragma once

#include "tools/gpu_bench/rank.hpp"

namespace homz::gpu_bench {

struct Finding {
  double max_error = 0;   // of all ranks, in the first 64 MiB of each
  bool identical = true;  // all of the results of all ranks that should be
};

// All ranks look at their results together.
Result<Finding> look_at(Rank& rank, const bench::Extents& extents);

}  // namespace homz::gpu_bench
