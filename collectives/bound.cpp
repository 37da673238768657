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
  if (is_extremum(call.op) && call.algorithm != Algorithm::ring)              // only one value's way counts
    events.joined = call.algorithm == Algorithm::direct ? 1 : ceil_log2(n) + 1;
  return events;
}

// What is left of the bound, `whole` at first, for the quantisations, and among how many it is divided.
struct Budget {
  double whole, left, events;
};

Budget budget_of(const BoundedCall& call, const Record& data) {
  const double n = call.ranks, u = unit(call.dtype), bound = call.abs_error;
  const double divisor = n * call.ranks_per_node;  // of averages
  const double sum = data.magnitude_sum + bound;   // no partial sum is larger
  const double in_node = (call.ranks_per_node - 1) * u * sum;
  if (is_homomorphic(call.scheme)) {
    if (is_extremum(call.op)) return {bound, bound, 1};
    // The decoding of the sum rounds, and a division; the steps have room for the rest.
    const bool divides = call.op == ReduceOp::average;
    const double whole = divides ? divisor * bound : bound;
    return {whole, whole - (divides ? 6 : 5) * u * sum - in_node, n};
  }
  const Events events = events_of(call);
  const double all = events.joined + events.delivered;
  if (is_extremum(call.op)) return {bound, bound, all};
  if (call.op == ReduceOp::prod) {
    const double whole = bound / data.amplification;
    return {whole, whole - (divisor - 1) * u, all};
  }
  if (call.op == ReduceOp::average)
    return {bound, bound - (n * u * sum + in_node) / divisor, events.joined / divisor + events.delivered};
  return {bound, bound - (n - 1) * u * sum - in_node, all};
}

// How often what moves is encoded anew on its way.
int hops(const BoundedCall& call) {
  if (call.scheme != Scheme::cprp2p) return 1;
  if (call.algorithm == Algorithm::direct) return 1;
  const bool is_ring = call.algorithm == Algorithm::ring;
  return std::max(1, is_ring
                         ? call.ranks - 1 + (call.collective == Collective::bcast ? ceil_log2(call.ranks) : 0)
                         : ceil_log2(call.ranks));
}

// Steps are numbers of the type. To find the quantum of a value and to restore it takes four roundings: with
// so much left, the nearest quantum keeps the share, and none has to be stored exactly, which would let sums
// depend on their order.
double step_of(const BoundedCall& call, double share, const Record& data) {
  const double step = 2 * (share - 4 * unit(call.dtype) * data.magnitude_max * call.ranks_per_node);
  if (!(step > share)) return 0;
  return call.dtype == Dtype::f32 ? static_cast<double>(std::nextafterf(static_cast<float>(step), 0.0f))
                                  : step;
}

Status too_tight(const BoundedCall& call) {
  return Status(Code::unsupported,
                fmt::format("a bound of {} is too close to the rounding of {} values of this size",
                            call.abs_error, to_string(call.dtype)));
}

// The largest magnitude of a result.
double result_magnitude(const BoundedCall& call, const Record& data) {
  if (!reduces(call.collective)) return data.magnitude_max;
  if (call.op == ReduceOp::prod) return data.amplification;
  return call.op == ReduceOp::sum ? data.magnitude_sum : data.magnitude_max;
}

// What is encoded at every hop changes at every hop, and ranks end with other bits, unless all do it with one
// step, and quanta come back: x / step has four roundings, which must not add up to half a quantum.
bool drifts(const BoundedCall& call, const Spending& spending, const Record& data) {
  if (call.scheme != Scheme::cprp2p) return false;
  const double largest = result_magnitude(call, data) + call.abs_error;
  return !(spending.step > 0) || 8 * unit(call.dtype) * largest > spending.step;
}

}  // namespace

Result<Spending> spend(const BoundedCall& call, const Record& data) {
  Spending spending{call.abs_error, 0};
  if (!reduces(call.collective) || call.ranks < 2) {
    spending.share /= hops(call);
    spending.step = step_of(call, spending.share, data);
    return drifts(call, spending, data) ? Result<Spending>(too_tight(call)) : spending;
  }
  const Budget budget = budget_of(call, data);
  if (!(budget.left > budget.whole / 2)) return too_tight(call);
  spending.share = budget.left / budget.events;
  if (call.sigmas > 0 && (call.op == ReduceOp::sum || call.op == ReduceOp::average))
    spending.share =
        std::max(spending.share, budget.left * std::sqrt(3.0) / (call.sigmas * std::sqrt(budget.events)));
  spending.step = step_of(call, spending.share, data);
  if (drifts(call, spending, data)) return too_tight(call);
  if (!is_homomorphic(call.scheme)) return spending;
  if (!(spending.step > 0)) return too_tight(call);
  if (data.magnitude_sum / spending.step > kMostQuanta)
    return Status(
        Code::unsupported,
        fmt::format("with a bound of {} values as large as {:.3g} have more quanta than streams can add; "
                    "scheme ccoll can",
                    call.abs_error, data.magnitude_sum));
  return spending;
}

}  // namespace homz
