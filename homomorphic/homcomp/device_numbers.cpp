#include "homomorphic/homcomp/device_numbers.hpp"

#include "codecs/homcomp/payload_reader.hpp"
#include "homomorphic/homcomp/device_reduce.hpp"

namespace homz::homcomp {
namespace {

// The tables of a payload and its groups with chosen chunks, in their places; what else there is of the
// memory is not touched.
Result<Buffer> fetch_groups(const Encoding& encoding, const Plan& plan, ConstBytes payload,
                            ChosenChunks chosen, Exec exec) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  HOMZ_ASSIGN(Buffer here, Buffer::make(payload.size()));
  HOMZ_TRY(gpu::copy(payload.first(layout.data), here.bytes(), exec.stream));
  HOMZ_TRY(gpu::wait(exec.stream));
  const PayloadReader reader(grid, size_of(encoding.field.dtype), here.bytes());
  for (std::uint64_t index = 0; index < reader.groups(); ++index) {
    if (!chosen.has_some_of_group(index)) continue;
    Group group;
    HOMZ_TRY(reader.find(index, group));
    const auto at = static_cast<std::size_t>(group.data - here.bytes().data());
    HOMZ_TRY(
        gpu::copy(payload.subspan(at, 4 * std::size_t{group.words}), here.bytes().subspan(at), exec.stream));
  }
  HOMZ_TRY(gpu::wait(exec.stream));
  return here;
}

}  // namespace

Result<Moments> moments_on_device(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                                  ConstBytes payload, Exec exec) {
  HOMZ_ASSIGN(const Reduced<QuantaTally> reduced, count_on_device(encoding, plan, payload, exec));
  Tally all;
  if (reduced.left.size() != 0) {
    const ChosenChunks left(reduced.left.bytes());
    HOMZ_ASSIGN(const Buffer here, fetch_groups(encoding, plan, payload, left, exec));
    HOMZ_ASSIGN(all, tally(encoding, plan, kernels, here.bytes(), left, exec.threads));
  }
  all.join(reduced.counted);
  return moments_of(all, encoding.field.dtype, reduced.steps[0]);
}

Result<double> dot_on_device(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                             const ConstBytes (&payloads)[2], Exec exec) {
  HOMZ_ASSIGN(const Reduced<QuantaProducts> reduced, multiply_on_device(encoding, plan, payloads, exec));
  Products all;
  if (reduced.left.size() != 0) {
    const ChosenChunks left(reduced.left.bytes());
    HOMZ_ASSIGN(const Buffer a, fetch_groups(encoding, plan, payloads[0], left, exec));
    HOMZ_ASSIGN(const Buffer b, fetch_groups(encoding, plan, payloads[1], left, exec));
    HOMZ_ASSIGN(all,
                multiply(encoding, plan, kernels, {a.bytes(), b.bytes()}, reduced.steps, left, exec.threads));
  }
  all.join(reduced.counted);
  return all.sum(reduced.steps);
}

}  // namespace homz::homcomp
