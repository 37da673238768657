// The host's side of sums on the device: memory is carved, kernels are chosen and enqueued.
#include <cuda_runtime.h>

#include <array>
#include <mutex>
#include <string>

#include "core/gpu/check.cuh"
#include "homomorphic/homcomp/device.hpp"
#include "homomorphic/homcomp/device_sum_kernels.cuh"

namespace homz::homcomp {
namespace {

using namespace device;

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

  SumScratch(Arena& arena, const Layout& layout, std::size_t count, unsigned ctas)
      : places(arena.take<u64>(layout.chunks)),
        sums_of_result(arena.take<WordSums>(layout.chunks)),
        sums_of_operands(arena.take<WordSums>(layout.chunks * count)),
        places_of_operands(arena.take<u64>(layout.chunks * count)),
        call(arena.take<CallState>(1)),
        state(arena.take<SumState<T>>(1)),
        operands(arena.take<SumOperand<T>>(count)),
        rooms(arena.take<ValueRoom<T>>(ctas)) {}
};

// What the current device has to offer to the kernel of the chunks.
struct Offer {
  unsigned ctas = 0;    // that it holds at once
  bool chains = false;  // whether a kernel may be launched while the one before it ends
};

template <class T, bool kFlat>
Result<Offer> ask_device() {
  int device = 0, processors = 0, of_processor = 0, major = 0;
  constexpr std::size_t kShared = sizeof(SumRoom<T>);
  const auto kernel = sum_chunks<T, kFlat>;
  HOMZ_TRY(gpu::status_of(cudaGetDevice(&device), "no device"));
  HOMZ_TRY(gpu::status_of(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                          "no device"));
  HOMZ_TRY(
      gpu::status_of(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "no device"));
  HOMZ_TRY(gpu::status_of(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
                          "no shared memory for sums"));
  HOMZ_TRY(
      gpu::status_of(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, kernel, kThreads, kShared),
                     "no kernel for sums"));
  if (of_processor == 0) return Status(Code::unsupported, "the device has no room for sums of homcomp");
  return Offer{static_cast<unsigned>(processors * of_processor), major >= 9};
}

// Asked once a device, since that takes longer than to launch a kernel.
template <class T, bool kFlat>
Result<Offer> offer() {
  constexpr int kDevices = 64;
  static std::array<std::once_flag, kDevices> asked;
  static std::array<Offer, kDevices> offers;
  int device = 0;
  HOMZ_TRY(gpu::status_of(cudaGetDevice(&device), "no device"));
  if (device >= kDevices) return ask_device<T, kFlat>();
  Status status;
  std::call_once(asked[device], [&] {
    const Result<Offer> own = ask_device<T, kFlat>();
    if (own.ok())
      offers[device] = *own;
    else
      static_cast<void>(status = own.status());
  });
  if (offers[device].ctas != 0) return offers[device];
  return status.ok() ? Status(Code::unsupported, "the device has no room for sums of homcomp") : status;
}

// With the types that a call needs.
template <class F>
auto with_types(Dtype dtype, const Plan& plan, F&& body) {
  return with_dtype(dtype, [&](auto zero) {
    return plan.dim == 1 ? body(zero, std::true_type()) : body(zero, std::false_type());
  });
}

template <class... Call>
Status launch(void (*kernel)(Call...), dim3 grid, unsigned threads, std::size_t shared, cudaStream_t stream,
              bool chained, const std::type_identity_t<Call>&... call) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = chained ? 1 : 0;
  return gpu::status_of(cudaLaunchKernelEx(&config, kernel, call...), "launching a kernel of sums");
}

unsigned ctas_of(const Layout& layout, const Offer& offer) {
  return static_cast<unsigned>(std::min<std::uint64_t>(layout.chunks + 1, offer.ctas));  // one adds up sizes
}

Status check_count(std::size_t operands) {
  if (operands <= kMostOperands) return Status();
  return Status(Code::unsupported, std::to_string(operands) + " streams at once: on a device it is " +
                                       std::to_string(kMostOperands) + " at most, add up sums");
}

Status check_operand(const Layout& layout, ConstBytes payload) {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0)
    return Status(Code::invalid_argument, "streams in device memory must be aligned to 8 bytes");
  if (payload.size() < layout.data || (payload.size() - layout.data) % 4 != 0)
    return Status(Code::corrupt_stream, "damaged payload of homcomp: shorter than its tables");
  return Status();
}

Tables tables_of(const Layout& layout, std::byte* payload) {
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
  call.count = static_cast<u32>(combination.factors.size());
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

template <class T, bool kFlat>
Status enqueue(const SumCall<T>& call, const SumSources<T>& sources, SumOperand<T>* operands,
               const Layout& layout, Combined* combined, Exec exec) {
  HOMZ_ASSIGN(const Offer offer, (homcomp::offer<T, kFlat>()));
  const auto groups = static_cast<unsigned>(ceil_div<std::uint64_t>(layout.groups, kWarps));
  const auto preparing = static_cast<unsigned>(std::clamp<std::uint64_t>(layout.groups * call.count / 32, 1, 264));
  HOMZ_TRY(launch(prepare_sum<T>, preparing, 1024, 0, exec.stream, false, call, sources, operands));
  HOMZ_TRY(launch(sum_chunks<T, kFlat>, ctas_of(layout, offer), kThreads, sizeof(SumRoom<T>), exec.stream,
                  offer.chains, call));
  HOMZ_TRY(launch(finish_encode<T>, groups, kThreads, 0, exec.stream, offer.chains, call.to));
  return launch(verify_sum<T>, dim3(1 + groups, call.count), kThreads, 0, exec.stream, offer.chains, call,
                combined, exec.fault);
}

}  // namespace

Result<Footprint> combine_footprint_on_device(const Encoding& encoding, const Plan& plan,
                                              std::size_t operands) {
  HOMZ_TRY(gpu::ready());
  HOMZ_TRY(check_count(operands));
  const Layout layout(Grid(encoding.field.without_unit_extents(), plan.dim).chunks());
  if (layout.chunks >> 31 != 0)
    return Status(Code::unsupported, "homcomp on the device: a field of more than 2^31 chunks");
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) -> Result<Footprint> {
    using T = decltype(zero);
    HOMZ_ASSIGN(const Offer offer, (homcomp::offer<T, decltype(flat)::value>()));
    Arena arena;
    SumScratch<T>(arena, layout, operands, ctas_of(layout, offer));
    return Footprint{0, layout.data + encoding.field.bytes(), arena.needed(), 0};
  });
}

Status combine_on_device(const Encoding& encoding, const Plan& plan, const Combination& combination,
                         std::span<const OpenStream> operands, Bytes payload, Bytes scratch,
                         Combined* combined, Exec exec) {
  HOMZ_TRY(check_count(operands.size()));
  return with_types(encoding.field.dtype, plan, [&](auto zero, auto flat) -> Status {
    using T = decltype(zero);
    const Grid grid(encoding.field.without_unit_extents(), plan.dim);
    const Layout layout(grid.chunks());
    HOMZ_ASSIGN(const Offer offer, (homcomp::offer<T, decltype(flat)::value>()));
    Arena arena(scratch);
    const SumScratch<T> own(arena, layout, operands.size(), ctas_of(layout, offer));
    HOMZ_ASSIGN(const SumSources<T> sources,
                sources_of<T>(layout, combination, operands, own.sums_of_operands));
    const SumCall<T> call = call_of<T>(encoding, grid, layout, combination, payload, own, combined);
    return enqueue<T, decltype(flat)::value>(call, sources, own.operands, layout, combined, exec);
  });
}

}  // namespace homz::homcomp
