#include "collectives/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codecs/builtin.hpp"
#include "collectives/cost.hpp"
#include "collectives/refusal.hpp"
#include "collectives/sample.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kLeastPiece = 4096;         // values: what codecs take as a whole
constexpr std::uint64_t kMostPieceBytes = 1 << 20;  // raw
constexpr std::uint64_t kMostOnDevice = 256 << 20;  // where kernels start and end with half the GPU idle
constexpr double kGuessedRatio = 4;                 // where compression is asked for and nobody looked
constexpr double kDoubt = 1.1;                      // gains that expectations may well miss
constexpr double kDoubtInside = 2;     // MPI libraries know the memory of a node better than messages can
constexpr double kAskingShare = 25;    // of a call that asking may take
constexpr double kGainShare = 4;       // of a likely gain that asking may take
constexpr double kGainShareOnGpu = 1;  // calls that it pays for take milliseconds, and rarely vary
constexpr double kLikelyRatio = 8;     // of data that somebody gives a bound for
constexpr double kNothing = 1e9;       // ratio of data that vanish
constexpr double kTelling = 4e-5;      // seconds, until the host knows what a GPU has found

// Of those that cost the same the first: sums of homomorphic ones have the same bits by any algorithm.
constexpr Scheme kSchemes[] = {Scheme::plain, Scheme::homcomp_fused, Scheme::homcomp_step,
                               Scheme::hzccl, Scheme::homcomp_ahead, Scheme::ccoll,
                               Scheme::cprp2p};

// ---- What can run

bool has_levels(const Task& task) {
  return task.ranks_per_node > 1 && task.ranks_per_node < task.ranks && task.ranks % task.ranks_per_node == 0;
}

bool suits(Algorithm algorithm, const Task& task) {
  const auto is_of = [&](std::initializer_list<Collective> collectives) {
    return std::find(collectives.begin(), collectives.end(), task.collective) != collectives.end();
  };
  using C = Collective;
  switch (algorithm) {
    case Algorithm::automatic:
      return false;
    case Algorithm::native:
      return task.has_native && !task.uneven;
    case Algorithm::ring:
      return is_of({C::allreduce, C::reduce_scatter, C::reduce, C::allgather, C::bcast});
    case Algorithm::recursive_doubling:
      return task.collective == C::allreduce || (task.collective == C::allgather && !task.uneven &&
                                                 std::has_single_bit(static_cast<unsigned>(task.ranks)));
    case Algorithm::rabenseifner:
      return is_of({C::allreduce, C::reduce_scatter, C::reduce});
    case Algorithm::direct:
      return task.collective != C::bcast;
    case Algorithm::binomial:
      return is_of({C::allreduce, C::reduce, C::bcast, C::scatter, C::gather});
    case Algorithm::bruck:
      return task.collective == C::allgather || (task.collective == C::alltoall && !task.uneven);
    case Algorithm::two_level:
      return task.collective == C::allreduce && has_levels(task);
  }
  return false;
}

bool suits(Scheme scheme, const Task& task) {
  if (scheme == Scheme::plain) return true;
  if (scheme == Scheme::automatic || !task.lossy) return false;
  if (!is_homomorphic(scheme)) return true;
  if (!reduces(task.collective)) return false;
  if (is_extremum(task.op)) return scheme != Scheme::homcomp_fused;
  return task.op == ReduceOp::sum || task.op == ReduceOp::average;
}

// ---- Codecs

struct CodecInQuestion {
  std::string name;
  CodecChoice choice;
};

std::vector<CodecInQuestion> in_question(const CollectiveOptions& options, const Profile& profile) {
  std::vector<CodecInQuestion> codecs;
  if (options.codec.codec != nullptr) {
    codecs.push_back({to_string(options.codec), options.codec});
    return codecs;
  }
  for (const CodecProfile& each : profile.of(options.space).codecs) {
    const Result<CodecChoice> choice = registry().choose(each.codec);
    if (choice.ok()) codecs.push_back({each.codec, *choice});
  }
  return codecs;
}

