// Which algorithm, scheme and codec a call gets: a table of costs, an override, the least of what remains,
// and a sentence that says why. It depends on arguments that all ranks share, so all choose the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/profile.hpp"
#include "collectives/request.hpp"

namespace homz {

// What is to be done, as far as costs depend on it.
struct Task {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::sum;
  Dtype dtype = Dtype::f32;
  // Values of the whole: of a rank's vector in reductions and bcast, of all ranks' in allgather, scatter and
  // gather, of what a rank sends to all in alltoall.
  std::uint64_t count = 0;
  int ranks = 1;
  int ranks_per_node = 1;  // 0: nodes have different numbers of ranks
  bool lossy = false;      // a bound above 0 was given
  bool uneven = false;     // counts differ between ranks
  bool has_native = false;
  bool on_device = false;  // values are on a GPU
  friend bool operator==(const Task&, const Task&) = default;
};

struct Candidate {
  Algorithm algorithm = Algorithm::automatic;
  Scheme scheme = Scheme::automatic;
  std::string codec;  // empty if plain
  std::uint64_t piece_values = 0;
  double seconds = 0;     // expected
  double wire_bytes = 0;  // expected, of the rank that sends most
};

// The codecs that a call may take: that of the options, else those of the profile.
std::vector<std::string> codecs_in_question(const CollectiveOptions& options, const Profile& profile);

// Raw bytes over compressed ones of one rank's data, for the codecs in question, in their order. Where it is
// not known (0 or not there) the codec is taken only if the options ask for compression, at a guess.
using Ratios = std::vector<double>;

// All that can run, by rising seconds. Overrides (not automatic) leave only what they name.
std::vector<Candidate> candidates(const Task& task, const CollectiveOptions& options, const Profile& profile,
                                  std::span<const double> ratios);

struct Decision {
  Candidate candidate;
  std::string reason;
};
// The least of the candidates; but what is compressed must be expected to gain a tenth on what is not, and
// our own uncompressed algorithms a tenth on the transport's, and half inside a node. Errors:
// invalid_argument where the overrides leave nothing, with what there is.
Result<Decision> choose(const Task& task, const CollectiveOptions& options, const Profile& profile,
                        std::span<const double> ratios);

// Whether ranks should look at their data and agree before they choose: where that costs a twenty-fifth of
// the uncompressed call at most, if compression could pay at any ratio; else, if it costs a quarter at most
// of what a ratio of 8 would gain. Always, where the options ask for compression.
bool worth_asking(const Task& task, const CollectiveOptions& options, const Profile& profile);

// Expected seconds of the agreement: log2 N rounds of records, and what a call takes before its messages.
double seconds_to_agree(const Task& task, const Profile& profile);

// What an algorithm can do: for tables, tests and error texts.
bool can_run(Algorithm algorithm, Scheme scheme, const Task& task);

// What is to be taken where the options say automatic.
struct Overrides {
  Algorithm algorithm = Algorithm::automatic;
  Scheme scheme = Scheme::automatic;
  CodecChoice codec = {};
};
// HOMZ_ALGORITHM, HOMZ_SCHEME, HOMZ_CODEC; "auto" is as if they were not set. Errors: invalid_argument for
// values of no meaning.
Result<Overrides> overrides_of_environment();
// Schemes and algorithms hold for the calls that they suit: other calls, and those with a bound of 0, are as
// if they were not set.
CollectiveOptions overridden(CollectiveOptions options, const Overrides& overrides, const Task& task);
// What to say behind the reason of a choice: "; HOMZ_SCHEME=hzccl is ignored: ..." for each that the call
// does not suit. `options`: as overridden() leaves them.
std::string ignored_overrides(const CollectiveOptions& options, const Overrides& overrides, const Task& task);

}  // namespace homz
