// A call of a collective: its arguments, checked, and its buffers as parts.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/choose.hpp"
#include "collectives/frame.hpp"
#include "collectives/schedule.hpp"
#include "collectives/transfers.hpp"

namespace homz {

struct Call {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::none;
  Dtype dtype = Dtype::f32;
  int root = 0;
  ConstBytes in;
  Bytes out;
  // The caller's. Values of each rank; empty: the same for all. Of alltoall: what comes from each, and what
  // goes to each.
  std::span<const std::uint64_t> counts = {}, send_counts = {};
  bool may_block = true;      // else the transport's own collectives are no choice
  bool only_chooses = false;  // moves nothing
  CollectiveOptions options = {};
  std::optional<Decision> fixed = {};       // of a plan
  std::shared_ptr<bool> is_under_way = {};  // of a plan: whether a call of it is
};

// Without the buffers that this rank is not asked for: a root's, on others.
Call without_ignored(Call call, Place place);

// Buffers that do not fit the counts, bounds that are none, and so on: invalid_argument.
Status check(const Call& call, Place place);

// All but the plan and the number of the call.
CallSignature signature_of(const Call& call, int ranks);
// A number that differs where options, or counts, that ranks must share differ.
std::uint32_t digest_of(const Call& call);
std::uint32_t digest_of(const Candidate& candidate, std::uint32_t options);
std::uint32_t digest_of(const Ratios& ratios, std::uint32_t options);

// As costs see it.
Task task_of(const Call& call, int ranks, int ranks_per_node);
// 0: nodes have different numbers of them.
int ranks_per_node(std::span<const int> nodes);

// The buffers as the parts of an algorithm's schedule, which gets to name them by their position: of
// alltoall's N^2 parts a rank has to do with few.
std::vector<Part> lay_parts(const Call& call, std::uint32_t count, Place place, Schedule& schedule);

// Values that one rank reduces or moves, and so looks at: its own.
ConstBytes own_data(const Call& call, Place place);

}  // namespace homz
