#include "homomorphic/cuszp/cuszp_arithmetic.hpp"

#include "homomorphic/cuszp/engine.hpp"
#include "homomorphic/operands.hpp"

namespace homz {
namespace {

using operands::encoding_of;

class CuszpArithmetic final : public CodecArithmetic {
 public:
  CuszpArithmetic(CodecId codec, bool v1) : codec_(codec), v1_(v1) {}

  CodecId codec() const noexcept override { return codec_; }

  Result<double> step(const OpenStream& stream) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding_of(stream.header)));
    return cuszp::step_of(encoding_of(stream.header), plan);
  }

  bool alike(const OpenStream& a, const OpenStream& b) const noexcept override {
    const auto plan_a = cuszp::unpack(a.header.params, v1_), plan_b = cuszp::unpack(b.header.params, v1_);
    return plan_a.ok() && plan_b.ok() && plan_a->mode == plan_b->mode &&
           cuszp::dim_of(a.payload) == cuszp::dim_of(b.payload);
  }

  Result<CodecParams> with_step(const CodecParams& params, double step) const override {
    HOMZ_ASSIGN(cuszp::Plan plan, cuszp::unpack(params, v1_));
    plan.step = step;
    return cuszp::pack(plan);
  }

  Result<CodecParams> params_like(const OpenStream& stream) const override {
    HOMZ_ASSIGN(cuszp::Plan plan, cuszp::unpack(stream.header.params, v1_));
    HOMZ_ASSIGN(plan.step, step(stream));
    plan.dim = cuszp::dim_of(stream.payload);
    return cuszp::pack(plan);
  }

  Result<CodecParams> params_of_result(const OpenStream& stream, double scale) const override {
    HOMZ_ASSIGN(cuszp::Plan plan, cuszp::unpack(stream.header.params, v1_));
    HOMZ_ASSIGN(const double own, step(stream));
    plan.step = cuszp::scaled_step(encoding_of(stream.header), own, scale);
    return cuszp::pack(plan);
  }

  Result<Footprint> footprint(const Encoding& encoding, std::size_t operands, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::combine_footprint(encoding, plan, operands, exec.threads);
  }

  Status combine(const Encoding& encoding, const Combination& combination,
                 std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                 Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::combine(encoding, plan, combination, operands, payload, scratch, combined, exec.threads);
  }

  Status extremum(const Encoding& encoding, Extremum which, const OpenStream& a, const OpenStream& b,
                  Bytes payload, Bytes scratch, Combined* combined, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    const OpenStream operands[] = {a, b};
    return cuszp::extremum(encoding, plan, which, operands, payload, scratch, combined, exec.threads);
  }

  Status accumulate(const Encoding& encoding, const OpenStream& stream, ConstBytes data, Bytes payload,
                    Bytes decoded, Bytes scratch, Combined* combined, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::accumulate(encoding, plan, stream, data, payload, decoded, scratch, combined, exec.threads);
  }

  Result<Moments> moments(const OpenStream& stream, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding_of(stream.header)));
    return cuszp::moments(encoding_of(stream.header), plan, stream, exec.threads);
  }

  Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding_of(a.header)));
    const OpenStream operands[] = {a, b};
    return cuszp::dot(encoding_of(a.header), plan, operands, exec.threads);
  }

 private:
  Result<cuszp::Plan> plan_of(const Encoding& encoding) const { return cuszp::plan_of(encoding, v1_); }

  const CodecId codec_;
  const bool v1_;
};

}  // namespace

const CodecArithmetic* cuszp_arithmetic() noexcept {
  static const CuszpArithmetic arithmetic(CodecId{2}, true);
  return &arithmetic;
}
const CodecArithmetic* cuszp2_arithmetic() noexcept {
  static const CuszpArithmetic arithmetic(CodecId{3}, false);
  return &arithmetic;
}

}  // namespace homz
