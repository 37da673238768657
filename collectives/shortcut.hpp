// Calls that have come to the transport's own collective, and do so again: for short messages the stages of
// launch() take longer than the message.
#pragma once

#include <optional>
#include <vector>

#include "collectives/call.hpp"

namespace homz {

struct Office;
struct Running;

// Only of calls on which ranks need not agree, since all come to the same by themselves. Such a call is
// numbered, and kept for ranks that ask, as any other: ranks may come to it by different ways.
class Shortcuts {
 public:
  // A call that is done. One that would take other ways the next time is not noted.
  void note(Office& office, const Running& run);
  // Nothing: the call has to be launched.
  std::optional<Status> repeat(Office& office, const Call& call, const CollectiveOptions& options);
  void clear() { *this = Shortcuts(); }

 private:
  struct Known {
    Call call;  // the last one of its kind; its arguments are good
    CallSignature signature;
    CallReport report;
  };
  // With these options, whose report and stream make no difference to the way that a call takes.
  Known* find(const Call& call, const CollectiveOptions& options);
  // Whether a call like the known one may begin: then that has its buffers.
  static bool admit(Office& office, const Call& call, Known& known);

  static constexpr std::size_t kMost = 16;
  std::vector<Known> known_;
  std::size_t next_ = 0;  // to be replaced, once there are as many
};

}  // namespace homz
