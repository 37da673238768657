// Encoding on a GPU: the choice of the dimension, and the kernels in order.
#include "codecs/cuszp/device.hpp"
#include "codecs/cuszp/device_list.cuh"
#include "codecs/cuszp/device_tiles.cuh"
#include "codecs/cuszp/geometry.hpp"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {
namespace {

// How a dimension is sampled: block k step, for k < sampled; see Encoder::estimate on the host.
struct Sampling {
  std::uint64_t metadata = 0, blocks = 0, step = 1, sampled = 0;
};

struct Samplings {
  Sampling of[4];  // by dimension; none sampled: not open
};

inline constexpr unsigned kSamplers = 64;  // thread blocks a dimension

// Adds up the bytes of the sampled blocks of one dimension.
template <class T, unsigned kDim>
__device__ void sample(const Coding<T, kDim>& coding, const Sampling& sampling, RoundSpace& space,
                       std::uint64_t* sum) {
  constexpr unsigned kWords = Block<kDim>::kWords;
  const Lane lane;
  const std::uint64_t stride = std::uint64_t{kSamplers} * kTileWarps * 4 / kWords;
  const std::uint64_t first =
      (std::uint64_t{blockIdx.x % kSamplers} * kTileWarps + threadIdx.x / 32) * 4 / kWords;
  std::uint64_t bytes = 0;
  for (std::uint64_t base = first; base < sampling.sampled; base += stride) {
    const std::uint64_t k = base + lane.group / kWords;
    const bool real = k < sampling.sampled;
    const std::uint64_t group = (real ? k * sampling.step : 0) * kWords + lane.group % kWords;
    RoundValues<T> values;
    values.load(coding.data, elements_of_group(coding, lane, group));
    std::uint32_t residuals[4];
    Round<T, kDim>::code_again(coding, lane, values, residuals, space.quanta, space.residuals);
    const Shape shape = shape_of<kDim>(lane, RoundSizes(residuals, holds_first<kDim>(lane)), coding.mode);
    if (real && lane.column == 7 && lane.group % kWords == 0) bytes += shape.bytes(Block<kDim>::kPlaneBytes);
  }
  bytes = gpu::warp_sum(bytes);
  if (lane.id == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), bytes);
}

// The dimension whose blocks and metadata are expected to be smallest, the lowest among equals: by the
// operations of the host.
__device__ inline unsigned smallest(const Samplings& samplings, const std::uint64_t* sums) {
  unsigned best = 0;
  double least = 0;
  for (unsigned dim = 1; dim <= 3; ++dim) {
    const Sampling& s = samplings.of[dim];
    if (s.sampled == 0) continue;
    const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
    const double size = real(s.metadata) + real(sums[dim]) / real(s.sampled) * real(s.blocks);
    if (best != 0 && size >= least) continue;
    best = dim;
    least = size;
  }
  return best;
}

template <class T>
__global__ __launch_bounds__(kTileThreads) void choose_dim(Coding<T, 1> rows, Coding<T, 2> tiles,
                                                           Coding<T, 3> cubes, Samplings samplings,
                                                           EncodeState* state) {
  __shared__ RoundSpace spaces[kTileWarps];
  const unsigned dim = blockIdx.x / kSamplers + 1, warp = threadIdx.x / 32;
  gpu::let_next_start();
  gpu::wait_for_last();
  std::uint64_t* const sum = &state->sampled[dim];
  if (dim == 1) sample<T, 1>(rows, samplings.of[1], spaces[warp], sum);
  if (dim == 2) sample<T, 2>(tiles, samplings.of[2], spaces[warp], sum);
  if (dim == 3) sample<T, 3>(cubes, samplings.of[3], spaces[warp], sum);
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state->arrived, 1u) + 1 != gridDim.x) return;
  __threadfence();
  state->dim = smallest(samplings, state->sampled);
}

template <class T, unsigned kDim>
Coding<T, kDim> coding_of(const Encoding& encoding, const Plan& plan, ConstBytes data) {
  // Where twice a product may overflow, nothing is safe without a second look.
  constexpr double kSafe = sizeof(T) == 4 ? 0x1p100 : 0x1p960;
  Coding<T, kDim> coding{reinterpret_cast<const T*>(data.data()),
                         {},
                         Quantiser<T>(half_step(encoding, plan)),
                         encoding.abs_error,
                         encoding.abs_error < kSafe ? largest_not_above<T>(encoding.abs_error) : T(0),
                         encoding.fill_bits.has_value(),
                         static_cast<BitsOf<T>>(encoding.fill_bits.value_or(0)),
                         plan.mode,
                         plan.v1};
  const Field field = encoding.field.without_unit_extents();
  if constexpr (kDim == 1)
    coding.layout = Line(field.count(), !plan.v1);
  else
    coding.layout = tiles_of<kDim>(field);
  return coding;
}

