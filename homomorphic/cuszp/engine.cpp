#include "homomorphic/cuszp/engine.hpp"

#include <fmt/format.h>

#include "codecs/cuszp/kernels.hpp"
#include "homomorphic/cuszp/forms.hpp"
#include "homomorphic/cuszp/operand_payloads.hpp"
#include "homomorphic/cuszp/result_writer.hpp"

namespace homz::cuszp {
namespace {

// What results have in common that are formed block by block.
struct Task {
  const Encoding& encoding;
  const Plan& plan;
  std::span<const OpenStream> operands;
  Bytes payload, scratch;
  Combined* combined;
  unsigned threads;
};

template <class T, class Layout, class Form>
Status write_result(const Task& task, const Layout& layout, T step, const Form& form) {
  Arena arena(task.scratch);
  const ResultSpace<T, Layout> space(arena, layout, task.operands.size(), task.threads);
  if (!arena.fits() || task.payload.size() < largest_payload(layout, sizeof(T)))
    return Status(Code::capacity, "payload or scratch buffer too small");
  HOMZ_TRY(open_payloads(task.encoding, task.plan, layout, task.operands, space.payloads, space.of_operands,
                         task.threads));
  const ResultCoding<T> coding{task.plan.mode, task.plan.v1, step};
  std::uint64_t bytes = 0, exact = 0;
  HOMZ_TRY(ResultWriter(layout, coding, space, form, task.payload.data()).write(&bytes, &exact));
  task.combined->encoded = Encoded{bytes, sums_of(task.payload.first(bytes), task.threads)};
  task.combined->order_matters = exact != 0;
  return Status();
}

// Calls f(layout, linear) with what the operands have in common.
template <class F>
Status with_operands(const Task& task, const Combination& combination, F&& f) {
  HOMZ_ASSIGN(const unsigned dim, common_dim(task.encoding, task.plan, task.operands));
  HOMZ_ASSIGN(const double step, common_step(task.plan, task.operands));
  return with_layout(task.encoding.field, task.plan, dim, [&](const auto& layout, auto zero) -> Status {
    using T = decltype(zero);
    // Half the step is a normal number, too.
    HOMZ_ASSIGN(const Linear<T> linear,
                linear_of<T>(task.encoding, combination, step, 2 * std::numeric_limits<T>::min()));
    return f(layout, linear);
  });
}

Status combine_operands(const Task& task, const Combination& combination) {
  return with_operands(task, combination, [&]<class T>(const auto& layout, const Linear<T>& linear) {
    constexpr unsigned kDim = std::decay_t<decltype(layout)>::kDim;
    return write_result(task, layout, linear.scaled_step, SumForm<T, kDim>(linear, task.plan.mode));
  });
}

Status take_extremum(const Task& task, Extremum which) {
  return with_operands(task, Combination{}, [&]<class T>(const auto& layout, const Linear<T>& linear) {
    constexpr unsigned kDim = std::decay_t<decltype(layout)>::kDim;
    return write_result(task, layout, linear.step, ExtremumForm<T, kDim>(which, linear.step));
  });
}

Status add_values(const Task& task, ConstBytes data) {
  const std::int32_t ones[] = {1, 1};
  return with_operands(task, Combination{ones}, [&]<class T>(const auto& layout, const Linear<T>& linear) {
    constexpr unsigned kDim = std::decay_t<decltype(layout)>::kDim;
    Plan plan = task.plan;
    plan.step = static_cast<double>(linear.step);
    const Coding<T> coding(task.encoding, plan);
    return write_result(task, layout, linear.step,
                        AccumulationForm<T, kDim>(linear, coding, kernels().of<T>(), data));
  });
}

}  // namespace

unsigned dim_of(ConstBytes payload) {
  return payload.size() < Trailer::kBytes ? 0 : Trailer::load(payload.data() + payload.size()).dim;
}

Result<double> step_of(const Encoding& encoding, const Plan& plan) {
  return with_dtype(encoding.field.dtype, [&](auto zero) -> Result<double> {
    const Coding<decltype(zero)> coding(encoding, plan);
    if (coding.has_step()) return static_cast<double>(coding.step);
    return Status(Code::unsupported, fmt::format("quanta of a bound of {} cannot be computed with in type {}",
                                                 half_step(encoding, plan), to_string(encoding.field.dtype)));
  });
}

double scaled_step(const Encoding& encoding, double step, double scale) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return static_cast<double>(static_cast<decltype(zero)>(step * scale));
  });
}

Footprint combine_footprint(const Encoding& encoding, const Plan& plan, std::size_t operands,
                            unsigned threads) {
  Footprint all;
  const Dims dims(encoding.field, plan);
  for (unsigned dim = dims.first; dim <= dims.last; ++dim)
    with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
      using T = decltype(zero);
      Arena arena;
      ResultSpace<T, std::decay_t<decltype(layout)>>(arena, layout, operands, threads);
      all.max_payload = std::max(all.max_payload, largest_payload(layout, sizeof(T)));
      all.encode_scratch = std::max(all.encode_scratch, arena.needed());
    });
  return all;
}

Status combine(const Encoding& encoding, const Plan& plan, const Combination& combination,
               std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
               unsigned threads) {
  return combine_operands({encoding, plan, operands, payload, scratch, combined, threads}, combination);
}

Status extremum(const Encoding& encoding, const Plan& plan, Extremum which,
                std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                unsigned threads) {
  return take_extremum({encoding, plan, operands, payload, scratch, combined, threads}, which);
}

Status accumulate(const Encoding& encoding, const Plan& plan, const OpenStream& stream, ConstBytes data,
                  Bytes payload, Bytes decoded, Bytes scratch, Combined* combined, unsigned threads) {
  HOMZ_TRY(add_values({encoding, plan, {&stream, 1}, payload, scratch, combined, threads}, data));
  if (decoded.empty()) return Status();
  // Blocks share elements, and may be formed twice: only now can the data be written over.
  Plan of_result = plan;
  HOMZ_ASSIGN(of_result.step, step_of(stream, plan));
  return decode(encoding, of_result, kernels(), payload.first(combined->encoded.bytes), decoded, scratch,
                host(threads));
}

}  // namespace homz::cuszp
