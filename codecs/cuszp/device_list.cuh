// The kernel that ends an encoding: exception list, trailer, size and sums. Blocks with exceptions are coded
// once more; where there are none, one thread has all to do.
#pragma once

#include "codecs/cuszp/device_encode.cuh"
#include "codecs/cuszp/trailer.hpp"
#include "core/exceptions.hpp"
#include "core/gpu/block.cuh"
#include "core/gpu/launch.cuh"

namespace homz::cuszp {

inline constexpr unsigned kSegmentTiles = kExceptionSegment / kTile;

// The exceptions of a tile; a run that goes on from the tile before it in the segment is that one's.
__device__ inline ExceptionCounts counts_of(const TileRecord* records, std::uint64_t tile) {
  const TileRecord is = records[tile];
  ExceptionCounts counts{is.fill_runs(), is.exact_runs(), is.values()};
  if (tile % kSegmentTiles == 0 || is.bits == 0) return counts;
  const TileRecord before = records[tile - 1];
  counts.fill_runs -= is.flag(TileRecord::kFillFirst) && before.flag(TileRecord::kFillLast);
  counts.exact_runs -= is.flag(TileRecord::kExactFirst) && before.flag(TileRecord::kExactLast);
  return counts;
}

__device__ inline ExceptionCounts sum_tiles(const TileRecord* records, std::uint64_t first,
                                            std::uint64_t end) {
  ExceptionCounts mine;
#pragma unroll 4
  for (std::uint64_t t = first + threadIdx.x; t < end; t += kTileThreads) mine += counts_of(records, t);
  return {gpu::block_sum(mine.fill_runs), gpu::block_sum(mine.exact_runs), gpu::block_sum(mine.exact_values)};
}

// Bytes of the list as they are written, and their sums.
struct ListWriter {
  std::byte* payload;
  ChecksumState sums;

  __device__ void put_word(std::uint64_t offset, std::uint32_t value) {
    gpu::store_word(payload + offset, value);
    gpu::add_at(sums, offset, value);
  }
  __device__ void put_half(std::uint64_t offset, std::uint32_t value) {
    gpu::store_bytes(payload + offset, value, 2);
    gpu::add_at(sums, offset, value);
  }
};

// Writes the runs of one kind, a warp's groups at a time.
class RunWriter {
 public:
  // `at`: payload offset of the runs; `before`: runs that begin earlier; `open`: the position before the tile
  // is in a run of the same segment.
  __device__ RunWriter(std::uint64_t at, std::uint64_t before, std::uint32_t first_position, bool open)
      : at_(at), begun_(before), base_(first_position), open_(open) {}

  // `group`: of the tile; ~0 for groups without meaning, which follow those that have one.
  __device__ void write(const Lane& lane, std::uint32_t group, std::uint32_t bits, ListWriter& writer) {
    const bool real = group != ~0u;
    const std::uint32_t group_before = __shfl_up_sync(~0u, group, 8);
    const std::uint32_t open_before = __shfl_up_sync(~0u, bits >> 31, 8);
    const std::uint32_t previous = lane.group == 0 ? last_group_ : group_before;
    const bool open = lane.group == 0 ? open_ : open_before != 0;
    const bool continues = open && previous + 1 == group && (bits & 1) != 0;
    const std::uint32_t starts = real ? bits & ~(bits << 1 | std::uint32_t{continues}) : 0;
    const std::uint32_t ends = bits & ~(bits >> 1) & ~kTopBit;
    std::uint64_t begun = begun_;  // before this group
    std::uint32_t all = 0;
    for (unsigned g = 0; g < 4; ++g) {
      const auto many = static_cast<std::uint32_t>(__popc(__shfl_sync(~0u, starts, 8 * g)));
      begun += g < lane.group ? many : 0;
      all += many;
    }
    if (real && open && !continues && lane.column == 7) end_run(begun - 1, 32 * previous + 31, writer);
    for (unsigned c = 0; c < 4 && real; ++c) {
      const unsigned p = 8 * c + lane.column;
      const std::uint32_t upto = (2u << p) - 1;
      const std::uint64_t run = begun + __popc(starts & upto) - 1;
      if ((starts >> p & 1) != 0) writer.put_half(at_ + 4 * run, (base_ + 32 * group + p) & 0xffff);
      if ((ends >> p & 1) != 0) end_run(run, 32 * group + p, writer);
    }
    begun_ += all;
    const unsigned reals = __ballot_sync(~0u, real);
    const unsigned last = 8 * (static_cast<unsigned>(__popc(reals)) / 8 - 1);
    last_group_ = __shfl_sync(~0u, group, last);
    open_ = __shfl_sync(~0u, bits >> 31, last) != 0;
  }
  // `goes_on`: the tile behind it in the segment begins with a run.
  __device__ void finish(const Lane& lane, bool goes_on, ListWriter& writer) {
    if (open_ && lane.id == 0 && !(goes_on && last_group_ == kTileGroups - 1))
      end_run(begun_ - 1, 32 * last_group_ + 31, writer);
  }

