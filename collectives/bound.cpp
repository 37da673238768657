#include "collectives/bound.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace homz {
namespace {

constexpr double kMostQuanta = 1 << 28;  // of a result; a codec of quanta holds 2^30

// Half a unit in the last place, relative.
double unit(Dtype dtype) {
  return dtype == Dtype::f32 ? 0x1p-24 : 0x1p-53;
}

int rounds(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

// Errors of this many shares are in the result of a reduction that decodes and encodes: before the last
// encoding, and by it.
struct Events {
  double joined = 0, delivered = 0;
};

Events events_of(const BoundedCall& call) {
  const int n = call.ranks;
  const bool is_power = std::has_single_bit(static_cast<unsigned>(n));
  Events events{static_cast<double>(n - 1), 1};
  switch (call.algorithm) {
    case Algorithm::recursive_doubling:  // both partners go on with what was sent
      events = {2.0 * (n - 1), is_power ? 0.0 : 1.0};
      break;
    case Algorithm::binomial:
      events.delivered = call.collective == Collective::allreduce ? 1 : 0;
      break;
    case Algorithm::rabenseifner:
      events.delivered = call.collective == Collective::reduce_scatter && is_power ? 0 : 1;
      break;
    default:
      events.delivered = call.collective == Collective::reduce_scatter ? 0 : 1;
  }
  if (call.scheme == Scheme::cprp2p) events.delivered *= std::max(1, n - 1);  // encoded again at every hop
  const bool is_extremum = call.op == ReduceOp::min || call.op == ReduceOp::max;
  if (is_extremum && call.algorithm != Algorithm::ring)  // only one value's way counts
    events.joined = call.algorithm == Algorithm::direct ? 1 : rounds(n) + 1;
  return events;
}

// What is left of the bound for the quantisations, and how it is divided among them.
struct Budget {
  double left, events;
};

Budget budget_of(const BoundedCall& call, const Record& data) {
  const double n = call.ranks, u = unit(call.dtype), bound = call.abs_error;
  const double sum = data.magnitude_sum + bound;  // no partial sum is larger
  const double in_node = (call.ranks_per_node - 1) * u * sum;
  if (is_homomorphic(call.scheme)) {
    if (call.op == ReduceOp::min || call.op == ReduceOp::max) return {bound, 1};
    // Each contribution, and the decoding of the sum, round twice.
    const double rounding = 5 * u * sum + in_node;
    if (call.op == ReduceOp::average) return {n * bound - rounding - u * sum, n};
    return {bound - rounding, n};
  }
  const Events events = events_of(call);
  switch (call.op) {
    case ReduceOp::min:
    case ReduceOp::max:
      return {bound, events.joined + events.delivered};
    case ReduceOp::prod:
      return {bound / data.amplification - (n - 1) * u - in_node, events.joined + events.delivered};
    case ReduceOp::average:
      return {bound - (n * u * sum + in_node) / n, events.joined / n + events.delivered};
    default:
      return {bound - (n - 1) * u * sum - in_node, events.joined + events.delivered};
  }
}

Status too_tight(const BoundedCall& call) {
  return Status(Code::unsupported,
                fmt::format("a bound of {} is too close to the rounding of {} values of this size",
                            call.abs_error, to_string(call.dtype)));
}

}  // namespace

Result<Spending> spend(const BoundedCall& call, const Record& data) {
  if (!reduces(call.collective)) return Spending{call.abs_error, 0};
  if (call.ranks < 2) return Spending{call.abs_error, call.abs_error};
  const Budget budget = budget_of(call, data);
  const double whole = call.op == ReduceOp::prod ? call.abs_error / data.amplification
                       : is_homomorphic(call.scheme) && call.op == ReduceOp::average
                           ? call.abs_error * call.ranks
                           : call.abs_error;
  if (!(budget.left > whole / 2)) return too_tight(call);
  Spending spending;
  spending.share = budget.left / budget.events;
  if (call.sigmas > 0 && (call.op == ReduceOp::sum || call.op == ReduceOp::average))
    spending.share =
        std::max(spending.share, budget.left * std::sqrt(3.0) / (call.sigmas * std::sqrt(budget.events)));
  if (!is_homomorphic(call.scheme)) return spending;
  const double step = 2 * (spending.share - unit(call.dtype) * data.magnitude_max);
  // Steps are numbers of the type.
  spending.step =
      call.dtype == Dtype::f32 ? static_cast<double>(std::nextafterf(static_cast<float>(step), 0.0f)) : step;
  if (!(spending.step >= spending.share) || data.magnitude_sum / spending.step > kMostQuanta)
    return too_tight(call);
  return spending;
}

}  // namespace homz
