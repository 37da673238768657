#include "collectives/native.hpp"

namespace homz {
namespace {

// Blocks: a transport's own collective is not to be interrupted.
class Native final : public Operation {
 public:
  Native(Office& office, const Running& run) : office_(office), run_(run) {}

  Result<bool> advance() override {
    HOMZ_TRY(office_.wire->poll(run_.signature.sequence));
    if (office_.calls->any_before(run_.signature.sequence)) return false;
    const Call& call = run_.call;
    HOMZ_TRY(office_.wire->transport().native(call.collective, call.op, call.dtype, call.in, call.out,
                                              run_.signature.count, call.root));
    return true;
  }

 private:
  Office& office_;
  const Running& run_;
};

}  // namespace

Result<std::unique_ptr<Operation>> native_operation(Office& office, const Running& run) {
  return std::unique_ptr<Operation>(new Native(office, run));
}

}  // namespace homz
