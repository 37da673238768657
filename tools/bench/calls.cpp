#include "tools/bench/calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/call.hpp"

namespace homz::bench {
namespace {

// Whether it can be run as asked for.
bool can_be_tried(const CollectiveOptions& options, const Task& task) {
  return !candidates(task, options, Profile::unmeasured(), {}).empty();
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

Task task_of(const Settings& settings, const Transport& transport, std::uint64_t count) {
  const CodecChoice& codec = settings.options.codec;
  Task task;
  task.collective = settings.collective;
  task.op = settings.op;
  task.dtype = settings.dtype;
  task.count = count;
  task.ranks = transport.size();
  task.ranks_per_node = ranks_per_node(transport.nodes());
  task.lossy = settings.bound || (codec.codec != nullptr && codec.codec->info().lossless);
  task.on_device = settings.options.space == Space::device;
  task.has_native = transport.has_native(settings.collective, count, settings.options.space);
  return task;
}

Result<std::vector<CollectiveOptions>> options_to_try(const Settings& settings, double bound,
                                                      const Task& task) {
  const bool is_list = settings.algorithms.size() * settings.schemes.size() > 1;
  const bool loses_nothing = settings.bound && bound == 0;  // of a range of 0
  std::vector<CollectiveOptions> all;
  for (const Algorithm algorithm : settings.algorithms)
    for (const Scheme scheme : settings.schemes) {
      CollectiveOptions options = settings.options;
      options.algorithm = algorithm;
      options.scheme = scheme;
      options.abs_error = bound;
      if (is_list && !can_be_tried(options, task)) continue;
      if (loses_nothing && scheme != Scheme::automatic) options.scheme = Scheme::plain;
      const bool is_there = std::ranges::any_of(all, [&](const CollectiveOptions& other) {
        return other.algorithm == options.algorithm && other.scheme == options.scheme;
      });
      if (!is_there) all.push_back(options);
    }
  if (!all.empty()) return all;
  return Status(Code::invalid_argument, fmt::format("nothing of --algorithm and --scheme can do {} here",
                                                    to_string(task.collective)));
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
