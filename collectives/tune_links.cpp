// What a transport does: its links, and its own collectives.
#include <optional>

#include "collectives/tune.hpp"
#include "collectives/tune_party.hpp"
#include "core/buffer.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSmall = 64;  // bytes of a message that is all latency
constexpr std::uint64_t kSegments[] = {16 << 10,  32 << 10,  64 << 10, 128 << 10,
                                       256 << 10, 512 << 10, 1 << 20};
constexpr std::uint64_t kLeastLong = 4 << 20,
                        kMostLong = 64 << 20;  // beyond what rate limits let through at once
constexpr unsigned kLongRuns = 3;
constexpr double kLong = 0.1;         // seconds of a call that is made once
constexpr double kNoticeable = 0.97;  // a larger segment must be faster than that

// ---- Links

struct Pair {
  int a = 0, b = 0;
  bool has(int rank) const { return rank == a || rank == b; }
  int other(int rank) const { return rank == a ? b : a; }
};

// Two ranks of one node, or of two.
std::optional<Pair> find_pair(std::span<const int> nodes, bool same_node) {
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t b = a + 1; b < nodes.size(); ++b)
      if ((nodes[a] == nodes[b]) == same_node) return Pair{static_cast<int>(a), static_cast<int>(b)};
  return std::nullopt;
}

// Half of there and back.
Result<double> latency_of(Party& party, Pair pair, double budget) {
  std::byte message[kSmall] = {};
  const auto round_trip = [&]() -> Status {
    if (party.rank() == pair.a) HOMZ_TRY(party.send(message, pair.b));
    HOMZ_TRY(party.receive(message, pair.other(party.rank())));
    if (party.rank() == pair.b) HOMZ_TRY(party.send(message, pair.a));
    return Status();
  };
  double first = 0, median = 0;
  const auto timed = [&](double* seconds) -> Status {
    const Clock::time_point begin = Clock::now();
    HOMZ_TRY(round_trip());
    *seconds = seconds_between(begin, Clock::now());
    return Status();
  };
  if (pair.has(party.rank())) {
    HOMZ_TRY(round_trip());
    HOMZ_TRY(timed(&first));
  }
  HOMZ_TRY(party.slowest({&first, 1}));
  const int repeats = std::clamp(static_cast<int>(budget / std::max(first, 1e-9)), 11, 1001);
  if (pair.has(party.rank())) {
    std::vector<double> times(static_cast<std::size_t>(repeats));
    for (double& each : times) HOMZ_TRY(timed(&each));
    if (party.rank() == pair.a) median = median_of(std::move(times));
  }
  HOMZ_TRY(party.slowest({&median, 1}));
  return median / 2;
}

// Of so many bytes in both directions at once: the median, on all ranks.
Result<double> seconds_both_ways(Party& party, Pair pair, Buffer& buffer, std::uint64_t bytes,
                                 std::uint64_t segment, unsigned runs) {
  double median = 0;
  if (pair.has(party.rank())) {
    std::vector<double> times(runs);
    const ConstBytes out = buffer.bytes().first(bytes);
    const Bytes in = buffer.bytes().subspan(kMostLong, bytes);
    for (double& each : times) {
      const Clock::time_point begin = Clock::now();
      HOMZ_TRY(party.exchange(pair.other(party.rank()), out, in, segment));
      each = seconds_between(begin, Clock::now());
    }
    median = median_of(std::move(times));
  }
  HOMZ_TRY(party.slowest({&median, 1}));
  return median;
}

Result<LinkProfile> measure_link(Party& party, Pair pair, double budget) {
  LinkProfile link;
  HOMZ_ASSIGN(link.latency, latency_of(party, pair, budget));
  Buffer buffer;
  if (pair.has(party.rank())) {
    HOMZ_TRY(buffer.reserve(2 * kMostLong));
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});
  }
  HOMZ_ASSIGN(const double first, seconds_both_ways(party, pair, buffer, kLeastLong, kSegments[2], 2));
  const double wanted = 5 * budget / std::max(first, 1e-9) * static_cast<double>(kLeastLong);
  const auto bytes = static_cast<std::uint64_t>(
      std::clamp(wanted, static_cast<double>(kLeastLong), static_cast<double>(kMostLong)));
  double best = 0;
  for (const std::uint64_t segment : kSegments) {
    HOMZ_ASSIGN(const double seconds, seconds_both_ways(party, pair, buffer, bytes, segment, kLongRuns));
    if (best != 0 && seconds > kNoticeable * best) continue;
    best = seconds;
    link.segment_bytes = segment;
  }
  link.seconds_per_byte = best / static_cast<double>(bytes);
  return link;
}

// ---- The transport's collectives

constexpr Collective kAll[] = {Collective::allreduce, Collective::reduce_scatter, Collective::reduce,
                               Collective::allgather, Collective::bcast,          Collective::scatter,
                               Collective::gather,    Collective::alltoall};

bool waits_for_all(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce_scatter ||
         collective == Collective::allgather || collective == Collective::alltoall;
}

// Buffers of a call, for so many values a rank or of the vector.
struct NativeCall {
  Collective collective;
  std::uint64_t count;  // as Transport::native takes it
  ConstBytes in;
  Bytes out;
};

