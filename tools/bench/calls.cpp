#include "tools/bench/calls.hpp"

#include <algorithm>

namespace homz::bench {
namespace {

// Whether it can be run as asked for. The transport's own compress nothing, and need no scheme.
bool can_be_tried(Algorithm algorithm, Scheme scheme, const Task& task) {
  if (algorithm == Algorithm::automatic) return true;
  return can_run(algorithm, scheme == Scheme::automatic ? Scheme::plain : scheme, task);
}

}  // namespace

Extents extents_of(Collective collective, Dtype dtype, std::uint64_t size, int ranks, bool is_root) {
  const std::uint64_t value = size_of(dtype), n = static_cast<std::uint64_t>(ranks);
  if (collective == Collective::allreduce || collective == Collective::reduce ||
      collective == Collective::bcast) {
    const std::uint64_t count = (size + value - 1) / value, bytes = count * value;
    return {count, bytes, collective != Collective::reduce || is_root ? bytes : 0};
  }
  const std::uint64_t count = (size + n * value - 1) / (n * value), own = count * value, all = own * n;
  switch (collective) {
    case Collective::reduce_scatter:
      return {count, all, own};
    case Collective::allgather:
      return {count, own, all};
    case Collective::scatter:
      return {count, is_root ? all : 0, own};
    case Collective::gather:
      return {count, own, is_root ? all : 0};
    default:
      return {count, all, all};
  }
}

Status call(Communicator& communicator, const Settings& settings, ConstBytes in, Bytes out,
            const CollectiveOptions& options) {
  switch (settings.collective) {
    case Collective::allreduce:
      return communicator.allreduce(in, out, settings.dtype, settings.op, options);
    case Collective::reduce_scatter:
      return communicator.reduce_scatter_block(in, out, settings.dtype, settings.op, options);
    case Collective::reduce:
      return communicator.reduce(in, out, settings.dtype, settings.op, 0, options);
    case Collective::allgather:
      return communicator.allgather(in, out, settings.dtype, options);
    case Collective::bcast:
      return communicator.bcast(out, settings.dtype, 0, options);
    case Collective::scatter:
      return communicator.scatter(in, out, settings.dtype, 0, options);
    case Collective::gather:
      return communicator.gather(in, out, settings.dtype, 0, options);
    default:
      return communicator.alltoall(in, out, settings.dtype, options);
  }
}

std::vector<CollectiveOptions> options_to_try(const Settings& settings, double bound, Task task) {
  task.collective = settings.collective;
  task.op = settings.op;
  task.dtype = settings.dtype;
  task.lossy = bound > 0;
  const bool is_list = settings.algorithms.size() * settings.schemes.size() > 1;
  std::vector<CollectiveOptions> all;
  for (const Algorithm algorithm : settings.algorithms)
    for (const Scheme scheme : settings.schemes) {
      if (is_list && !can_be_tried(algorithm, scheme, task)) continue;
      CollectiveOptions& options = all.emplace_back(settings.options);
      options.algorithm = algorithm;
      // A range of 0 leaves nothing to lose.
      options.scheme = settings.bound && bound == 0 ? Scheme::plain : scheme;
      options.abs_error = scheme == Scheme::plain || algorithm == Algorithm::native ? 0 : bound;
    }
  return all;
}

double bound_of(const Settings& settings, double range) {
  if (!settings.bound) return 0;
  return settings.bound->mode == BoundMode::relative ? settings.bound->value * range : settings.bound->value;
}

double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * (n - 1) / n;
    case Collective::bcast:
    case Collective::reduce:
      return 1;
    default:
      return (n - 1) / n;
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

}  // namespace homz::bench
