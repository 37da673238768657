#include "collectives/tune.hpp"

#include "collectives/communicator.hpp"
#include "collectives/cost.hpp"
#include "collectives/tune_party.hpp"

namespace homz {
namespace {

using Clock = std::chrono::steady_clock;

// ---- Calls

// Median seconds of an uncompressed ring allreduce of `chunks` values a rank, each a piece of its own.
Result<double> seconds_of_ring(Party& party, Communicator& communicator, std::uint64_t chunks,
                               double budget) {
  std::vector<float> values(static_cast<std::size_t>(party.size()) * chunks, 1);
  const Bytes bytes = std::as_writable_bytes(std::span(values));
  CollectiveOptions options;
  options.algorithm = Algorithm::ring;
  options.scheme = Scheme::plain;
  options.piece_values = 1;
  const auto call = [&]() -> Result<double> {
    const Clock::time_point begin = Clock::now();
    HOMZ_TRY(communicator.allreduce(bytes, bytes, Dtype::f32, ReduceOp::max, options));
    return seconds_between(begin, Clock::now());
  };
  HOMZ_ASSIGN(double first, call());
  HOMZ_TRY(party.slowest({&first, 1}));
  std::vector<double> times;
  const int repeats = std::clamp(static_cast<int>(budget / std::max(first, 1e-9)), 7, 300);
  for (int i = 0; i < repeats; ++i) {
    HOMZ_ASSIGN(const double seconds, call());
    times.push_back(seconds);
  }
  double median = median_of(std::move(times));
  HOMZ_TRY(party.slowest({&median, 1}));
  return median;
}

Task ring_task(const Party& party, std::uint64_t chunks) {
  Task task;
  task.count = static_cast<std::uint64_t>(party.size()) * chunks;
  task.ranks = party.size();
  task.ranks_per_node = party.size();  // for the numbers of messages only
  return task;
}

// ---- Agreement on what every rank has measured

template <class F>
void each_number(Profile& profile, F&& f) {
  f(profile.reduce_seconds_per_byte);
  f(profile.copy_seconds_per_byte);
  for (CodecProfile& codec : profile.codecs)
    for (Curve* curve : {&codec.encode, &codec.decode, &codec.combine, &codec.accumulate})
      for (Curve::Point& point : curve->points) f(point.seconds);
}

Status take_slowest(Party& party, Profile& profile) {
  std::vector<double> numbers;
  each_number(profile, [&](double& number) { numbers.push_back(number); });
  HOMZ_TRY(party.slowest(numbers));
  std::size_t next = 0;
  each_number(profile, [&](double& number) { number = numbers[next++]; });
  return Status();
}

}  // namespace

// Pieces of one value: with many of them, a call takes the time of its messages; with one, a call's besides.
Status tune_calls(Transport& transport, const TuneOptions& options, Profile& profile) {
  return no_throw([&]() -> Status {
    if (transport.size() < 2) return Status();
    constexpr std::uint64_t kPieces = 33;
    HOMZ_ASSIGN(auto messages, group_of_all(transport));
    HOMZ_ASSIGN(auto calls, group_of_all(transport));
    Party party(*messages);
    HOMZ_ASSIGN(Communicator communicator, Communicator::make(std::move(calls), profile));
    HOMZ_ASSIGN(const double one, seconds_of_ring(party, communicator, 1, options.seconds_each));
    HOMZ_ASSIGN(const double many, seconds_of_ring(party, communicator, kPieces, options.seconds_each));
    const double rounds = 2.0 * (party.size() - 1);
    profile.message_seconds = std::max(many - one, 0.0) / (2 * rounds * (kPieces - 1));
    profile.call_seconds = 0;
    Profile links = profile;
    if (profile.between.latency > profile.inside.latency) links.inside = profile.between;
    const Approach ring{Algorithm::ring, Scheme::plain, nullptr, 1, 1, 1};
    profile.call_seconds = std::max(one - expected_cost(ring_task(party, 1), ring, links).seconds, 0.0);
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
    HOMZ_TRY(tune_processor(options, profile));
    HOMZ_TRY(take_slowest(party, profile));
    HOMZ_TRY(tune_links(transport, options, profile));
    HOMZ_TRY(tune_calls(transport, options, profile));
    HOMZ_TRY(tune_natives(transport, options, profile));
    return profile;
  });
}

}  // namespace homz