 private:
  __device__ void end_run(std::uint64_t run, std::uint32_t position, ListWriter& writer) const {
    writer.put_half(at_ + 4 * run + 2, (base_ + position) & 0xffff);
  }

  std::uint64_t at_, begun_;
  std::uint32_t base_;
  bool open_;
  std::uint32_t last_group_ = ~0u;  // group 0 follows it
};

// The groups of a tile that have exceptions, a round after another. A block's groups come together.
template <unsigned kDim>
class MarkedGroups {
 public:
  // `marks`: a bit a group; `order`: shared by the warp, for as many groups as a tile has.
  __device__ MarkedGroups(const std::uint32_t* marks, std::uint8_t* order, const Lane& lane) : order_(order) {
    const std::uint32_t own = lane.id < kTileWarps ? marks[lane.id] : 0;
    __syncwarp();
    for (unsigned w = 0; w < kTileWarps; ++w) {
      std::uint32_t word = __shfl_sync(~0u, own, w);
      if (kDim != 1) word = (word | word >> 1) & 0x55555555u;
      const std::uint32_t before = word & ((1u << lane.id) - 1);
      if ((word >> lane.id & 1) != 0)
        order[blocks_ + __popc(before)] = static_cast<std::uint8_t>(32 * w + lane.id);
      blocks_ += static_cast<unsigned>(__popc(word));
    }
    __syncwarp();
  }

  __device__ unsigned rounds() const { return (blocks_ + kARound - 1) / kARound; }
  // The group of the tile that this lane gets, ~0 if there is none for it.
  __device__ std::uint32_t group(const Lane& lane, unsigned round) const {
    const unsigned block = kARound * round + lane.group / kWords;
    return block < blocks_ ? order_[block] + (kDim == 1 ? 0 : lane.group % 2) : ~0u;
  }

