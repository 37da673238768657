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
  std::uint64_t count = 0;  // values of the whole: of a rank's vector in reductions and bcast, of all ranks'
                            // in allgather, scatter, gather and alltoall
  int ranks = 1;
  int ranks_per_node = 1;  // 0: nodes have different numbers of ranks
  bool lossy = false;      // a bound above 0 was given
  bool uneven = false;     // counts differ between ranks
  bool has_native = false;
};

struct Candidate {
  Algorithm algorithm;
  Scheme scheme;
  std::string codec;  // empty if plain
  std::uint64_t piece_values = 0;
  double seconds = 0;  // expected
};

// Raw bytes over compressed ones, for codecs of the profile in its order; sampled, or guessed.
using Ratios = std::vector<double>;

// All that can run, by rising seconds. Overrides (not automatic) leave only what they name.
std::vector<Candidate> candidates(const Task& task, const CollectiveOptions& options, const Profile& profile,
                                  std::span<const double> ratios);

struct Decision {
  Candidate candidate;
  std::string reason;
};
// Errors: invalid_argument where the overrides leave nothing, with what there is.
Result<Decision> choose(const Task& task, const CollectiveOptions& options, const Profile& profile,
                        std::span<const double> ratios);

// Whether ranks should look at their data and agree before they choose: no, where compression could not pay
// at any ratio, or asking costs more than a twenty-fifth of the uncompressed call.
bool worth_asking(const Task& task, const CollectiveOptions& options, const Profile& profile);

// Expected seconds of the agreement.
double seconds_to_agree(int ranks, const Profile& profile);

// What an algorithm can do: for tables, tests and error texts.
bool can_run(Algorithm algorithm, Scheme scheme, const Task& task);

// Overrides from the environment: HOMZ_ALGORITHM, HOMZ_SCHEME, HOMZ_CODEC, where the options say automatic.
Result<CollectiveOptions> with_environment(CollectiveOptions options);

}  // namespace homz