NativeCall native_call(Collective collective, std::uint64_t bytes, int ranks, Bytes in, Bytes out) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const bool by_rank = collective != Collective::allreduce && collective != Collective::reduce &&
                       collective != Collective::bcast;
  const std::uint64_t count = by_rank ? std::max<std::uint64_t>(bytes / 4 / n, 1) : bytes / 4;
  const std::uint64_t each = 4 * count, whole = by_rank ? n * each : each;
  const bool from_one = collective == Collective::allgather || collective == Collective::gather;
  const bool to_one = collective == Collective::reduce_scatter || collective == Collective::scatter;
  NativeCall call{collective, count, in.first(from_one ? each : whole), out.first(to_one ? each : whole)};
  if (collective == Collective::bcast) call.in = call.out;
  return call;
}

std::uint64_t whole_bytes(const NativeCall& call) {
  return std::max(call.in.size(), call.out.size());
}

// Calls that all ranks wait for are timed in a row; others one by one, as the slowest rank sees them.
Result<double> seconds_of_native(Party& party, const NativeCall& call, Exec exec, double budget) {
  const ReduceOp op = reduces(call.collective) ? ReduceOp::sum : ReduceOp::none;
  const auto run = [&]() -> Status {
    HOMZ_TRY(
        party.transport().native(call.collective, op, Dtype::f32, call.in, call.out, call.count, 0, exec));
    return exec.space == Space::device ? gpu::wait(exec.stream) : Status();
  };
  HOMZ_TRY(party.barrier());
  const Clock::time_point begin = Clock::now();
  HOMZ_TRY(run());
  double first = seconds_between(begin, Clock::now());
  HOMZ_TRY(party.slowest({&first, 1}));
  if (first > kLong) return first;
  const auto repeats = static_cast<std::size_t>(std::clamp(budget / std::max(first, 1e-9), 5.0, 200.0));
  std::vector<double> times;
  for (std::size_t i = 0; i < repeats; ++i) {
    if (!waits_for_all(call.collective) || i == 0) HOMZ_TRY(party.barrier());
    const Clock::time_point before = Clock::now();
    HOMZ_TRY(run());
    times.push_back(seconds_between(before, Clock::now()));
  }
  double seconds = median_of(std::move(times));
  HOMZ_TRY(party.slowest({&seconds, 1}));
  return seconds;
}

Result<Curve> measure_native(Party& party, Collective collective, const TuneOptions& options, Bytes in,
                             Bytes out, Exec exec) {
  constexpr double kTooLong = 0.5;  // seconds; larger ones follow by the slope
  Curve curve;
  for (std::uint64_t bytes = 4; bytes <= options.most_native_bytes; bytes *= 4) {
    const NativeCall call = native_call(collective, bytes, party.size(), in, out);
    const auto whole = static_cast<double>(whole_bytes(call));
    if (!curve.points.empty() && whole <= curve.points.back().bytes) continue;
    HOMZ_ASSIGN(const double seconds, seconds_of_native(party, call, exec, options.seconds_each));
    curve.points.push_back({whole, seconds});
    if (seconds > kTooLong) break;
  }
  smooth(curve);
  return curve;
}

}  // namespace

Status tune_links(Transport& transport, const TuneOptions& options, Profile& profile) {
  return no_throw([&]() -> Status {
    HOMZ_ASSIGN(auto own, group_of_all(transport));
    Party party(*own);
    const std::optional<Pair> inside = find_pair(transport.nodes(), true);
    const std::optional<Pair> between = find_pair(transport.nodes(), false);
    if (inside) {
      HOMZ_ASSIGN(profile.inside, measure_link(party, *inside, options.seconds_each));
    }
    if (between) {
      HOMZ_ASSIGN(profile.between, measure_link(party, *between, options.seconds_each));
    }
    if (inside && !between) profile.between = profile.inside;
    if (between && !inside) profile.inside = profile.between;
    return Status();
  });
}

std::uint64_t native_room(const Transport& transport, const TuneOptions& options) {
  return std::max<std::uint64_t>(options.most_native_bytes, 4) +
         4 * static_cast<std::uint64_t>(transport.size());
}

Status measure_natives(Transport& transport, const TuneOptions& options, Bytes in, Bytes out, Exec exec,
                       std::vector<NativeProfile>& natives) {
  natives.clear();
  HOMZ_ASSIGN(auto own, group_of_all(transport));
  Party party(*own);
  for (const Collective collective : kAll) {
    if (!transport.has_native(collective, 1, exec.space)) continue;
    HOMZ_ASSIGN(Curve curve, measure_native(party, collective, options, in, out, exec));
    if (!curve.points.empty()) natives.push_back({collective, transport.size(), std::move(curve)});
  }
  return Status();
}

Status tune_natives(Transport& transport, const TuneOptions& options, Profile& profile) {
  return no_throw([&]() -> Status {
    profile.natives.clear();
    if (std::ranges::none_of(kAll, [&](Collective c) { return transport.has_native(c, 1, Space::host); }))
      return Status();
    HOMZ_ASSIGN(Buffer in, Buffer::make(native_room(transport, options)));
    HOMZ_ASSIGN(Buffer out, Buffer::make(native_room(transport, options)));
    std::fill(in.bytes().begin(), in.bytes().end(), std::byte{});
    std::fill(out.bytes().begin(), out.bytes().end(), std::byte{});
    return measure_natives(transport, options, in.bytes(), out.bytes(), host(), profile.natives);
  });
}

}  // namespace homz