 private:
  static constexpr unsigned kWords = Block<kDim>::kWords, kARound = 4 / kWords;
  const std::uint8_t* order_;  // the first groups of blocks
  unsigned blocks_ = 0;
};
static_assert(kTileGroups <= 256);  // numbers of a byte

template <class T, unsigned kDim>
__device__ Elements elements_of_group(const Coding<T, kDim>& coding, const Lane& lane, std::uint64_t group) {
  if constexpr (kDim == 1)
    return elements_of(lane, coding.layout, group);
  else
    return elements_of(lane, coding.layout, GroupPlace<kDim>(coding.layout, group / 2));
}

struct RoundSpace {
  std::uint32_t quanta[4 * kGroup], residuals[4 * kGroup];
  std::uint8_t order[kTileGroups];
};

// Where the parts of a list begin in the payload.
struct ListOffsets {
  std::uint64_t rows, fills, exacts, values;
};

template <class T, unsigned kDim>
__device__ void list_tile(const EncodeTask<T, kDim>& task, std::uint64_t tile, const ListOffsets& at,
                          const ExceptionCounts& before, RoundSpace& space, ListWriter& writer) {
  const TileRecord* const records = task.space.records;
  const TileRecord own = records[tile];
  if (own.bits == 0) return;
  const bool any_fill = own.fill_runs() != 0, any_exact = own.exact_runs() != 0;
  const Lane lane;
  const bool follows = tile % kSegmentTiles != 0;
  const bool leads = (tile + 1) % kSegmentTiles != 0 && tile + 1 < task.tiles();
  const TileRecord earlier = follows ? records[tile - 1] : TileRecord();
  const TileRecord later = leads ? records[tile + 1] : TileRecord();
  const auto base = static_cast<std::uint32_t>(tile % kSegmentTiles) * kTile;
  // A run that is open at the start is ended here unless it goes on; the tile before leaves that to us only
  // if our first position continues it, so it counts as open in that case alone.
  const auto open = [&](unsigned last, unsigned first) { return earlier.flag(last) && own.flag(first); };
  RunWriter fills(at.fills, before.fill_runs, base, open(TileRecord::kFillLast, TileRecord::kFillFirst));
  RunWriter exacts(at.exacts, before.exact_runs, base, open(TileRecord::kExactLast, TileRecord::kExactFirst));
  std::uint64_t value = at.values + sizeof(T) * before.exact_values;

  const MarkedGroups<kDim> groups(task.space.marked + tile * kTileWarps, space.order, lane);
  const auto load = [&](std::uint32_t group, RoundValues<T>& values) {
    values.load(task.coding.data,
                elements_of_group(task.coding, lane, tile * kTileGroups + (group == ~0u ? 0 : group)));
  };
  using Coder = Round<T, kDim>;
  std::uint32_t next = groups.group(lane, 0);
  RoundValues<T> ahead;
  load(next, ahead);
  for (unsigned round = 0; round < groups.rounds(); ++round) {
    const RoundValues<T> values = ahead;
    const std::uint32_t group = next;
    next = groups.group(lane, round + 1);
    if (round + 1 < groups.rounds()) load(next, ahead);
    typename Coder::Exceptions found;
    std::uint32_t residuals[4];
    if (any_exact)
      found = Coder::code_again(task.coding, lane, values, residuals, space.quanta, space.residuals);
    else
      found.fill = Coder::find_fill(task.coding, lane, values);
    if (any_fill) fills.write(lane, group, group == ~0u ? 0 : found.fill, writer);
    if (!any_exact) continue;
    const std::uint32_t exact = group == ~0u ? 0 : found.exact;
    exacts.write(lane, group, exact, writer);
    std::uint32_t many = 0, earlier_values = 0;
    for (unsigned g = 0; g < 4; ++g) {
      const auto n = static_cast<std::uint32_t>(__popc(__shfl_sync(~0u, exact, 8 * g)));
      earlier_values += g < lane.group ? n : 0;
      many += n;
    }
    for (unsigned c = 0; c < 4; ++c) {
      if (!bit_of(lane, exact, c)) continue;
      const std::uint32_t below = exact & ((1u << (8 * c + lane.column)) - 1);
      const std::uint64_t offset = value + sizeof(T) * (earlier_values + __popc(below));
      const auto bits = bits_of(values.values[c]);
      for (unsigned half = 0; half < sizeof(T) / 4; ++half)
        writer.put_word(offset + 4 * half, static_cast<std::uint32_t>(std::uint64_t{bits} >> 32 * half));
    }
    value += sizeof(T) * many;
  }
  fills.finish(lane, later.flag(TileRecord::kFillFirst), writer);
  exacts.finish(lane, later.flag(TileRecord::kExactFirst), writer);
}

// By one thread, when all else is written.
template <class T, unsigned kDim>
__device__ void conclude(const EncodeTask<T, kDim>& task, std::uint64_t upstream, std::uint64_t list) {
  const std::uint64_t end = upstream + list;
  if (end + Trailer::kBytes > task.limit) return;  // *encoded says kIncompressible
  ListWriter writer{task.payload, {}};
  const std::uint64_t trailer = Trailer{kDim, upstream}.word();
  writer.put_word(end, static_cast<std::uint32_t>(trailer));
  writer.put_word(end + 4, static_cast<std::uint32_t>(trailer >> 32));
  for (const EncodeState::Slot& slot : task.space.state->slots) writer.sums.join(slot.sums, 0);
  task.encoded->sums = writer.sums;
  task.encoded->bytes = end + Trailer::kBytes;
}

template <class T, unsigned kDim>
__global__ __launch_bounds__(kTileThreads) void list_exceptions(
    const __grid_constant__ EncodeTask<T, kDim> task) {
  __shared__ RoundSpace spaces[kTileWarps];
  gpu::let_next_start();
  gpu::wait_for_last();
  if (!task.applies()) return;
  EncodeState& state = *task.space.state;
  const std::uint64_t tiles = task.tiles(), positions = task.coding.layout.positions();
  const std::uint64_t upstream = task.coding.layout.metadata_bytes() + state.coded;
  if (state.has_exceptions == 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) conclude(task, upstream, 0);
    return;
  }
  const std::uint64_t segments = ceil_div<std::uint64_t>(positions, kExceptionSegment);
  const std::uint64_t share = ceil_div<std::uint64_t>(segments, gridDim.x);
  const std::uint64_t begin = share * blockIdx.x < segments ? share * blockIdx.x : segments;
  const std::uint64_t end = begin + share < segments ? begin + share : segments;
  const std::uint64_t first_tile = begin * kSegmentTiles < tiles ? begin * kSegmentTiles : tiles;
  ExceptionCounts before = sum_tiles(task.space.records, 0, first_tile);
  ExceptionCounts total = before;
  total += sum_tiles(task.space.records, first_tile, tiles);
  const std::uint64_t list = exception_bytes(positions, total, sizeof(T));
  ListWriter writer{task.payload, {}};
  if (upstream + list + Trailer::kBytes <= task.limit) {
    ListOffsets at{upstream, upstream + kExceptionRow * segments, 0, 0};
    at.exacts = at.fills + 4 * total.fill_runs;
    at.values = at.exacts + 4 * total.exact_runs;
    const unsigned warp = threadIdx.x / 32;
    for (std::uint64_t s = begin; s < end; ++s) {
      ExceptionCounts own, in_segment;
      for (unsigned w = 0; w < kSegmentTiles && s * kSegmentTiles + w < tiles; ++w) {
        if (w == warp) own = in_segment;
        in_segment += counts_of(task.space.records, s * kSegmentTiles + w);
      }
      if (threadIdx.x < 3)
        writer.put_word(at.rows + kExceptionRow * s + 4 * threadIdx.x,
                        static_cast<std::uint32_t>(threadIdx.x == 0   ? in_segment.fill_runs
                                                   : threadIdx.x == 1 ? in_segment.exact_runs
                                                                      : in_segment.exact_values));
      own += before;
      const std::uint64_t tile = s * kSegmentTiles + warp;
      if (tile < tiles) list_tile(task, tile, at, own, spaces[warp], writer);
      before += in_segment;
    }
  }
  gpu::add_from_block(&state.slots[blockIdx.x % EncodeState::kSlots].sums, writer.sums);
  if (gpu::is_last_block(&state.listed) && threadIdx.x == 0) conclude(task, upstream, list);
}

}  // namespace homz::cuszp
