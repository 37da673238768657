#include "homomorphic/homcomp/homcomp_arithmetic.hpp"

#include "homomorphic/homcomp/device.hpp"
#include "homomorphic/homcomp/device_numbers.hpp"
#include "homomorphic/homcomp/engine.hpp"
#include "homomorphic/operands.hpp"

namespace homz {
namespace {

using operands::encoding_of;

class HomcompArithmetic final : public CodecArithmetic {
 public:
  CodecId codec() const noexcept override { return CodecId{4}; }

  Result<double> step(const OpenStream& stream) const override {
    const Encoding encoding = encoding_of(stream.header);
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    return homcomp::step_of(encoding, plan, stream.payload);
  }

  bool alike(const OpenStream& a, const OpenStream& b) const noexcept override {
    const auto plan_a = homcomp::plan_of(encoding_of(a.header)),
               plan_b = homcomp::plan_of(encoding_of(b.header));
    return plan_a.ok() && plan_b.ok() && plan_a->dim == plan_b->dim;
  }

  Result<CodecParams> with_step(const CodecParams& params, double step) const override {
    HOMZ_ASSIGN(homcomp::Settings settings, homcomp::unpack(params));
    settings.step = step;
    return homcomp::pack(settings);
  }

  Result<CodecParams> params_like(const OpenStream& stream) const override {
    HOMZ_ASSIGN(homcomp::Settings settings, homcomp::unpack(stream.header.params));
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding_of(stream.header)));
    HOMZ_ASSIGN(settings.step, step(stream));
    settings.dim = plan.dim;
    return homcomp::pack(settings);
  }

  Result<CodecParams> params_of_result(const OpenStream& stream, double) const override {
    return with_step(stream.header.params, 0);  // payloads tell their step
  }

  Result<Footprint> footprint(const Encoding& encoding, std::size_t operands, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device) return homcomp::combine_footprint_on_device(encoding, plan, operands);
    return homcomp::combine_footprint(encoding, plan, homcomp::sum_kernels(), operands, exec.threads);
  }

  bool on_device() const noexcept override { return true; }

  Status combine(const Encoding& encoding, const Combination& combination,
                 std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                 Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::combine_on_device(encoding, plan, combination, operands, payload, scratch, combined,
                                        exec);
    return homcomp::combine(encoding, plan, homcomp::sum_kernels(), combination, operands, payload, scratch,
                            combined, exec.threads);
  }

  Status extremum(const Encoding& encoding, Extremum which, const OpenStream& a, const OpenStream& b,
                  Bytes payload, Bytes scratch, Combined* combined, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    const OpenStream operands[] = {a, b};
    if (exec.space == Space::device)
      return homcomp::extremum_on_device(encoding, plan, which, operands, payload, scratch, combined, exec);
    return homcomp::extremum(encoding, plan, homcomp::sum_kernels(), which, operands, payload, scratch,
                             combined, exec.threads);
  }

  Status accumulate(const Encoding& encoding, const OpenStream& stream, ConstBytes data, Bytes payload,
                    Bytes decoded, Bytes scratch, Combined* combined, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::accumulate_on_device(encoding, plan, stream, data, payload, decoded, scratch, combined,
                                           exec);
    return homcomp::accumulate(encoding, plan, homcomp::sum_kernels(), stream, data, payload, decoded,
                               scratch, combined, exec.threads);
  }

  Result<Moments> moments(const OpenStream& stream, Exec exec) const override {
    const Encoding encoding = encoding_of(stream.header);
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::moments_on_device(encoding, plan, homcomp::sum_kernels(), stream.payload, exec);
    return homcomp::moments(encoding, plan, homcomp::sum_kernels(), stream.payload, exec.threads);
  }

  Result<double> dot(const OpenStream& a, const OpenStream& b, Exec exec) const override {
    const Encoding encoding = encoding_of(a.header);
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::dot_on_device(encoding, plan, homcomp::sum_kernels(), {a.payload, b.payload}, exec);
    return homcomp::dot(encoding, plan, homcomp::sum_kernels(), a.payload, b.payload, exec.threads);
  }
};

}  // namespace

const CodecArithmetic* homcomp_arithmetic() noexcept {
  static const HomcompArithmetic arithmetic;
  return &arithmetic;
}

}  // namespace homz
