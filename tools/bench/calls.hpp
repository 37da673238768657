// The calls that homz-mpi-bench and homz-gpu-bench measure, and what they tell of them.
#pragma once

#include <vector>

#include "collectives/choose.hpp"
#include "collectives/communicator.hpp"
#include "tools/bench/settings.hpp"

namespace homz::bench {

// Of a rank's buffers.
struct Extents {
  std::uint64_t count = 0;        // values, as native collectives count them
  std::uint64_t in = 0, out = 0;  // bytes
};
// For `size` bytes as the settings count them, rounded up to whole values on every rank.
Extents extents_of(Collective collective, Dtype dtype, std::uint64_t size, int ranks, bool is_root);

// The root is rank 0. bcast: of `out`.
Status call(Communicator& communicator, const Settings& settings, ConstBytes in, Bytes out,
            const CollectiveOptions& options);

// What is measured, of `count` values as native collectives count them.
Task task_of(const Settings& settings, const Transport& transport, std::uint64_t count);
// All algorithms and schemes of the settings; of lists, those that can do the task, whatever the bound; an
// error if none can. What is asked for alone tells itself that it cannot. `bound`: in units of the data.
Result<std::vector<CollectiveOptions>> options_to_try(const Settings& settings, double bound,
                                                      const Task& task);

// In units of the data; 0: nothing may be lost.
double bound_of(const Settings& settings, double range);

double busbw_factor(Collective collective, int ranks);  // as nccl-tests have it
double median(std::vector<double> values);

}  // namespace homz::bench
