// Decoding on a GPU: the kernels in order.
#include "codecs/cuszp/device.hpp"
#include "codecs/cuszp/device_decode.cuh"
#include "codecs/cuszp/geometry.hpp"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {
namespace {

struct DecodeSpace {
  DecodeState* state;
  TilePlaces places;

  DecodeSpace(Arena& arena, std::uint64_t tiles) : state(arena.take<DecodeState>(1)) {
    places.in_part = arena.take<std::uint32_t>(tiles);
    places.parts = arena.take<std::uint64_t>(ceil_div<std::uint64_t>(tiles, kPartTiles<1>));
  }
};

template <class T, unsigned kDim, bool kAligned>
Status enqueue_tiles(const DecodeTask<T, kDim>& task, cudaStream_t stream) {
  constexpr std::size_t kShared = 4 * kDecodeWords<T, kDim>;
  HOMZ_TRY((gpu::room_for<decode_tiles<T, kDim, kAligned>>(kTileThreads, kShared)).status());
  return gpu::launch({static_cast<unsigned>(task.tiles()), kTileThreads, stream, kShared},
                     decode_tiles<T, kDim, kAligned>, task);
}

template <class T, unsigned kDim>
Status enqueue(const DecodeTask<T, kDim>& task, bool aligned, cudaStream_t stream) {
  const std::uint64_t measured = std::max(task.layout.metadata_bytes(), task.parts() * kMeasured);
  HOMZ_TRY(
      gpu::launch({static_cast<unsigned>(ceil_div<std::uint64_t>(measured, kMeasured)), kThreads, stream},
                  measure_tiles<T, kDim>, task));
  HOMZ_TRY(aligned ? (enqueue_tiles<T, kDim, true>(task, stream))
                   : (enqueue_tiles<T, kDim, false>(task, stream)));
  const std::uint64_t segments = ceil_div<std::uint64_t>(task.layout.positions(), kExceptionSegment);
  return gpu::launch({gpu::grid_of(segments, 2), kThreads, stream}, patch<T, kDim>, task);
}

}  // namespace

void size_scratch_on_device(const Field& field, const Plan& plan, Footprint& needs) {
  size_encode_scratch(field, plan, needs);
  Arena arena;
  DecodeSpace(arena, most_tiles(field, plan));
  needs.decode_scratch = arena.needed();
  needs.decode_zeros = sizeof(DecodeState);
}

Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data,
                        Bytes scratch, ChecksumState* sums, Exec exec) {
  if (payload.size() < Trailer::kBytes)
    return Status(Code::corrupt_stream, "damaged payload of cuSZp blocks: shorter than its trailer");
  Arena arena(scratch);
  const DecodeSpace space(arena, most_tiles(encoding.field, plan));
  const Dims range(encoding.field, plan);
  unsigned dims = 0;
  for (unsigned dim = range.first; dim <= range.last; ++dim) {
    const std::uint64_t least =
        Trailer::kBytes + with_layout(encoding.field, plan, dim,
                                      [](const auto& layout, auto) { return layout.metadata_bytes(); });
    if (payload.size() >= least) dims |= 1u << dim;
  }
  if (dims == 0)
    return Status(Code::corrupt_stream, "damaged payload of cuSZp blocks: shorter than its metadata");
  for (unsigned dim = range.first; dim <= range.last; ++dim) {
    if ((dims >> dim & 1) == 0) continue;
    HOMZ_TRY(with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
      using T = decltype(zero);
      constexpr unsigned kDim = std::decay_t<decltype(layout)>::kDim;
      const bool aligned = plan.mode != Mode::outlier && layout.metadata_bytes() % 4 == 0;
      const DecodeTask<T, kDim> task{layout,
                                     Quantiser<T>(half_step(encoding, plan)),
                                     plan.mode,
                                     payload.data(),
                                     payload.size(),
                                     reinterpret_cast<BitsOf<T>*>(data.data()),
                                     encoding.fill_bits.has_value(),
                                     static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0)),
                                     dims,
                                     (dims & ((1u << dim) - 1)) == 0,
                                     space.state,
                                     space.places,
                                     sums,
                                     exec.fault};
      return enqueue(task, aligned, exec.stream);
    }));
  }
  return Status();
}

}  // namespace homz::cuszp
