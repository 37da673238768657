// From a call to what runs it: agreement, choice, transfers.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "collectives/call.hpp"
#include "collectives/calls.hpp"
#include "collectives/operation.hpp"
#include "collectives/processor.hpp"
#include "collectives/profile.hpp"
#include "collectives/record.hpp"
#include "collectives/shortcut.hpp"
#include "collectives/wire.hpp"

namespace homz {

// The ranks of one node, and those that have the same position in each node; if nodes have equally many.
struct Levels {
  std::unique_ptr<Wire> inside, between;
};

// Something by what calls are: what is to be done, and the digest of their options.
template <class T>
class ByCall {
 public:
  T* find(const Task& task, std::uint32_t options) {
    for (Entry& entry : entries_)
      if (entry.options == options && entry.task == task) return &entry.value;
    return nullptr;
  }
  T& put(const Task& task, std::uint32_t options, T value) {
    if (entries_.size() == kMost) entries_.clear();
    return entries_.emplace_back(Entry{task, options, std::move(value)}).value;
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Task task;
    std::uint32_t options;
    T value;
  };
  static constexpr std::size_t kMost = 64;
  std::vector<Entry> entries_;
};

// What calls of a communicator share.
struct Office {
  std::unique_ptr<Wire> wire;
  Levels levels;
  int ranks_per_node = 1;  // 0: nodes have different numbers
  Profile profile;
  Overrides overrides;       // the environment's, when the communicator was made
  std::uint64_t audits = 0;  // calls that could be audited, on all ranks alike

  ByCall<Decision> choices;
  ByCall<bool> worth_asking;

  // Calls whose ranks have looked at their data and then compressed nothing: the next ones of the kind do not
  // look, 1, 3, 7 ... 63 in a row. Of blocking calls only: each is over on a rank before the next begins, so
  // that all ranks count alike.
  struct Reluctance {
    unsigned skips = 0, left = 0;
  };
  ByCall<Reluctance> reluctances;

  Shortcuts shortcuts;

  // Made when it is first wanted.
  std::unique_ptr<Processor> host, gpu;  // the GPU is that of `calls`
  std::vector<const std::byte*>
      on_gpu;  // buffers of earlier calls: to ask takes as long as all else of a call
  // That of the buffers; values of a GPU are there when the call begins.
  Result<Processor*> processor(const CollectiveOptions& options);
  // Whether a call may begin: its arguments, the space of its buffers, and what has been before.
  Status admit(const Call& call, Place place);

  std::unique_ptr<Calls> calls;  // uses all of the above

 private:
  Status check_space(const Call& call);
};

Result<std::unique_ptr<Operation>> launch(Office& office, Call call);
// Agrees and chooses, but moves nothing: *decision is there when the operation is done.
Result<std::unique_ptr<Operation>> launch_choice(Office& office, Call call, Decision* decision);

// By all ranks, where nodes have several ranks each.
Status make_levels(Office& office);

// Rank 0's profile, on all ranks.
Result<Profile> share_profile(Wire& wire, const Profile& own, double timeout_seconds);

}  // namespace homz
