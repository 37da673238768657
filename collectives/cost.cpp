#include "collectives/cost.hpp"

#include <cmath>

#include "collectives/cost_formulas.hpp"

namespace homz {
namespace {

using namespace costs;
void allreduce(Formulas& formulas, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::recursive_doubling:
      return formulas.recursive_doubling();
    case Algorithm::rabenseifner:
      formulas.halving(true);
      formulas.doubling_allgather(formulas.growth());
      return formulas.fold_out();
    case Algorithm::direct:
      formulas.direct_reduce_scatter(true);
      return formulas.direct_allgather(formulas.growth());
    case Algorithm::binomial:
      formulas.binomial_reduce(true);
      return formulas.binomial_bcast(formulas.growth());
    default:
      formulas.ring_reduce_scatter(true);
      return formulas.ring_allgather(formulas.growth());
  }
}

void reduce_scatter(Formulas& formulas, Algorithm algorithm) {
  if (algorithm == Algorithm::rabenseifner) return formulas.halving(false);
  if (algorithm == Algorithm::direct) return formulas.direct_reduce_scatter(false);
  formulas.ring_reduce_scatter(false);
}

// Chunks are reduced and then gathered at the root, which decodes them.
void reduce(Formulas& formulas, Algorithm algorithm, const Steps& steps) {
  if (algorithm == Algorithm::binomial) return formulas.binomial_reduce(false);
  if (algorithm == Algorithm::rabenseifner) {
    formulas.halving(true);
    return formulas.binomial_spread(formulas.growth(), steps.take);
  }
  if (algorithm == Algorithm::direct)
    formulas.direct_reduce_scatter(true);
  else
    formulas.ring_reduce_scatter(true);
  formulas.direct_spread(formulas.growth(), steps.take);
}

void allgather(Formulas& formulas, Algorithm algorithm) {
  formulas.source(formulas.chunk());
  if (algorithm == Algorithm::recursive_doubling) return formulas.doubling_allgather(0);
  if (algorithm == Algorithm::bruck) return formulas.bruck_allgather();
  if (algorithm == Algorithm::direct) return formulas.direct_allgather(0);
  formulas.ring_allgather(0);
}

void bcast(Formulas& formulas, Algorithm algorithm, double bytes) {
  formulas.source(bytes);
  if (algorithm == Algorithm::binomial) return formulas.binomial_bcast(0);
  formulas.binomial_spread(0, {});
  formulas.ring_allgather(0);
}

// The root codes all, the others a chunk.
void spread(Formulas& formulas, Algorithm algorithm, const Steps& steps, double bytes, bool to_root) {
  formulas.source(to_root ? formulas.chunk() : bytes);
  if (algorithm == Algorithm::binomial) return formulas.binomial_spread(0, steps.take);
  formulas.direct_spread(0, to_root ? steps.take : Work{});
}

Link link_of(const LinkProfile& profile) {
  return {profile.latency, profile.seconds_per_byte};
}

double bytes_of(const Task& task) {
  return static_cast<double>(task.count) * static_cast<double>(size_of(task.dtype));
}

void run(const Task& task, Algorithm algorithm, const Network& network, double bytes, Model& model) {
  Formulas formulas(model, network, bytes);
  const Steps& steps = model.steps();
  switch (task.collective) {
    case Collective::allreduce:
      return allreduce(formulas, algorithm);
    case Collective::reduce_scatter:
      return reduce_scatter(formulas, algorithm);
    case Collective::reduce:
      return reduce(formulas, algorithm, steps);
    case Collective::allgather:
      return allgather(formulas, algorithm);
    case Collective::bcast:
      return bcast(formulas, algorithm, bytes);
    case Collective::scatter:
      return spread(formulas, algorithm, steps, bytes, false);
    case Collective::gather:
      return spread(formulas, algorithm, steps, bytes, true);
    case Collective::alltoall:
      return algorithm == Algorithm::bruck ? formulas.bruck_alltoall() : formulas.direct_alltoall();
  }
}

// Uncompressed to chunks within every node, S/P each in a ring of nodes that share the links of all P ranks,
// and back: 2(P-1)a_i + 2(P-1)/P S b_i + (P-1)/P S g + T(N/P, S/P)
Cost two_level(const Task& task, const Approach& approach, const Abilities& able) {
  const int per_node = task.ranks_per_node, nodes = task.ranks / per_node;
  const Link near = link_of(able.inside);
  Link far = link_of(able.between);
  far.seconds_per_byte *= per_node;
  Approach plain = approach;
  plain.scheme = Scheme::plain;
  plain.codec = nullptr;
  Model inside(task, plain, able), between(task, approach, able);
  Formulas node(inside, Network(per_node, per_node, near, near), bytes_of(task));
  node.ring_reduce_scatter(true);
  node.ring_allgather(0);
  run(task, Algorithm::ring, Network(nodes, 1, near, far), bytes_of(task) / per_node, between);
  inside.add(between.cost());
  return inside.cost();
}

Cost own_cost(const Task& task, const Approach& approach, const Abilities& able) {
  if (task.ranks <= 1) return {able.copy_seconds_per_byte * bytes_of(task), 0};
  if (approach.algorithm == Algorithm::two_level) return two_level(task, approach, able);
  const Network network(task.ranks, task.ranks_per_node, link_of(able.inside), link_of(able.between));
  Model model(task, approach, able);
  run(task, approach.algorithm, network, bytes_of(task), model);
  return model.cost();
}

// ---- The transport's own

// The best of the uncompressed algorithms, without what our messages and calls cost.
Cost bare_cost(const Task& task, const Abilities& able) {
  Abilities bare;
  bare.inside = able.inside;
  bare.between = able.between;
  bare.reduce_seconds_per_byte = able.reduce_seconds_per_byte;
  Cost best{-1, 0};
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial, Algorithm::bruck}) {
    if (!can_run(algorithm, Scheme::plain, task)) continue;
    Approach approach;
    approach.algorithm = algorithm;
    approach.piece_values = std::max<std::uint64_t>(task.count, 1);
    const Cost cost = own_cost(task, approach, bare);
    if (best.seconds < 0 || cost.seconds < best.seconds) best = cost;
  }
  return best;
}

