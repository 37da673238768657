#include "collectives/tune.hpp"

#include <fmt/format.h>

#include "collectives/communicator.hpp"
#include "collectives/cost.hpp"
#include "collectives/exchange.hpp"
#include "collectives/tune_party.hpp"
#include "core/fp_environment.hpp"

namespace homz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastMessage = 1e-7;  // seconds; less is noise

// ---- Calls

// An uncompressed allreduce of so many pieces, of so many values each, a part.
struct Probe {
  Algorithm algorithm;
  std::uint64_t pieces, piece_values = 1;

  Task task(int ranks) const {
    Task task;
    task.ranks = task.ranks_per_node = ranks;
    task.count = pieces * piece_values *
                 (algorithm == Algorithm::ring ? static_cast<std::uint64_t>(ranks) : std::uint64_t{1});
    return task;
  }
  double expected_seconds(int ranks, const Profile& profile) const {
    return expected_cost(task(ranks), {algorithm, Scheme::plain, nullptr, 1, piece_values, 1}, profile)
        .seconds;
  }
};

// Seconds of the slowest rank. What was disturbed the least shows what processors do.
struct Times {
  double median, least;
};

Result<Times> seconds_of(const Probe& probe, Party& party, Communicator& communicator, double budget) {
  std::vector<float> values(probe.task(party.size()).count, 1);
  const Bytes bytes = std::as_writable_bytes(std::span(values));
  CollectiveOptions options;
  options.algorithm = probe.algorithm;
  options.scheme = Scheme::plain;
  options.piece_values = probe.piece_values;
  const auto call = [&]() -> Result<double> {
    const Clock::time_point begin = Clock::now();
    HOMZ_TRY(communicator.allreduce(bytes, bytes, Dtype::f32, ReduceOp::max, options));
    return seconds_between(begin, Clock::now());
  };
  HOMZ_ASSIGN(double first, call());
  HOMZ_TRY(party.slowest({&first, 1}));
  std::vector<double> times;
  const int repeats = std::clamp(static_cast<int>(budget / std::max(first, 1e-9)), 11, 300);
  for (int i = 0; i < repeats; ++i) {
    HOMZ_ASSIGN(const double seconds, call());
    times.push_back(seconds);
  }
  double both[] = {median_of(times), *std::min_element(times.begin(), times.end())};
  HOMZ_TRY(party.slowest(both));
  return Times{both[0], both[1]};
}

// Where a message takes one, and nothing else anything.
double rounds_of(const Probe& probe, int ranks) {
  Profile unit;
  unit.inside.latency = unit.between.latency = 1;
  return probe.expected_seconds(ranks, unit);
}

// What a long message must take for the probe to take so long; at least what a short one takes.
double long_message_seconds(const Probe& probe, int ranks, Profile profile, double seconds) {
  double low = profile.message_seconds, high = low + seconds;
  for (int i = 0; i < 30; ++i) {
    profile.long_message_seconds = (low + high) / 2;
    (probe.expected_seconds(ranks, profile) < seconds ? low : high) = profile.long_message_seconds;
  }
  return low;
}

// ---- Agreement on what every rank has measured

template <class F>
void each_number(Abilities& able, F&& f) {
  f(able.reduce_seconds_per_byte);
  f(able.copy_seconds_per_byte);
  for (CodecProfile& codec : able.codecs)
    for (Curve* curve : {&codec.encode, &codec.decode, &codec.combine, &codec.accumulate})
      for (Curve::Point& point : curve->points) f(point.seconds);
}

}  // namespace

Status take_slowest(Party& party, Abilities& able) {
  std::vector<double> numbers;
  each_number(able, [&](double& number) { numbers.push_back(number); });
  HOMZ_TRY(party.slowest(numbers));
  std::size_t next = 0;
  each_number(able, [&](double& number) { number = numbers[next++]; });
  return Status();
}

// With many pieces, a call takes the time of its messages; with one, that of its rounds and of the call. In
// rounds of all ranks a message may take longer than between two ranks alone; and where ranks share cores,
// one of several at once takes longer than one of a long row.
Status tune_calls(Transport& transport, const TuneOptions& options, Profile& profile) {
  return no_throw([&]() -> Status {
    if (transport.size() < 2) return Status();
    constexpr Probe kMany{Algorithm::ring, 33}, kOne{Algorithm::ring, 1}, kCrowd{Algorithm::direct, 1},
        kBrief{Algorithm::recursive_doubling, 1}, kLong{Algorithm::ring, 4, 4096};
    HOMZ_ASSIGN(auto messages, group_of_all(transport));
    HOMZ_ASSIGN(auto calls, group_of_all(transport));
    Party party(*messages);
    HOMZ_ASSIGN(Communicator communicator, Communicator::make(std::move(calls), profile));
    const auto measure = [&](const Probe& probe) {
      return seconds_of(probe, party, communicator, options.seconds_each);
    };
    HOMZ_ASSIGN(const Times many, measure(kMany));
    HOMZ_ASSIGN(const Times one, measure(kOne));
    HOMZ_ASSIGN(const Times crowd, measure(kCrowd));
    HOMZ_ASSIGN(const Times brief, measure(kBrief));
    const double rounds = rounds_of(kOne, party.size()), fewer = rounds_of(kBrief, party.size());
    const double more_messages = 2 * rounds * static_cast<double>(kMany.pieces - kOne.pieces);
    profile.message_seconds = std::max((many.least - one.least) / more_messages, kLeastMessage);
    const double crowded = 4.0 * (party.size() - 1);  // messages sent and received
    const double round = std::max(one.median - brief.median, 0.0) / (rounds - fewer);
    const bool are_equal = profile.inside.latency == profile.between.latency;
    LinkProfile& slower = profile.inside.latency > profile.between.latency ? profile.inside : profile.between;
    slower.latency = std::max(slower.latency, round - 2 * profile.message_seconds);
    profile.call_seconds =
        std::max(brief.median - fewer * (slower.latency + 2 * profile.message_seconds), 0.0);
    if (party.size() > 2) {
      const double in_a_crowd = (crowd.median - profile.call_seconds) / crowded,
                   before = profile.message_seconds;
      profile.message_seconds = std::max(before, in_a_crowd);
      slower.latency = std::max(slower.latency - 2 * (profile.message_seconds - before), kLeastMessage);
    }
    if (are_equal) profile.inside.latency = slower.latency;
    HOMZ_ASSIGN(const Times of_long, measure(kLong));
    profile.long_message_seconds = long_message_seconds(kLong, party.size(), profile, of_long.median);
    return Status();
  });
}

Result<Profile> tune(Transport& transport, const TuneOptions& options) {
  return no_throw([&]() -> Result<Profile> {
    HOMZ_ASSIGN(auto own, group_of_all(transport));
    Party party(*own);
    Profile profile = Profile::unmeasured();
    profile.machine = options.machine;
    HOMZ_TRY(party.barrier());
    // Who fails alone tells the others, who would wait.
    HOMZ_TRY(agree(*own, enter([&]() -> Status {
      if (!(options.seconds_each >= 0))
        return Status(Code::invalid_argument,
                      fmt::format("{} s for each number: give 0 or more", options.seconds_each));
      return tune_host(options, profile);
    })));
    HOMZ_TRY(take_slowest(party, profile));
    HOMZ_TRY(tune_links(transport, options, profile));
    HOMZ_TRY(tune_calls(transport, options, profile));
    HOMZ_TRY(tune_natives(transport, options, profile));
    HOMZ_TRY(tune_gpus(transport, options, profile));
    return profile;
  });
}

}  // namespace homz