// That of the codec; else of one with other options; else a guess.
const CodecProfile& speeds_of(const CodecInQuestion& codec, const CollectiveOptions& options,
                              const Profile& profile) {
  static const Profile kUnmeasured = Profile::unmeasured();
  const std::string_view base = codec.choice.codec->info().name;
  const CodecProfile* nearest = &kUnmeasured.of(options.space).codecs.front();
  for (const CodecProfile& each : profile.of(options.space).codecs) {
    if (each.codec == codec.name) return each;
    if (each.codec.substr(0, each.codec.find(':')) == base) nearest = &each;
  }
  return *nearest;
}

// ---- The table

// All that can run, with what it is expected to take.
class Table {
 public:
  Table(const Task& task, const CollectiveOptions& options, const Profile& profile, bool has_asked)
      : task_(task), options_(options), profile_(profile), has_asked_(has_asked) {}

  // Seconds of the agreement that calls of the transport's own have in front.
  double agreeing() const {
    return has_asked_ || options_.trusts_ranks ? 0 : seconds_to_agree(task_, profile_);
  }

  // Both call f(candidate).
  template <class F>
  void uncompressed(F&& f) const {
    if (!allows(Scheme::plain)) return;
    for (const Algorithm algorithm : kEveryAlgorithm)
      if (allows(algorithm, Scheme::plain)) f(best_pieces(algorithm, Scheme::plain, nullptr, "", 1));
  }
  // ratio(i): of the codec i, 0 if it is not to be taken
  template <class Ratio, class F>
  void compressed(Ratio&& ratio, F&& f) const {
    if (!task_.lossy || options_.scheme == Scheme::plain) return;
    const std::vector<CodecInQuestion> codecs = in_question(options_, profile_);
    for (std::size_t i = 0; i < codecs.size(); ++i) {
      const double gain = ratio(i);
      if (!(gain > 0)) continue;
      const Codec& codec = *codecs[i].choice.codec;
      const CodecProfile& speeds = speeds_of(codecs[i], options_, profile_);
      for (const Scheme scheme : kSchemes)
        if (scheme != Scheme::plain && allows(scheme) && lack_of(codec, scheme, task_) == Lack::nothing)
          for (const Algorithm algorithm : kEveryAlgorithm)
            if (allows(algorithm, scheme)) f(best_pieces(algorithm, scheme, &speeds, codecs[i].name, gain));
    }
  }

 private:
  bool allows(Scheme scheme) const {
    return options_.scheme == Scheme::automatic || options_.scheme == scheme;
  }
  bool allows(Algorithm algorithm, Scheme scheme) const {
    return (options_.algorithm == Algorithm::automatic || options_.algorithm == algorithm) &&
           can_run(algorithm, scheme, task_);
  }

  // Of 4096 values and twice, four times ... as many, up to the part and 1 MiB (256 MiB on GPUs); what is
  // coded on the host up to a quarter of the part, since little overlaps otherwise.
  Candidate best_pieces(Algorithm algorithm, Scheme scheme, const CodecProfile* codec,
                        const std::string& name, double ratio) const {
    Approach approach{algorithm, scheme, codec, ratio, kLeastPiece, options_.threads};
    Candidate best{algorithm, scheme, name, 0, 0, 0};
    const auto weigh = [&](std::uint64_t values) {
      approach.piece_values = values;
      const Cost cost = expected_cost(task_, approach, profile_);
      if (best.piece_values != 0 && cost.seconds >= best.seconds) return;
      best.piece_values = values;
      // The transport's own checks nothing: ranks agree before, if they have not yet.
      best.seconds = cost.seconds + (algorithm == Algorithm::native ? agreeing() : 0);
      best.wire_bytes = cost.wire_bytes;
    };
    if (options_.piece_values != 0) {
      weigh(options_.piece_values);
      return best;
    }
    const double part = values_of_a_part(task_, algorithm);
    const std::uint64_t most =
        algorithm == Algorithm::native
            ? kLeastPiece
            : (task_.on_device ? kMostOnDevice : kMostPieceBytes) / size_of(task_.dtype);
    for (std::uint64_t values = kLeastPiece; values <= most; values *= 2) {
      weigh(values);
      // On a GPU a piece takes long to begin and to end.
      const double pieces = scheme == Scheme::plain || task_.on_device ? 1 : 8;
      if (static_cast<double>(values) * pieces > part) break;
    }
    return best;
  }

  const Task& task_;
  const CollectiveOptions& options_;
  const Profile& profile_;
  const bool has_asked_;
};

