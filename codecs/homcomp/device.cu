// The host's side of homcomp on the device: memory is carved, kernels are chosen and enqueued.
#include "codecs/homcomp/device.hpp"

#include <cuda_runtime.h>

#include "codecs/homcomp/device_decode_kernels.cuh"
#include "codecs/homcomp/device_encode_kernels.cuh"

namespace homz::homcomp {
namespace {

using namespace device;

struct Scratch {
  u64* places;
  WordSums* chunk_sums;
  CallState* call;
};

Scratch carve_encode(Arena& arena, const Layout& layout) {
  Scratch scratch;
  scratch.places = arena.take<u64>(layout.chunks);
  scratch.chunk_sums = arena.take<WordSums>(layout.chunks);
  scratch.call = arena.take<CallState>(1);
  return scratch;
}

WordSums* carve_decode(Arena& arena, const Layout& layout) { return arena.take<WordSums>(layout.chunks); }

Status check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status();
  return Status(Code::internal, std::string("homcomp on the device: ") + what + ": " + cudaGetErrorString(error));
}

Status check_alignment(const void* data, std::size_t value_bytes, const void* payload) {
  if (reinterpret_cast<std::uintptr_t>(data) % value_bytes == 0 && reinterpret_cast<std::uintptr_t>(payload) % 8 == 0)
    return Status();
  return Status(Code::invalid_argument,
                "homcomp on the device: data must be aligned to its values, and the payload to 8 bytes");
}

// How a kernel is launched whose CTAs loop over chunks: as many as the device holds at once.
template <class Kernel>
Status persistent_grid(Kernel kernel, u32 most, std::size_t shared, unsigned& grid) {
  int device = 0, processors = 0, of_processor = 0;
  HOMZ_TRY(check(cudaGetDevice(&device), "no device"));
  HOMZ_TRY(check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "no device"));
  HOMZ_TRY(check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
                 "no shared memory"));
  HOMZ_TRY(check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, kernel, kThreads, shared), "no kernel"));
  grid = std::min(most, static_cast<u32>(processors * of_processor));
  return Status();
}

unsigned clearing_grid(std::uint64_t items) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(items / 4096, 1, 256));
}

template <class T>
FillValue<T> fill_of(const Encoding& encoding) {
  return {static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0)), encoding.fill_bits.has_value()};
}

Tables tables_of(const Layout& layout, std::byte* payload) {
  return {payload, layout.groups, layout.chunks, layout.sizes, layout.data};
}

template <class T>
Status encode_as(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload, Bytes scratch,
                 Encoded* encoded, cudaStream_t stream) {
  HOMZ_TRY(check_alignment(data.data(), sizeof(T), payload.data()));
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  Arena arena(scratch);
  const Scratch own = carve_encode(arena, layout);
  const EncodeCall<T> call{device_grid(grid),
                           {encoding.abs_error, plan.step, plan.use_magnitude},
                           fill_of<T>(encoding),
                           reinterpret_cast<const T*>(data.data()),
                           tables_of(layout, payload.data()),
                           own.places,
                           own.chunk_sums,
                           own.call,
                           encoded,
                           data.size() / sizeof(T)};
  const auto kernel = plan.dim == 1 ? encode_chunks<T, true> : encode_chunks<T, false>;
  unsigned ctas = 0;
  constexpr std::size_t kShared = sizeof(EncodeRoom<T>);
  HOMZ_TRY(persistent_grid(kernel, call.grid.chunks + 1, kShared, ctas));  // one adds up sizes
  prepare_encode<T><<<clearing_grid(layout.chunks), 1024, 0, stream>>>(call);
  kernel<<<ctas, kThreads, kShared, stream>>>(call);
  finish_encode<T><<<ceil_div<unsigned>(layout.groups, kWarps), kThreads, 0, stream>>>(call);
  return check(cudaGetLastError(), "encoding");
}

template <class T>
Status decode_as(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data, Bytes scratch, Exec exec) {
  HOMZ_TRY(check_alignment(data.data(), sizeof(T), payload.data()));
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  if (payload.size() < layout.data || (payload.size() - layout.data) % 4 != 0)
    return Status(Code::corrupt_stream, "damaged payload of homcomp: shorter than its tables");
  Arena arena(scratch);
  const DecodeCall<T> call{device_grid(grid),
                           fill_of<T>(encoding),
                           tables_of(layout, const_cast<std::byte*>(payload.data())),
                           reinterpret_cast<T*>(data.data()),
                           (payload.size() - layout.data) / 4,
                           carve_decode(arena, layout),
                           exec.fault};
  const auto kernel = plan.dim == 1 ? decode_chunks<T, true> : decode_chunks<T, false>;
  constexpr std::size_t kShared = sizeof(DecodeRoom<T>);
  unsigned ctas = 0;
  HOMZ_TRY(persistent_grid(kernel, call.grid.chunks, kShared, ctas));
  kernel<<<ctas, kThreads, kShared, exec.stream>>>(call);
  if (exec.fault != nullptr)
    verify_decode<T><<<1 + ceil_div<unsigned>(layout.groups, kWarps), kThreads, 0, exec.stream>>>(call);
  return check(cudaGetLastError(), "decoding");
}

}  // namespace

Result<Footprint> device_footprint(const Encoding& encoding, const Plan& plan) {
  HOMZ_ASSIGN(Footprint footprint, homcomp::footprint(encoding, plan));
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  if (layout.chunks >> 31 != 0)
    return Status(Code::unsupported, "homcomp on the device: a field of more than 2^31 chunks");
  Arena of_encode, of_decode;
  carve_encode(of_encode, layout);
  carve_decode(of_decode, layout);
  footprint.encode_scratch = of_encode.needed();
  footprint.decode_scratch = of_decode.needed();
  return footprint;
}

Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload, Bytes scratch,
                        Encoded* encoded, Exec exec) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return encode_as<decltype(zero)>(encoding, plan, data, payload, scratch, encoded, exec.stream);
  });
}

Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data, Bytes scratch,
                        Exec exec) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return decode_as<decltype(zero)>(encoding, plan, payload, data, scratch, exec);
  });
}

}  // namespace homz::homcomp
