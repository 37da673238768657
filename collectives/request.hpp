// What a collective is asked for, and what it tells afterwards.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/exec.hpp"
#include "core/field.hpp"
#include "core/registry.hpp"

namespace homz {

enum class Collective : std::uint8_t {  // the values are part of the frame format
  allreduce = 1,
  reduce_scatter,
  reduce,
  allgather,
  bcast,
  scatter,
  gather,
  alltoall,
};

enum class ReduceOp : std::uint8_t { none = 0, sum = 1, average, min, max, prod };

// How data travels. docs/collectives.md has a table of what suits which collective.
enum class Algorithm : std::uint8_t {
  automatic = 0,
  native,              // the transport's own, uncompressed
  ring,                // chunk by chunk round the ring; bandwidth-optimal (Patarasuk, Yuan, JPDC 69, 2009)
  recursive_doubling,  // whole vectors, log2 N rounds
  rabenseifner,        // halving, then doubling (Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005)
  direct,              // every chunk straight to its owner, one N-way operation, straight back
  binomial,            // a tree from or to the root; allreduce: both
  bruck,               // log2 N rounds of growing sets (Bruck et al., IEEE TPDS 8, 1997)
  two_level,           // plain inside nodes, compressed between them on a share of the data each
};

// What is done to the data on its way.
enum class Scheme : std::uint8_t {
  automatic = 0,
  plain,          // nothing
  cprp2p,         // compressed for every send, decompressed behind every receive
  ccoll,          // moved: compressed once; reduced: decoded, operated on, encoded (C-Coll, IPDPS 2024)
  hzccl,          // stream + stream (hZCCL, SC 2024)
  homcomp_ahead,  // HomComp: all local data quantised and predicted ahead, then combined
  homcomp_step,   // the same, one step ahead
  homcomp_fused,  // HomComp: local values + received stream in one pass
};

// All but automatic.
inline constexpr std::array kEveryAlgorithm = {
    Algorithm::native,       Algorithm::ring,     Algorithm::recursive_doubling,
    Algorithm::rabenseifner, Algorithm::direct,   Algorithm::binomial,
    Algorithm::bruck,        Algorithm::two_level};
inline constexpr std::array kEveryScheme = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                                            Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                                            Scheme::homcomp_fused};

std::string_view to_string(Collective value) noexcept;
// As Communicator's functions are called: "allgatherv" has counts of each rank, "allgather" has none.
std::string_view name_of(Collective value, bool has_counts) noexcept;
std::string_view to_string(ReduceOp value) noexcept;
std::string_view to_string(Algorithm value) noexcept;
std::string_view to_string(Scheme value) noexcept;
// By the names above, with - or _; the error lists what there is.
Result<Collective> parse_collective(std::string_view text);
Result<ReduceOp> parse_reduce_op(std::string_view text);
Result<Algorithm> parse_algorithm(std::string_view text);
Result<Scheme> parse_scheme(std::string_view text);

// Rounds of algorithms that double.
constexpr int floor_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}
constexpr int ceil_log2(int ranks) {
  return ranks <= 1 ? 0 : floor_log2(ranks - 1) + 1;
}

constexpr bool compresses(Scheme scheme) {
  return scheme != Scheme::automatic && scheme != Scheme::plain;
}
constexpr bool is_homomorphic(Scheme scheme) {
  return scheme >= Scheme::hzccl;
}
constexpr bool is_extremum(ReduceOp op) {
  return op == ReduceOp::min || op == ReduceOp::max;
}
constexpr bool reduces(Collective collective) {
  return collective <= Collective::reduce;
}
constexpr bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::bcast ||
         collective == Collective::scatter || collective == Collective::gather;
}

// What one call has done, on this rank.
struct CallReport {
  Algorithm algorithm = Algorithm::automatic;
  Scheme scheme = Scheme::automatic;
  std::string codec;   // empty if plain
  std::string reason;  // why so
  double share = 0;    // bound of each quantisation, in units of the data
  // What the transport's own collectives (native) send is not known, and not in these.
  std::uint64_t raw_bytes = 0;        // of values, that would have been sent uncompressed
  std::uint64_t sent_bytes = 0;       // of messages with values, frames included
  std::uint64_t agreement_bytes = 0;  // of messages by which ranks agree on the call, frames included
  double encode_seconds = 0, combine_seconds = 0, decode_seconds = 0, wait_seconds = 0, total_seconds = 0;
  double audited_error = -1;  // largest difference to the uncompressed result; < 0: not audited
  // Of values; 1 where none were sent.
  double ratio() const {
    return raw_bytes == 0 ? 1 : static_cast<double>(raw_bytes) / static_cast<double>(sent_bytes);
  }
};

struct CollectiveOptions {
  // Bound of the error of every value of the final result, in units of the data; 0: no compression.
  double abs_error = 0;
  // 0: the bound holds in the worst case. Else it holds for all but a share of erfc(sigmas / sqrt 2) of the
  // values of a sum, provided that errors of ranks are independent (C-Coll's argument): 3.3 is 99.9 %.
  double sigmas = 0;
  Algorithm algorithm = Algorithm::automatic;
  Scheme scheme = Scheme::automatic;
  CodecChoice codec;               // codec == nullptr: those of the profile
  Space space = Space::host;       // of the buffers; device: the current GPU's
  CUstream_st* stream = nullptr;   // device: the call comes behind what is on it
  unsigned threads = 1;            // for coding
  bool checksum_plain = false;     // uncompressed messages carry a checksum, too, but not from GPU to GPU
  bool trusts_ranks = false;       // to make the same calls: the transport's own collectives are not checked
  double timeout_seconds = 0;      // a peer silent for so long is an error; 0: wait for ever
  std::uint64_t piece_values = 0;  // of a message, or a multiple of it; 0: by the profile
  unsigned audit_every = 0;        // every k-th call runs the uncompressed collective besides, for the report
  CallReport* report = nullptr;    // filled in when the call completes
  friend bool operator==(const CollectiveOptions&, const CollectiveOptions&) = default;
};

}  // namespace homz
