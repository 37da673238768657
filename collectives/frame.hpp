// The 64 bytes in front of every message: what it is, and of which call, so that ranks that disagree find
// out.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "collectives/request.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

enum class Content : std::uint8_t {
  raw = 0,   // values as they are in memory
  coded,     // a codec's payload
  record,    // an agreement's numbers
  failure,   // a Status: code and text
  question,  // nothing: does the receiver make the call of the frame?
};

// All that ranks must agree on.
struct CallSignature {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::none;
  Dtype dtype = Dtype::f32;
  std::uint64_t count = 0;  // values, as the collective counts them
  double abs_error = 0;
  std::uint32_t root = 0;
  std::uint32_t plan = 0;      // what follows from the options: scheme, algorithm, codec, pieces
  std::uint32_t sequence = 0;  // number of the call on this communicator
  std::uint32_t history = 0;   // digest of the calls before it
  bool has_counts = false;     // of each rank, as allgatherv has and allgather has not
  friend bool operator==(const CallSignature&, const CallSignature&) = default;
};

// Half the bits of the checksum.
std::uint32_t digest_of(ConstBytes bytes);
// Of few numbers, in a few cycles each: a call of some microseconds makes several. The multiplier, of the
// golden ratio's bits, is odd, so that products lose nothing.
inline std::uint32_t digest_of(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t all = numbers.size();
  for (const std::uint64_t number : numbers) {
    all = (all ^ number) * 0x9e3779b97f4a7c15;
    all ^= all >> 32;
  }
  return static_cast<std::uint32_t>(all);
}
std::uint32_t digest_of(const CallSignature& call);
// "reduce sum of 1000 f32, bound 0.001, root 0"
std::string to_string(const CallSignature& call);
// Names what differs: "rank 1 calls ..., rank 3 calls ...".
Status disagreement(const CallSignature& own, int rank, const CallSignature& other, int other_rank);

struct Frame {
  static constexpr std::size_t kBytes = 64;

  CallSignature call;
  Content content = Content::raw;
  bool order_matters = false;
  bool has_checksum = false;
  std::uint32_t piece = 0;          // which
  std::uint32_t payload_bytes = 0;  // behind the frame
  std::uint32_t values = 0;         // of the part that it is a piece of (its low bits)
  std::uint64_t payload_checksum = 0;
};

void store(const Frame& frame, std::span<std::byte, Frame::kBytes> to);
// Errors: corrupt_stream.
Result<Frame> load_frame(ConstBytes bytes);

}  // namespace homz
