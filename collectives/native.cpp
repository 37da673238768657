#include "collectives/native.hpp"

namespace homz {
namespace {

// Blocks: a transport's own collective is not to be interrupted.
class Native final : public Operation {
 public:
  Native(Wire& wire, const Call& call) : wire_(wire), call_(call) {}

  Result<bool> advance() override {
    const CallSignature signature = signature_of(call_, wire_.size());
    HOMZ_TRY(wire_.transport().native(call_.collective, call_.op, call_.dtype, call_.in, call_.out,
                                      signature.count, call_.root));
    return true;
  }

 private:
  Wire& wire_;
  Call call_;
};

}  // namespace

Result<std::unique_ptr<Operation>> native_operation(Wire& wire, const Call& call) {
  return std::unique_ptr<Operation>(new Native(wire, call));
}

}  // namespace homz
