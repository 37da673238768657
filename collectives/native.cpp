#include "collectives/native.hpp"

namespace homz {
namespace {

// Blocks: a transport's own collective is not to be interrupted. On a GPU it is on the caller's stream, and
// nobody waits for it.
class Native final : public Operation {
 public:
  Native(Office& office, const Running& run) : office_(office), run_(run) {}

  Result<bool> advance() override {
    HOMZ_TRY(run_native(*office_.wire, run_.call, run_.signature, run_.has_asked));
    return true;
  }

 private:
  Office& office_;
  const Running& run_;
};

class Behind final : public Operation {
 public:
  Behind(Office& office, std::uint32_t sequence) : office_(office), sequence_(sequence) {}

  Result<bool> advance() override {
    HOMZ_TRY(office_.wire->poll(sequence_));
    return !office_.calls->any_before(sequence_);
  }

 private:
  Office& office_;
  std::uint32_t sequence_;
};

}  // namespace

// A rank that comes late finds the messages of the agreement, and behind them that others have given up.
Status run_native(Wire& wire, const Call& call, const CallSignature& signature, bool has_agreed) {
  const CollectiveOptions& options = call.options;
  const int polls = has_agreed ? 8 : 1;  // a message each, at least
  for (int i = 0; i < polls && options.timeout_seconds > 0; ++i) HOMZ_TRY(wire.poll(signature.sequence));
  return wire.transport().native(
      call.collective, call.op, call.dtype, call.in, call.out, signature.count, call.root,
      options.space == Space::device ? device(options.stream) : host(options.threads));
}

std::unique_ptr<Operation> behind_others(Office& office, std::uint32_t sequence) {
  return std::make_unique<Behind>(office, sequence);
}

Result<std::unique_ptr<Operation>> native_operation(Office& office, const Running& run) {
  return std::unique_ptr<Operation>(new Native(office, run));
}

}  // namespace homz
