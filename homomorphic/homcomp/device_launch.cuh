// What the host prepares for kernels of sums: scratch, calls, and the kernels in front of and behind those of
// the chunks.
#pragma once

#include <algorithm>

#include "codecs/homcomp/plan.hpp"
#include "core/gpu/alignment.hpp"
#include "core/gpu/launch.cuh"
#include "homomorphic/homcomp/device_sum_frame.cuh"

namespace homz::homcomp::device {

template <class T>
struct SumScratch {
  u64* places;
  WordSums* sums_of_result;
  WordSums* sums_of_operands;
  u64* places_of_operands;
  CallState* call;
  SumState<T>* state;
  SumOperand<T>* operands;
  ValueRoom<T>* rooms;

  // Of streams; what there is one more of is for values.
  SumScratch(Arena& arena, const Layout& layout, std::size_t count, unsigned ctas)
      : places(arena.take<u64>(layout.chunks)),
        sums_of_result(arena.take<WordSums>(layout.chunks)),
        sums_of_operands(arena.take<WordSums>(layout.chunks * (count + 1))),
        places_of_operands(arena.take<u64>(layout.chunks * count)),
        call(arena.take<CallState>(1)),
        state(arena.take<SumState<T>>(1)),
        operands(arena.take<SumOperand<T>>(count + 1)),
        rooms(arena.take<ValueRoom<T>>(ctas)) {}
};

// With the types that a call needs.
template <class F>
auto with_types(Dtype dtype, const Plan& plan, F&& body) {
  return with_dtype(dtype, [&](auto zero) {
    return plan.dim == 1 ? body(zero, std::true_type()) : body(zero, std::false_type());
  });
}

// A room each for thread blocks: as many as there may be of them.
inline unsigned rooms_for(const Layout& layout) {
  const unsigned most = static_cast<unsigned>(gpu::facts().multiprocessors) * kSummingCtas;
  return static_cast<unsigned>(std::min<std::uint64_t>(layout.chunks + 1, most));
}

inline Status check_operand(const Layout& layout, ConstBytes payload) {
  HOMZ_TRY(gpu::check_stream(payload));
  if (payload.size() < layout.data || (payload.size() - layout.data) % 4 != 0)
    return Status(Code::corrupt_stream, "damaged payload of homcomp: shorter than its tables");
  return Status();
}

inline Tables tables_of(const Layout& layout, std::byte* payload) {
  return {payload, layout.groups, layout.chunks, layout.sizes, layout.data};
}

template <class T>
SumCall<T> call_of(const Encoding& encoding, const Grid& grid, const Layout& layout,
                   const Combination& combination, Bytes payload, const SumScratch<T>& own,
                   Combined* combined) {
  SumCall<T> call{};
  call.to.grid = device_grid(grid, sizeof(T));
  call.to.fill = {static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0)), encoding.fill_bits.has_value()};
  call.to.tables = tables_of(layout, payload.data());
  call.to.places = own.places;
  call.to.chunk_sums = own.sums_of_result;
  call.to.call = own.call;
  call.to.encoded = &combined->encoded;
  call.to.most = ~u64{0};  // no payload is too large
  call.operands = own.operands;
  call.places = own.places_of_operands;
  call.state = own.state;
  call.rooms = own.rooms;
  call.count = call.streams = static_cast<u32>(combination.factors.size());
  call.is_plain = std::ranges::all_of(combination.factors, [](auto f) { return f == 1 || f == -1; });
  return call;
}

template <class T>
Result<SumSources<T>> sources_of(const Layout& layout, const Combination& combination,
                                 std::span<const OpenStream> operands, WordSums* sums) {
  SumSources<T> sources{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ConstBytes payload = operands[i].payload;
    HOMZ_TRY(check_operand(layout, payload));
    sources.sources[i] = {payload.data(), (payload.size() - layout.data) / 4, combination.factors[i]};
  }
  sources.tables = tables_of(layout, nullptr);
  sources.chunk_sums = sums;
  sources.shift = combination.shift;
  sources.scale = combination.scale;
  return sources;
}

// `kernel`: that of the chunks.
template <auto kKernel, class T>
Status enqueue(std::size_t shared, unsigned rooms, const SumCall<T>& call, const SumSources<T>& sources,
               SumOperand<T>* operands, const Layout& layout, Combined* combined, Exec exec) {
  HOMZ_ASSIGN(const unsigned there, gpu::room_for<kKernel>(kThreads, shared));
  const unsigned ctas = std::min(rooms, there);  // one adds up sizes
  const auto groups = static_cast<unsigned>(ceil_div<std::uint64_t>(layout.groups, kWarps));
  const auto preparing =
      static_cast<unsigned>(std::clamp<std::uint64_t>(layout.groups * call.streams / 32, 1, 264));
  HOMZ_TRY(gpu::launch({preparing, 1024, exec.stream, 0, false}, prepare_sum<T>, call, sources, operands));
  HOMZ_TRY(gpu::launch({ctas, kThreads, exec.stream, shared}, kKernel, call));
  HOMZ_TRY(gpu::launch({groups, kThreads, exec.stream}, finish_encode<T>, call.to));
  return gpu::launch({dim3(1 + groups, call.streams), kThreads, exec.stream}, verify_sum<T>, call, combined,
                     exec.fault);
}

}  // namespace homz::homcomp::device
