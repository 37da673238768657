// The host's side of sums on the device: memory is carved, kernels are chosen and enqueued.
#include <string>

#include "homomorphic/homcomp/device.hpp"
#include "homomorphic/homcomp/device_launch.cuh"
#include "homomorphic/homcomp/device_sum_kernels.cuh"

namespace homz::homcomp {
namespace {

using namespace device;

Status check_count(std::size_t operands) {
  if (operands <= kMostOperands) return Status();
  return Status(Code::unsupported, std::to_string(operands) + " streams at once: on a device it is " +
                                       std::to_string(kMostOperands) + " at most, add up sums");
}

}  // namespace

Result<Footprint> combine_footprint_on_device(const Encoding& encoding, const Plan& plan,
                                              std::size_t operands) {
  HOMZ_TRY(gpu::ready());
  HOMZ_TRY(check_count(operands));
  const Layout layout(Grid(encoding.field.without_unit_extents(), plan.dim).chunks());
  if (layout.chunks >> 31 != 0)
    return Status(Code::unsupported, "homcomp on the device: a field of more than 2^31 chunks");
  const unsigned rooms = rooms_for(layout);
  return with_dtype(encoding.field.dtype, [&](auto zero) -> Result<Footprint> {
    Arena arena;
    SumScratch<decltype(zero)>(arena, layout, operands, rooms);
    return Footprint{0, layout.data + encoding.field.bytes(), arena.needed(), 0};
  });
}

Status combine_on_device(const Encoding& encoding, const Plan& plan, const Combination& combination,
                         std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                         Combined* combined, Exec exec) {
  HOMZ_TRY(check_count(operands.size()));
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) -> Status {
    using T = decltype(zero);
    constexpr bool kFlat = decltype(flat)::value;
    const Grid grid(encoding.field.without_unit_extents(), plan.dim);
    const Layout layout(grid.chunks());
    const unsigned rooms = rooms_for(layout);
    Arena arena(scratch);
    const SumScratch<T> own(arena, layout, operands.size(), rooms);
    HOMZ_ASSIGN(const SumSources<T> sources,
                sources_of<T>(layout, combination, operands, own.sums_of_operands));
    const SumCall<T> call = call_of<T>(encoding, grid, layout, combination, payload, own, combined);
    return enqueue<sum_chunks<T, kFlat>>(sizeof(SumRoom<T>), rooms, call, sources, own.operands, layout,
                                         combined, exec);
  });
}

}  // namespace homz::homcomp