const NativeProfile* measured_native(const Task& task, const Abilities& able) {
  const NativeProfile* nearest = nullptr;
  const auto distance = [&](const NativeProfile& native) {
    const double a = native.ranks, b = task.ranks;
    return std::max(a, b) / std::min(a, b);
  };
  for (const NativeProfile& native : able.natives)
    if (native.collective == task.collective && native.ranks > 0 &&
        (nearest == nullptr || distance(native) < distance(*nearest)))
      nearest = &native;
  return nearest;
}

// Measured; for another number of ranks, as much more or less as the formulas say.
Cost native_cost(const Task& task, const Abilities& able) {
  Cost cost = bare_cost(task, able);
  const NativeProfile* const native = measured_native(task, able);
  if (native == nullptr) return cost;
  const double measured = native->curve.seconds(bytes_of(task));
  if (native->ranks == task.ranks) {
    cost.seconds = measured;
    return cost;
  }
  Task same = task;
  same.ranks = native->ranks;
  const double expected = bare_cost(same, able).seconds;
  cost.seconds = expected > 0 ? measured * (cost.seconds / expected) : measured;
  return cost;
}

}  // namespace

double log2_about(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // from 1/2 to 1; exact
  return exponent - 2 + 2 * mantissa;
}

double values_of_a_part(const Task& task, Algorithm algorithm) {
  const bool sends_wholes = algorithm == Algorithm::recursive_doubling || algorithm == Algorithm::binomial;
  const bool has_whole = task.collective == Collective::allreduce || task.collective == Collective::reduce ||
                         task.collective == Collective::bcast;
  const auto values = static_cast<double>(task.count);
  return sends_wholes && has_whole ? values : values / std::max(task.ranks, 1);
}

Cost expected_cost(const Task& task, const Approach& approach, const Profile& profile) {
  const Abilities& able = profile.of(task.on_device ? Space::device : Space::host);
  if (approach.algorithm == Algorithm::native) return native_cost(task, able);
  Cost cost = own_cost(task, approach, able);
  cost.seconds += able.call_seconds;
  return cost;
}

}  // namespace homz
