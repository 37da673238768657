// The host's side of extrema on the device.
#include "homomorphic/homcomp/device.hpp"
#include "homomorphic/homcomp/device_extremum_kernels.cuh"
#include "homomorphic/homcomp/device_launch.cuh"

namespace homz::homcomp {

using namespace device;

Status extremum_on_device(const Encoding& encoding, const Plan& plan, Extremum which,
                          std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                          Combined* combined, Exec exec) {
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) -> Status {
    using T = decltype(zero);
    constexpr bool kFlat = decltype(flat)::value;
    const Grid grid(encoding.field.without_unit_extents(), plan.dim);
    const Layout layout(grid.chunks());
    const unsigned rooms = rooms_for(layout);
    Arena arena(scratch);
    const SumScratch<T> own(arena, layout, operands.size(), rooms);
    const std::int32_t ones[] = {1, 1};
    const Combination both{ones};
    HOMZ_ASSIGN(const SumSources<T> sources, sources_of<T>(layout, both, operands, own.sums_of_operands));
    SumCall<T> call = call_of<T>(encoding, grid, layout, both, payload, own, combined);
    call.is_greatest = which == Extremum::greatest;
    return enqueue<choose_chunks<T, kFlat>>(sizeof(ExtremumRoom<T>), rooms, call, sources, own.operands,
                                            layout, combined, exec);
  });
}

}  // namespace homz::homcomp
