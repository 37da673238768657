// A call on its way through the stages of launch.hpp.
#pragma once

#include <chrono>
#include <utility>

#include "collectives/bound.hpp"
#include "collectives/launch.hpp"

namespace homz {

struct Running {
  Call call;
  CollectiveOptions asked;  // before overrides
  Place place;
  CallSignature signature;
  Task task;
  Processor* processor = nullptr;
  Record own, all;         // own data, and those of all ranks
  bool has_asked = false;  // all ranks know `all`
  bool has_followed = false;
  Decision decision;
  Spending spending;
  CallReport report;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  // What the call enqueues comes behind what is on the caller's stream, once.
  Status follow_caller() {
    if (std::exchange(has_followed, true)) return Status();
    return processor->follow(call.options.stream);
  }
};

CallReport report_of(const Running& run);

// ---- decide.cpp

enum class Look : std::uint8_t { nothing, magnitudes, ratios };

// Looks at this rank's data, and agrees with the others on what all are like; if at nothing, then only on
// what is called.
Result<std::unique_ptr<Operation>> ask(Office& office, Running& run, Look at);
Status decide(Office& office, Running& run);
// Of what does not compress.
Result<Decision> choose_plain(const Running& run, const Profile& profile);
// The codec of a candidate, or that of the options.
Result<CodecChoice> codec_of(const CollectiveOptions& options, const std::string& name);

// ---- legs.cpp

// A part of a call: a collective of its own among the ranks of a wire. It may refer to `run`.
struct Leg {
  Wire* wire = nullptr;
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::none;
  Algorithm algorithm = Algorithm::ring;
  Scheme scheme = Scheme::plain;
  ConstBytes in;
  Bytes out;
  std::span<const std::uint64_t> counts = {};
};
Result<std::unique_ptr<Operation>> leg_of(Running& run, const Leg& leg);
// The call as decided.
Result<std::unique_ptr<Operation>> transfer(Office& office, Running& run);

}  // namespace homz