template <class Layout>
Sampling sampling_of(const Layout& layout) {
  constexpr std::uint64_t kSample = 1024;
  const std::uint64_t step = layout.blocks() / kSample | 1;
  return {layout.metadata_bytes(), layout.blocks(), step, ceil_div(layout.blocks(), step)};
}

template <class T>
Status enqueue_choice(const Encoding& encoding, const Plan& plan, const Dims& dims, ConstBytes data,
                      EncodeState* state, cudaStream_t stream) {
  const auto rows = coding_of<T, 1>(encoding, plan, data);
  const auto tiles = coding_of<T, 2>(encoding, plan, data);
  const auto cubes = coding_of<T, 3>(encoding, plan, data);
  Samplings samplings;
  samplings.of[1] = sampling_of(rows.layout);
  samplings.of[2] = sampling_of(tiles.layout);
  if (dims.last == 3) samplings.of[3] = sampling_of(cubes.layout);
  return gpu::launch({3 * kSamplers, kTileThreads, stream}, choose_dim<T>, rows, tiles, cubes, samplings,
                     state);
}

TileSpace carve(Arena& arena, std::uint64_t tiles, std::uint64_t* zeros) {
  TileSpace space;
  space.state = arena.take<EncodeState>(1);
  space.places = arena.take<std::uint64_t>(tiles);
  *zeros = arena.used();
  space.records = arena.take<TileRecord>(tiles);
  space.marked = arena.take<std::uint32_t>(tiles * kTileWarps);
  return space;
}

template <class T, unsigned kDim, bool kAligned>
Status enqueue_tiles(const EncodeTask<T, kDim>& task, cudaStream_t stream) {
  constexpr std::size_t kShared = sizeof(EncodeRoom<T, kDim, kAligned>);
  HOMZ_ASSIGN(const unsigned room, (gpu::room_for<encode_tiles<T, kDim, kAligned>>(kTileThreads, kShared)));
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(task.tiles() + 1, room));
  return gpu::launch({blocks, kTileThreads, stream, kShared}, encode_tiles<T, kDim, kAligned>, task);
}

template <class T, unsigned kDim>
Status enqueue(const EncodeTask<T, kDim>& task, cudaStream_t stream) {
  const bool aligned = task.coding.mode != Mode::outlier && task.coding.layout.metadata_bytes() % 4 == 0;
  HOMZ_TRY(aligned ? (enqueue_tiles<T, kDim, true>(task, stream))
                   : (enqueue_tiles<T, kDim, false>(task, stream)));
  const std::uint64_t segments = ceil_div<std::uint64_t>(task.coding.layout.positions(), kExceptionSegment);
  return gpu::launch({gpu::grid_of(segments, 2), kTileThreads, stream}, list_exceptions<T, kDim>, task);
}

}  // namespace

void size_encode_scratch(const Field& field, const Plan& plan, Footprint& needs) {
  Arena arena;
  carve(arena, most_tiles(field, plan), &needs.encode_zeros);
  needs.encode_scratch = arena.needed();
}

Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload,
                        Bytes scratch, Encoded* encoded, Exec exec) {
  Arena arena(scratch);
  std::uint64_t zeros = 0;
  const TileSpace space = carve(arena, most_tiles(encoding.field, plan), &zeros);
  const Dims dims(encoding.field, plan);
  const bool chosen = dims.first != dims.last;
  if (chosen)
    HOMZ_TRY(with_dtype(encoding.field.dtype, [&](auto zero) {
      return enqueue_choice<decltype(zero)>(encoding, plan, dims, data, space.state, exec.stream);
    }));
  for (unsigned dim = dims.first; dim <= dims.last; ++dim)
    HOMZ_TRY(with_layout(encoding.field, plan, dim, [&](const auto& layout, auto zero) {
      using T = decltype(zero);
      constexpr unsigned kDim = std::decay_t<decltype(layout)>::kDim;
      const std::uint64_t limit = plan.never_stored ? payload.size() : data.size();
      // Chosen all the same, it would leave *encoded as it is: incompressible.
      if (layout.metadata_bytes() + Trailer::kBytes > limit) return Status();
      return enqueue(EncodeTask<T, kDim>{coding_of<T, kDim>(encoding, plan, data), space, payload.data(),
                                         limit, encoded, chosen},
                     exec.stream);
    }));
  return Status();
}

}  // namespace homz::cuszp