// ---- The choice

struct Leaders {
  // `agreeing`: seconds of what the transport's own collectives cost besides.
  Leaders(const Task& task, double agreeing)
      : own_doubt(task.ranks_per_node >= task.ranks ? kDoubtInside : kDoubt), agreeing(agreeing) {}

  double own_doubt;  // of our own uncompressed algorithms, against the transport's
  double agreeing;
  std::optional<Candidate> native, plain, compressed;

  void take(const Candidate& candidate) {
    auto& leader = candidate.scheme != Scheme::plain          ? compressed
                   : candidate.algorithm == Algorithm::native ? native
                                                              : plain;
    if (!leader || candidate.seconds < leader->seconds) leader = candidate;
  }
  const Candidate* uncompressed() const {
    if (!plain) return native ? &*native : nullptr;
    if (!native) return &*plain;
    // To agree takes messages like our own: what these cost is in doubt beyond that only.
    const double doubtful = std::max(plain->seconds - agreeing, 0.0);
    return native->seconds - agreeing <= own_doubt * doubtful ? &*native : &*plain;
  }
  const Candidate* best() const {
    const Candidate* const exact = uncompressed();
    if (!compressed) return exact;
    return exact != nullptr && exact->seconds <= kDoubt * compressed->seconds ? exact : &*compressed;
  }
};

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string name_of(const Candidate& candidate) {
  if (candidate.scheme == Scheme::plain)
    return fmt::format("{} without compression", to_string(candidate.algorithm));
  return fmt::format("{}, {} with {}", to_string(candidate.algorithm), to_string(candidate.scheme),
                     candidate.codec);
}

bool is_forced(const CollectiveOptions& options) {
  return options.algorithm != Algorithm::automatic || options.scheme != Scheme::automatic;
}

// What speaks for the choice beside its time: what the other kind would take.
std::string comparison(const Candidate& best, const Leaders& leaders, const CollectiveOptions& options) {
  if (best.scheme != Scheme::plain) {
    const Candidate* const exact = leaders.uncompressed();
    return exact == nullptr ? "nothing uncompressed is allowed"
                            : fmt::format("{} would take {}", name_of(*exact), time_text(exact->seconds));
  }
  if (options.abs_error == 0) return kMustBeExact;
  if (leaders.compressed)
    return fmt::format("{} would take {}{}", name_of(*leaders.compressed),
                       time_text(leaders.compressed->seconds),
                       leaders.compressed->seconds < best.seconds ? ", a gain too small to rely on" : "");
  if (options.scheme == Scheme::plain || options.algorithm == Algorithm::native)
    return "compression is not allowed";
  return "compression cannot pay enough to look at the data";
}

// Where one of our own uncompressed algorithms is expected to take less than the transport's.
std::string distrust(const Candidate& best, const Leaders& leaders) {
  if (best.algorithm != Algorithm::native || !leaders.plain || leaders.plain->seconds >= best.seconds)
    return {};
  return fmt::format("; {} would take {}, but the transport may know better", name_of(*leaders.plain),
                     time_text(leaders.plain->seconds));
}

std::string reason_for(const Candidate& best, const Leaders& leaders, const CollectiveOptions& options) {
  return fmt::format("{}{}: {} expected; {}{}", is_forced(options) ? "as asked for, " : "", name_of(best),
                     time_text(best.seconds), comparison(best, leaders, options), distrust(best, leaders));
}

double known_ratio(std::span<const double> ratios, std::size_t codec, const CollectiveOptions& options) {
  if (codec < ratios.size() && ratios[codec] > 0) return ratios[codec];
  return compresses(options.scheme) ? kGuessedRatio : 0;
}

// ---- Looking at the data

double seconds_to_look(const Task& task, const CollectiveOptions& options, const Profile& profile) {
  const bool has_all = reduces(task.collective) || task.collective == Collective::bcast ||
                       task.collective == Collective::scatter || task.collective == Collective::alltoall;
  const double values = static_cast<double>(task.count) / (has_all ? 1 : std::max(task.ranks, 1));
  const double value_bytes = static_cast<double>(size_of(task.dtype));
  const double chunk = std::min(values, 4096.0) * value_bytes;
  const auto chunks = static_cast<double>(sampled_chunks(static_cast<std::uint64_t>(values)));
  double seconds =
      values * value_bytes * profile.of(options.space).copy_seconds_per_byte;  // for the largest magnitude
  if (task.on_device) seconds /= 2;                                            // a copy writes, too
  for (const CodecInQuestion& codec : in_question(options, profile)) {
    const Curve& encode = speeds_of(codec, options, profile).encode;
    seconds += task.on_device ? kTelling + encode.seconds(chunks * chunk) : chunks * encode.seconds(chunk);
  }
  return seconds;
}

