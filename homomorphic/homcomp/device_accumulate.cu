// The host's side of a stream plus values on the device.
#include "homomorphic/homcomp/device.hpp"
#include "homomorphic/homcomp/device_accumulate_kernels.cuh"
#include "homomorphic/homcomp/device_launch.cuh"

namespace homz::homcomp {
namespace {

using namespace device;

Status check_values(const void* data, const void* decoded, std::size_t value_bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % value_bytes == 0 &&
      reinterpret_cast<std::uintptr_t>(decoded) % value_bytes == 0)
    return Status();
  return Status(Code::invalid_argument, "homcomp on the device: data must be aligned to its values");
}

// The local values as the last operand: chunks that are coded to scratch.
template <class T>
void add_values(const Encoding& encoding, ConstBytes data, Bytes decoded, const Layout& layout,
                const SumScratch<T>& own, unsigned ctas, SumCall<T>& call, SumSources<T>& sources) {
  call.to.rule = {encoding.abs_error, 0, 0};
  call.to.data = reinterpret_cast<const T*>(data.data());
  call.to.count = data.size() / sizeof(T);
  call.decoded = decoded.empty() ? nullptr : reinterpret_cast<T*>(decoded.data());
  call.count = call.streams + 1;
  const auto* const rooms = reinterpret_cast<const std::byte*>(own.rooms);
  sources.sources[call.streams] = {rooms - layout.data, ctas * u64{sizeof(ValueRoom<T>)} / 4, 1};
}

}  // namespace

Status accumulate_on_device(const Encoding& encoding, const Plan& plan, const OpenStream& stream,
                            ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch, Combined* combined,
                            Exec exec) {
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) -> Status {
    using T = decltype(zero);
    constexpr bool kFlat = decltype(flat)::value;
    HOMZ_TRY(check_values(data.data(), decoded.data(), sizeof(T)));
    const Grid grid(encoding.field.without_unit_extents(), plan.dim);
    const Layout layout(grid.chunks());
    const unsigned rooms = rooms_for(layout);
    Arena arena(scratch);
    const SumScratch<T> own(arena, layout, 1, rooms);
    const std::int32_t one[] = {1};
    const Combination combination{one};
    HOMZ_ASSIGN(SumSources<T> sources,
                sources_of<T>(layout, combination, {&stream, 1}, own.sums_of_operands));
    SumCall<T> call = call_of<T>(encoding, grid, layout, combination, payload, own, combined);
    add_values(encoding, data, decoded, layout, own, rooms, call, sources);
    return enqueue<accumulate_chunks<T, kFlat>>(kAccumulateShared<T>, rooms, call, sources, own.operands,
                                                layout, combined, exec);
  });
}

}  // namespace homz::homcomp
