// The host's side of homcomp on the device: memory is carved, kernels are chosen and enqueued.
#include "codecs/homcomp/device.hpp"
#include "codecs/homcomp/device_decode_kernels.cuh"
#include "codecs/homcomp/device_encode_kernels.cuh"
#include "core/gpu/alignment.hpp"
#include "core/gpu/launch.cuh"

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

WordSums* carve_decode(Arena& arena, const Layout& layout) {
  return arena.take<WordSums>(layout.chunks);
}

Status check_alignment(ConstBytes data, Dtype dtype, ConstBytes payload) {
  HOMZ_TRY(gpu::check_data(data, dtype));
  return gpu::check_stream(payload);
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

template <class T, bool kFlat>
Status enqueue_encode(const EncodeCall<T>& call, cudaStream_t stream) {
  constexpr std::size_t kShared = sizeof(EncodeRoom<T>);
  HOMZ_ASSIGN(const unsigned room, (gpu::room_for<encode_chunks<T, kFlat>>(kThreads, kShared)));
  const unsigned ctas = std::min(call.grid.chunks + 1, room);  // one adds up sizes
  const auto groups = static_cast<unsigned>(call.tables.groups);
  HOMZ_TRY(gpu::launch({clearing_grid(call.grid.chunks), 1024, stream}, prepare_encode<T>, call));
  HOMZ_TRY(gpu::launch({ctas, kThreads, stream, kShared}, encode_chunks<T, kFlat>, call));
  return gpu::launch({ceil_div(groups, kWarps), kThreads, stream}, finish_encode<T>, call);
}

template <class T, bool kFlat>
Status enqueue_decode(const DecodeCall<T>& call, cudaStream_t stream) {
  constexpr std::size_t kShared = sizeof(DecodeRoom<T>);
  HOMZ_ASSIGN(const unsigned room, (gpu::room_for<decode_chunks<T, kFlat>>(kThreads, kShared)));
  const unsigned ctas = std::min(call.grid.chunks, room);
  const auto groups = static_cast<unsigned>(call.tables.groups);
  HOMZ_TRY(gpu::launch({ctas, kThreads, stream, kShared}, decode_chunks<T, kFlat>, call));
  if (call.fault == nullptr) return Status();
  return gpu::launch({1 + ceil_div(groups, kWarps), kThreads, stream}, verify_decode<T>, call);
}

template <class T>
Status encode_as(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload, Bytes scratch,
                 Encoded* encoded, cudaStream_t stream) {
  HOMZ_TRY(check_alignment(data, encoding.field.dtype, payload));
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  Arena arena(scratch);
  const Scratch own = carve_encode(arena, layout);
  const EncodeCall<T> call{device_grid(grid, sizeof(T)),
                           {encoding.abs_error, plan.step, plan.use_magnitude},
                           fill_of<T>(encoding),
                           reinterpret_cast<const T*>(data.data()),
                           tables_of(layout, payload.data()),
                           own.places,
                           own.chunk_sums,
                           own.call,
                           encoded,
                           data.size() / sizeof(T),
                           encoding.always_coded ? ~u64{0} : data.size()};
  return plan.dim == 1 ? enqueue_encode<T, true>(call, stream) : enqueue_encode<T, false>(call, stream);
}

template <class T>
Status decode_as(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data, Bytes scratch,
                 ChecksumState* sums, Exec exec) {
  HOMZ_TRY(check_alignment(data, encoding.field.dtype, payload));
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const Layout layout(grid.chunks());
  if (payload.size() < layout.data || (payload.size() - layout.data) % 4 != 0)
    return Status(Code::corrupt_stream, "damaged payload of homcomp: shorter than its tables");
  Arena arena(scratch);
  const DecodeCall<T> call{device_grid(grid, sizeof(T)),
                           fill_of<T>(encoding),
                           tables_of(layout, const_cast<std::byte*>(payload.data())),
                           reinterpret_cast<T*>(data.data()),
                           (payload.size() - layout.data) / 4,
                           carve_decode(arena, layout),
                           sums,
                           exec.fault};
  return plan.dim == 1 ? enqueue_decode<T, true>(call, exec.stream)
                       : enqueue_decode<T, false>(call, exec.stream);
}

}  // namespace

Result<Footprint> device_footprint(const Encoding& encoding, const Plan& plan) {
  HOMZ_ASSIGN(Footprint footprint, homcomp::footprint(encoding, plan, 1));
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

Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload,
                        Bytes scratch, Encoded* encoded, Exec exec) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return encode_as<decltype(zero)>(encoding, plan, data, payload, scratch, encoded, exec.stream);
  });
}

Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data,
                        Bytes scratch, ChecksumState* sums, Exec exec) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return decode_as<decltype(zero)>(encoding, plan, payload, data, scratch, sums, exec);
  });
}

}  // namespace homz::homcomp
