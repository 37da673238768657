// The host's side of counting on the device: memory, kernels, and what comes back.
#include <vector>

#include "core/gpu/stream_memory.cuh"
#include "homomorphic/homcomp/device_launch.cuh"
#include "homomorphic/homcomp/device_reduce.hpp"
#include "homomorphic/homcomp/device_reduce_kernels.cuh"

namespace homz::homcomp {
namespace {

using namespace device;

template <class Number>
Bytes bytes_of(Number* numbers, std::size_t count) {
  return std::as_writable_bytes(std::span(numbers, count));
}

template <class T, class Counter>
struct ReduceScratch {
  CountedByCta<typename Counter::Counted>* of_ctas;
  u32* fault;
  std::byte* left;
  WordSums* sums;

  ReduceScratch(Arena& arena, const Layout& layout, unsigned ctas)
      : of_ctas(arena.take<CountedByCta<typename Counter::Counted>>(ctas)),
        fault(arena.take<u32>(1)),
        left(arena.take<std::byte>(layout.chunks)),
        sums(arena.take<WordSums>(layout.chunks * Counter::kOperands)) {}
};

template <class T, class Counter>
ReduceCall<T, Counter> call_of(const Encoding& encoding, const Grid& grid, const Layout& layout,
                               std::span<const ConstBytes> payloads, const ReduceScratch<T, Counter>& own) {
  ReduceCall<T, Counter> call{};
  for (std::size_t i = 0; i < payloads.size(); ++i)
    call.operands[i] = {
        .grid = device_grid(grid, sizeof(T)),
        .fill = {static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0)), encoding.fill_bits.has_value()},
        .tables = tables_of(layout, const_cast<std::byte*>(payloads[i].data())),
        .data = nullptr,
        .words = (payloads[i].size() - layout.data) / 4,
        .chunk_sums = own.sums + i * layout.chunks,
        .sums = nullptr,
        .fault = own.fault};
  call.of_ctas = own.of_ctas;
  call.left = own.left;
  return call;
}

// What CTAs have counted, joined, and the marks of what they have left.
template <class T, class Counter>
Result<Reduced<typename Counter::Counted>> fetch(const ReduceScratch<T, Counter>& own, const Layout& layout,
                                                 unsigned ctas, std::span<const ConstBytes> payloads,
                                                 CUstream_st* stream) {
  Reduced<typename Counter::Counted> reduced{};
  std::vector<CountedByCta<typename Counter::Counted>> of_ctas(ctas);
  u32 fault = 0;
  HOMZ_TRY(gpu::copy(bytes_of(own.of_ctas, ctas), bytes_of(of_ctas.data(), ctas), stream));
  HOMZ_TRY(gpu::copy(bytes_of(own.fault, 1), bytes_of(&fault, 1), stream));
  for (std::size_t i = 0; i < payloads.size(); ++i)
    HOMZ_TRY(gpu::copy(payloads[i].first(sizeof(double)), bytes_of(&reduced.steps[i], 1), stream));
  HOMZ_TRY(gpu::wait(stream));
  if (fault != 0) return Status(static_cast<Code>(fault), "damaged payload of homcomp");
  std::uint64_t left = 0;
  for (const auto& each : of_ctas) reduced.counted.join(each.counted), left += each.left;
  if (left == 0) return Result<decltype(reduced)>(std::move(reduced));
  HOMZ_ASSIGN(reduced.left, Buffer::make(layout.chunks));
  HOMZ_TRY(gpu::copy(Bytes(own.left, layout.chunks), reduced.left.bytes(), stream));
  HOMZ_TRY(gpu::wait(stream));
  return Result<decltype(reduced)>(std::move(reduced));
}

template <class T, bool kFlat, class Counter>
Result<Reduced<typename Counter::Counted>> reduce_as(const Encoding& encoding, const Plan& plan,
                                                     std::span<const ConstBytes> payloads,
                                                     CUstream_st* stream) {
  constexpr auto kKernel = reduce_chunks<T, kFlat, Counter>;
  constexpr std::size_t kShared = sizeof(ReduceRoom<T, Counter>);
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  for (const ConstBytes payload : payloads) HOMZ_TRY(check_operand(layout, payload));
  HOMZ_ASSIGN(const unsigned room, gpu::room_for<kKernel>(kThreads, kShared));
  const auto ctas = static_cast<unsigned>(std::min<std::uint64_t>(layout.chunks, room));
  Arena counting;
  static_cast<void>(ReduceScratch<T, Counter>(counting, layout, ctas));
  HOMZ_ASSIGN(const gpu::StreamMemory memory, gpu::StreamMemory::take(counting.needed(), stream));
  Arena arena(memory.bytes());
  const ReduceScratch<T, Counter> own(arena, layout, ctas);
  HOMZ_TRY(gpu::fill(bytes_of(own.of_ctas, ctas), std::byte{0}, stream));  // padding comes back, too
  const auto call = call_of<T, Counter>(encoding, grid, layout, payloads, own);
  HOMZ_TRY(gpu::launch({ctas, kThreads, stream, kShared, false}, kKernel, call));
  const auto groups = static_cast<unsigned>(ceil_div<std::uint64_t>(layout.groups, kWarps));
  for (const DecodeCall<T>& operand : call.operands)
    HOMZ_TRY(gpu::launch({1 + groups, kThreads, stream}, verify_decode<T>, operand));
  return fetch<T, Counter>(own, layout, ctas, payloads, stream);
}

template <class Counter>
Result<Reduced<typename Counter::Counted>> reduce(const Encoding& encoding, const Plan& plan,
                                                  std::span<const ConstBytes> payloads, Exec exec) {
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) {
    return reduce_as<decltype(zero), decltype(flat)::value, Counter>(encoding, plan, payloads, exec.stream);
  });
}

}  // namespace

Result<Reduced<QuantaTally>> count_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload,
                                             Exec exec) {
  return reduce<CountMoments>(encoding, plan, {&payload, 1}, exec);
}

Result<Reduced<QuantaProducts>> multiply_on_device(const Encoding& encoding, const Plan& plan,
                                                   const ConstBytes (&payloads)[2], Exec exec) {
  return reduce<CountProducts>(encoding, plan, payloads, exec);
}

}  // namespace homz::homcomp
