#include "collectives/shortcut.hpp"

#include <algorithm>

#include "collectives/native.hpp"
#include "collectives/running.hpp"

namespace homz {
namespace {

// What makes no difference to the way that a call takes.
CollectiveOptions kind_of(CollectiveOptions options) {
  options.report = nullptr;
  options.stream = nullptr;
  return options;
}

}  // namespace

void Shortcuts::note(Office& office, const Running& run) {
  const CollectiveOptions& options = run.asked;
  const Call& call = run.call;
  const bool is_simple =
      options.trusts_ranks && options.audit_every == 0 && call.counts.empty() && !call.fixed;
  const bool may_ask = run.has_asked || office.reluctances.find(run.task, run.signature.plan) != nullptr;
  if (run.decision.candidate.algorithm != Algorithm::native || !is_simple || may_ask) return;
  if (find(call, options) != nullptr) return;
  if (known_.size() < kMost) known_.emplace_back();
  Known& place = known_[next_++ % kMost];
  place = {call.collective, call.op,          call.dtype,    call.root,     call.in.size(),
           call.out.size(), kind_of(options), run.signature, report_of(run)};
}

const Shortcuts::Known* Shortcuts::find(const Call& call, const CollectiveOptions& options) const {
  const auto is_alike = [&](const Known& known) {
    return known.in_bytes == call.in.size() && known.out_bytes == call.out.size() &&
           known.collective == call.collective && known.op == call.op && known.dtype == call.dtype &&
           known.root == call.root && known.options == kind_of(options);
  };
  const auto found = std::ranges::find_if(known_, is_alike);
  return found == known_.end() ? nullptr : &*found;
}

std::optional<Status> Shortcuts::repeat(Office& office, const Call& asked,
                                        const CollectiveOptions& options) const {
  Wire& wire = *office.wire;
  const Place place{wire.rank(), wire.size(), asked.root};
  if (known_.empty() || !asked.counts.empty() || !asked.send_counts.empty()) return std::nullopt;
  Call call = without_ignored(asked, place);
  const Known* const known = find(call, options);
  if (known == nullptr || office.calls->any()) return std::nullopt;
  call.options = options;
  if (!no_throw([&] { return office.admit(call, place); }).ok())
    return std::nullopt;  // the long way tells why
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = options.report != nullptr ? Clock::now() : Clock::time_point();
  const Status status = no_throw([&]() -> Status {
    CallSignature signature = known->signature;
    HOMZ_TRY(wire.begin_call(signature));
    return run_native(wire, call, signature, false);
  });
  if (!status.ok()) return wire.fail(wire.last_call(), status);
  if (options.report != nullptr) {
    *options.report = known->report;
    options.report->total_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return status;
}

}  // namespace homz