// Whether some uncompressed algorithm takes less: a quick answer for small calls.
bool is_cheaper(const Task& task, const Profile& profile, double seconds) {
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::binomial})
    if (can_run(algorithm, Scheme::plain, task))
      return expected_cost(task, {algorithm, Scheme::plain, nullptr, 1, kLeastPiece, 1}, profile).seconds <
             seconds;
  return false;
}

}  // namespace

bool can_run(Algorithm algorithm, Scheme scheme, const Task& task) {
  if (algorithm == Algorithm::native && scheme != Scheme::plain) return false;
  return suits(algorithm, task) && suits(scheme, task);
}

std::vector<std::string> codecs_in_question(const CollectiveOptions& options, const Profile& profile) {
  std::vector<std::string> names;
  for (CodecInQuestion& codec : in_question(options, profile)) names.push_back(std::move(codec.name));
  return names;
}

std::vector<Candidate> candidates(const Task& task, const CollectiveOptions& options, const Profile& profile,
                                  std::span<const double> ratios) {
  std::vector<Candidate> all;
  const auto add = [&](const Candidate& candidate) { all.push_back(candidate); };
  const Table table(task, options, profile, !ratios.empty());
  table.uncompressed(add);
  table.compressed([&](std::size_t i) { return known_ratio(ratios, i, options); }, add);
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  return all;
}

Result<Decision> choose(const Task& task, const CollectiveOptions& options, const Profile& profile,
                        std::span<const double> ratios) {
  return no_throw([&]() -> Result<Decision> {
    const Table table(task, options, profile, !ratios.empty());
    Leaders leaders(task, table.agreeing());
    const auto take = [&](const Candidate& candidate) { leaders.take(candidate); };
    table.uncompressed(take);
    table.compressed([&](std::size_t i) { return known_ratio(ratios, i, options); }, take);
    const Candidate* const best = leaders.best();
    if (best == nullptr) return refusal(task, options);
    return Decision{*best, reason_for(*best, leaders, options)};
  });
}

double seconds_to_agree(const Task& task, const Profile& profile) {
  const bool is_one_node = task.ranks_per_node >= task.ranks;
  const LinkProfile& link = is_one_node ? profile.inside : profile.between;
  return profile.call_seconds + ceil_log2(task.ranks) * (link.latency + 2 * profile.message_seconds);
}

bool worth_asking(const Task& task, const CollectiveOptions& options, const Profile& profile) {
  if (!task.lossy || task.ranks <= 1 || task.count == 0) return false;
  if (compresses(options.scheme)) return true;
  if (options.scheme == Scheme::plain || options.algorithm == Algorithm::native) return false;
  const double agreeing = seconds_to_agree(task, profile);
  if (options.algorithm == Algorithm::automatic && is_cheaper(task, profile, kGainShare * agreeing))
    return false;
  const Table table(task, options, profile, false);
  Leaders leaders(task, table.agreeing());
  table.uncompressed([&](const Candidate& candidate) { leaders.take(candidate); });
  const Candidate* const exact = leaders.uncompressed();
  if (exact == nullptr) return true;
  const double asking = agreeing + seconds_to_look(task, options, profile);
  const auto gain = [&](double ratio) {
    std::optional<double> least;
    table.compressed([ratio](std::size_t) { return ratio; },
                     [&](const Candidate& candidate) {
                       if (!least || candidate.seconds < *least) least = candidate.seconds;
                     });
    return least ? exact->seconds - kDoubt * (*least + asking) : -1;
  };
  if (asking <= exact->seconds / kAskingShare) return gain(kNothing) > 0;
  const double share = task.on_device ? kGainShareOnGpu : kGainShare;
  return asking <= exact->seconds / share && asking <= gain(kLikelyRatio) / share;
}

}  // namespace homz
