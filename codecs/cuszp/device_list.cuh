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
  for (std::uint64_t t = first + threadIdx.x; t < end; t += kTileThreads) mine += counts_of(records, t);
  return {gpu::block_sum(mine.fill_runs), gpu::block_sum(mine.exact_runs), gpu::block_sum(mine.exact_values)};
}

// Bytes of the list as they are written, and their sums.
struct ListWriter {
  std::byte* payload;
  ChecksumState sums;

  __device__ void put(std::uint64_t offset, std::uint32_t value, unsigned bytes) {
    gpu::store_bytes(payload + offset, value, bytes);
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
      if ((starts >> p & 1) != 0) writer.put(at_ + 4 * run, (base_ + 32 * group + p) & 0xffff, 2);
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
    writer.put(at_ + 4 * run + 2, (base_ + position) & 0xffff, 2);
  }

  std::uint64_t at_, begun_;
  std::uint32_t base_;
  bool open_;
  std::uint32_t last_group_ = ~0u;  // group 0 follows it
};

// The next blocks of a tile with exceptions, as many as a round takes.
template <unsigned kDim>
class MarkedGroups {
 public:
  __device__ explicit MarkedGroups(const std::uint32_t* marks) : marks_(marks) { take_word(); }

  // The group of the tile that this lane gets, ~0 if there are no more; false if no lane gets one.
  __device__ bool next(const Lane& lane, std::uint32_t& group) {
    group = ~0u;
    while (left_ == 0 && word_ + 1 < kTileWarps) {
      ++word_;
      take_word();
    }
    if (left_ == 0) return false;
    constexpr unsigned kWords = Block<kDim>::kWords;
    for (unsigned b = 0; b < 4 / kWords && left_ != 0; ++b, left_ &= left_ - 1) {
      const std::uint32_t first = 32 * word_ + static_cast<std::uint32_t>(__ffs(static_cast<int>(left_))) - 1;
      if (lane.group / kWords == b) group = first + (kDim == 1 ? 0 : lane.group % 2);
    }
    return true;
  }

 private:
  __device__ void take_word() {
    left_ = marks_[word_];
    if (kDim != 1) left_ = (left_ | left_ >> 1) & 0x55555555u;
  }

  const std::uint32_t* marks_;
  unsigned word_ = 0;
  std::uint32_t left_ = 0;
};

template <class T, unsigned kDim>
__device__ Elements elements_of_group(const Coding<T, kDim>& coding, const Lane& lane, std::uint64_t group) {
  if constexpr (kDim == 1)
    return elements_of(lane, coding.layout, group);
  else
    return elements_of(lane, coding.layout, GroupPlace<kDim>(coding.layout, group / 2));
}

struct RoundSpace {
  std::uint32_t quanta[4 * kGroup], residuals[4 * kGroup];
};

// Where the parts of a list begin in the payload.
struct ListOffsets {
  std::uint64_t rows, fills, exacts, values;
};

template <class T, unsigned kDim>
__device__ void list_tile(const EncodeTask<T, kDim>& task, std::uint64_t tile, const ListOffsets& at,
                          const ExceptionCounts& before, RoundSpace& space, ListWriter& writer) {
  const TileRecord* const records = task.space.records;
  if (records[tile].bits == 0) return;
  const Lane lane;
  const bool follows = tile % kSegmentTiles != 0;
  const bool leads = (tile + 1) % kSegmentTiles != 0 && tile + 1 < task.tiles();
  const TileRecord earlier = follows ? records[tile - 1] : TileRecord();
  const TileRecord later = leads ? records[tile + 1] : TileRecord();
  const auto base = static_cast<std::uint32_t>(tile % kSegmentTiles) * kTile;
  // A run that is open at the start is ended here unless it goes on; the tile before leaves that to us only
  // if our first position continues it, so it counts as open in that case alone.
  const auto open = [&](unsigned last, unsigned first) {
    return earlier.flag(last) && records[tile].flag(first);
  };
  RunWriter fills(at.fills, before.fill_runs, base, open(TileRecord::kFillLast, TileRecord::kFillFirst));
  RunWriter exacts(at.exacts, before.exact_runs, base, open(TileRecord::kExactLast, TileRecord::kExactFirst));
  std::uint64_t value = at.values + sizeof(T) * before.exact_values;

  MarkedGroups<kDim> groups(task.space.marked + tile * kTileWarps);
  const auto load = [&](std::uint32_t group, RoundValues<T>& values) {
    values.load(task.coding.data,
                elements_of_group(task.coding, lane, tile * kTileGroups + (group == ~0u ? 0 : group)));
  };
  std::uint32_t group;
  RoundValues<T> ahead;
  bool more = groups.next(lane, group);
  if (more) load(group, ahead);
  while (more) {
    const RoundValues<T> values = ahead;
    const std::uint32_t is = group;
    more = groups.next(lane, group);
    if (more) load(group, ahead);
    std::uint32_t residuals[4];
    const auto found =
        Round<T, kDim>::code_again(task.coding, lane, values, residuals, space.quanta, space.residuals);
    const std::uint32_t exact = is == ~0u ? 0 : found.exact, fill = is == ~0u ? 0 : found.fill;
    fills.write(lane, is, fill, writer);
    exacts.write(lane, is, exact, writer);
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
        writer.put(offset + 4 * half, static_cast<std::uint32_t>(std::uint64_t{bits} >> 32 * half), 4);
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
  writer.put(end, static_cast<std::uint32_t>(trailer), 4);
  writer.put(end + 4, static_cast<std::uint32_t>(trailer >> 32), 4);
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
        writer.put(at.rows + kExceptionRow * s + 4 * threadIdx.x,
                   static_cast<std::uint32_t>(threadIdx.x == 0   ? in_segment.fill_runs
                                              : threadIdx.x == 1 ? in_segment.exact_runs
                                                                 : in_segment.exact_values),
                   4);
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
