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

// The segments that a thread block lists: stretches of them here and there, so that all blocks have about as
// much to do where exceptions are in a part of the field.
struct ListShare {
  static constexpr unsigned kStretches = 16;  // at most
  std::uint64_t segments, length;             // of all; of a stretch

  __device__ explicit ListShare(std::uint64_t all)
      : segments(all), length(ceil_div<std::uint64_t>(all, std::uint64_t{kStretches} * gridDim.x)) {}
  __device__ unsigned stretches() const {  // that are not empty
    unsigned count = 0;
    while (count < kStretches && begin(count) < segments) ++count;
    return count;
  }
  __device__ std::uint64_t begin(unsigned stretch) const {
    const std::uint64_t first = (blockIdx.x + std::uint64_t{stretch} * gridDim.x) * length;
    return first < segments ? first : segments;
  }
  __device__ std::uint64_t end(unsigned stretch) const {
    return begin(stretch) + length < segments ? begin(stretch) + length : segments;
  }
};

// In shared memory: the exceptions in front of each stretch, and behind the last one those of all.
struct ListCounts {
  std::uint64_t of_warps[ListShare::kStretches + 1][kTileWarps][3];

  // By all threads of the block, which meet.
  __device__ void count(const TileRecord* records, std::uint64_t tiles, const ListShare& share) {
    ExceptionCounts mine;
    std::uint64_t tile = threadIdx.x;
    for (unsigned k = 0, last = share.stretches(); k <= last; ++k) {
      const std::uint64_t first = k < last ? kSegmentTiles * share.begin(k) : tiles;
      const std::uint64_t end = first < tiles ? first : tiles;
#pragma unroll 4
      for (; tile < end; tile += kTileThreads) mine += counts_of(records, tile);
      const std::uint64_t warp[3] = {gpu::warp_sum(mine.fill_runs), gpu::warp_sum(mine.exact_runs),
                                     gpu::warp_sum(mine.exact_values)};
      for (unsigned i = 0; i < 3; ++i)
        if (threadIdx.x % 32 == i) of_warps[k][threadIdx.x / 32][i] = warp[i];
    }
    __syncthreads();
  }
  __device__ ExceptionCounts before(unsigned stretch) const {
    ExceptionCounts sum;
    for (const auto& warp : of_warps[stretch]) sum += ExceptionCounts{warp[0], warp[1], warp[2]};
    return sum;
  }
};

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

// The groups of a tile that have exceptions, in the shared memory of a warp; where one of a block's two has,
// both.
struct MarkedGroups {
  std::uint8_t numbers[kTileGroups];
  std::uint32_t exact[kTileGroups], fill[kTileGroups];  // of each that is listed: bits of its positions

  // Returns how many there are. `marks`: a bit a group.
  template <unsigned kDim>
  __device__ unsigned take(const std::uint32_t* marks, const Lane& lane) {
    const std::uint32_t own = lane.id < kTileWarps ? marks[lane.id] : 0;
    unsigned count = 0;
    __syncwarp();
    for (unsigned w = 0; w < kTileWarps; ++w) {
      std::uint32_t word = __shfl_sync(~0u, own, w);
      if (kDim != 1) word |= (word >> 1 & 0x55555555u) | (word << 1 & 0xaaaaaaaau);
      const std::uint32_t before = word & ((1u << lane.id) - 1);
      if ((word >> lane.id & 1) != 0)
        numbers[count + __popc(before)] = static_cast<std::uint8_t>(32 * w + lane.id);
      count += static_cast<unsigned>(__popc(word));
    }
    __syncwarp();
    return count;
  }
};
static_assert(kTileGroups <= 256);  // numbers of a byte

// Four groups at a time, a round.
template <class T, unsigned kDim>
class ExceptionFinder {
 public:
  __device__ ExceptionFinder(const EncodeTask<T, kDim>& task, std::uint64_t tile, RoundSpace& space)
      : task_(task), first_(tile * kTileGroups), space_(space) {}

  // The bits of `count` groups.
  __device__ void find(MarkedGroups& groups, unsigned count, bool any_exact) const {
    using Coder = Round<T, kDim>;
    RoundValues<T> ahead;
    load(groups, count, 0, ahead);
    for (unsigned first = 0; first < count; first += 4) {
      const RoundValues<T> values = ahead;
      if (first + 4 < count) load(groups, count, first + 4, ahead);
      typename Coder::Exceptions found;
      std::uint32_t residuals[4];
      if (any_exact)
        found = Coder::code_again(task_.coding, lane_, values, residuals, space_.quanta, space_.residuals);
      else
        found.fill = Coder::find_fill(task_.coding, lane_, values);
      if (lane_.id % 8 != 0 || first + lane_.group >= count) continue;
      groups.exact[first + lane_.group] = found.exact;
      groups.fill[first + lane_.group] = found.fill;
    }
    __syncwarp();
  }

 private:
  __device__ void load(const MarkedGroups& groups, unsigned count, unsigned first,
                       RoundValues<T>& values) const {
    const unsigned at = first + lane_.group < count ? first + lane_.group : count - 1;
    values.load(task_.coding.data, elements_of_group(task_.coding, lane_, first_ + groups.numbers[at]));
  }

  const EncodeTask<T, kDim>& task_;
  const std::uint64_t first_;
  RoundSpace& space_;
  const Lane lane_;
};

// Writes what is listed of a tile's groups, a lane a group.
class TileWriter {
 public:
  __device__ TileWriter(const MarkedGroups& groups, unsigned count, ListWriter& writer)
      : groups_(groups), count_(count), writer_(writer) {}

  // Runs of one kind. `at`: payload offset of all of them; `begun`: those that begin in tiles before;
  // `position`: the tile's first in the segment; `before`, `behind`: whether the positions in front of the
  // tile and behind it, in the segment, are of that kind.
  __device__ void write_runs(const std::uint32_t* bits, std::uint64_t at, std::uint64_t begun,
                             std::uint32_t position, bool before, bool behind) {
    for (unsigned first = 0; first < count_; first += 32) {
      const unsigned i = first + lane_.id;
      const std::uint32_t own = i < count_ ? bits[i] : 0, group = i < count_ ? groups_.numbers[i] : 0;
      const bool follows = (own & 1) != 0 && (group == 0 ? before : is_last_of(bits, i, group));
      const bool leads = own >> 31 != 0 && (group + 1 == kTileGroups ? behind : is_first_of(bits, i, group));
      const std::uint32_t starts = own & ~(own << 1 | std::uint32_t{follows});
      const std::uint32_t ends = own & ~(own >> 1 | std::uint32_t{leads} << 31);
      const auto many = static_cast<std::uint32_t>(__popc(starts));
      const std::uint32_t upto = warp_sum_upto(lane_.id, many);
      const std::uint64_t run = begun + upto - many;
      put_positions(starts, at + 4 * run, position + 32 * group);
      put_positions(ends, at + 4 * (run - std::uint64_t{follows}) + 2, position + 32 * group);
      begun += __shfl_sync(~0u, upto, 31);
    }
  }

  template <class T, unsigned kDim>
  __device__ void write_values(const Coding<T, kDim>& coding, std::uint64_t tile, std::uint64_t at) {
    for (unsigned first = 0; first < count_; first += 32) {
      const unsigned i = first + lane_.id;
      std::uint32_t own = i < count_ ? groups_.exact[i] : 0;
      const auto many = static_cast<std::uint32_t>(__popc(own));
      const std::uint32_t upto = warp_sum_upto(lane_.id, many);
      std::uint64_t offset = at + sizeof(T) * (upto - many);
      const GroupElements<kDim> elements(coding.layout,
                                         tile * kTileGroups + groups_.numbers[i < count_ ? i : 0]);
      for (; own != 0; own &= own - 1, offset += sizeof(T)) {
        const auto bits =
            bits_of(coding.data[elements.at(static_cast<unsigned>(__ffs(static_cast<int>(own))) - 1)]);
        for (unsigned half = 0; half < sizeof(T) / 4; ++half)
          writer_.put_word(offset + 4 * half, static_cast<std::uint32_t>(std::uint64_t{bits} >> 32 * half));
      }
      at += sizeof(T) * __shfl_sync(~0u, upto, 31);
    }
  }

 private:
  // Where an element of a group is that is in the field.
  template <unsigned kDim>
  struct GroupElements {
    GroupPlace<kDim> place;
    const Tiles<kDim>& layout;
    Lane lane;
    __device__ GroupElements(const Tiles<kDim>& layout, std::uint64_t group)
        : place(layout, group / 2), layout(layout) {
      lane.group = static_cast<unsigned>(group % 2);
    }
    __device__ std::uint64_t at(unsigned position) const {
      Lane holder = lane;
      holder.column = position % 8;
      const Elements elements = elements_of(holder, layout, place);
      std::uint64_t element = elements.at[0];
      for (unsigned c = 1; c < 4; ++c) element = position / 8 == c ? elements.at[c] : element;
      return element;
    }
  };

  // Whether the group in front of one is such at its end, and the one behind it at its beginning.
  __device__ bool is_last_of(const std::uint32_t* bits, unsigned i, std::uint32_t group) const {
    return i > 0 && groups_.numbers[i - 1] + 1u == group && bits[i - 1] >> 31 != 0;
  }
  __device__ bool is_first_of(const std::uint32_t* bits, unsigned i, std::uint32_t group) const {
    return i + 1 < count_ && groups_.numbers[i + 1] == group + 1 && (bits[i + 1] & 1) != 0;
  }

  // A half word of a run each.
  __device__ void put_positions(std::uint32_t bits, std::uint64_t offset, std::uint32_t position) {
    for (; bits != 0; bits &= bits - 1, offset += 4)
      writer_.put_half(offset, position + static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1);
  }

  const MarkedGroups& groups_;
  const unsigned count_;
  ListWriter& writer_;
  const Lane lane_;
};

template <>
struct TileWriter::GroupElements<1> {
  std::uint64_t first;
  __device__ GroupElements(const Line&, std::uint64_t group) : first(kGroup * group) {}
  __device__ std::uint64_t at(unsigned position) const { return first + position; }
};

// Where the parts of a list begin in the payload.
struct ListOffsets {
  std::uint64_t rows, fills, exacts, values;
};

// By a warp.
template <class T, unsigned kDim>
__device__ void list_tile(const EncodeTask<T, kDim>& task, std::uint64_t tile, const ListOffsets& at,
                          const ExceptionCounts& before, RoundSpace& space, MarkedGroups& groups,
                          ListWriter& writer) {
  const TileRecord* const records = task.space.records;
  const TileRecord own = records[tile];
  if (own.bits == 0) return;
  const bool any_fill = own.fill_runs() != 0, any_exact = own.exact_runs() != 0;
  const bool follows = tile % kSegmentTiles != 0;
  const bool leads = (tile + 1) % kSegmentTiles != 0 && tile + 1 < task.tiles();
  const TileRecord earlier = follows ? records[tile - 1] : TileRecord();
  const TileRecord later = leads ? records[tile + 1] : TileRecord();
  const auto position = static_cast<std::uint32_t>(tile % kSegmentTiles) * kTile;
  const unsigned count = groups.take<kDim>(task.space.marked + tile * kTileWarps, Lane());
  ExceptionFinder<T, kDim>(task, tile, space).find(groups, count, any_exact);
  TileWriter list(groups, count, writer);
  if (any_fill)
    list.write_runs(groups.fill, at.fills, before.fill_runs, position, earlier.flag(TileRecord::kFillLast),
                    later.flag(TileRecord::kFillFirst));
  if (!any_exact) return;
  list.write_runs(groups.exact, at.exacts, before.exact_runs, position, earlier.flag(TileRecord::kExactLast),
                  later.flag(TileRecord::kExactFirst));
  list.write_values(task.coding, tile, at.values + sizeof(T) * before.exact_values);
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
  __shared__ MarkedGroups groups[kTileWarps];
  __shared__ ListCounts counts;
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
  const ListShare share(segments);
  counts.count(task.space.records, tiles, share);
  const ExceptionCounts total = counts.before(share.stretches());
  const std::uint64_t list = exception_bytes(positions, total, sizeof(T));
  ListWriter writer{task.payload, {}};
  if (upstream + list + Trailer::kBytes <= task.limit) {
    ListOffsets at{upstream, upstream + kExceptionRow * segments, 0, 0};
    at.exacts = at.fills + 4 * total.fill_runs;
    at.values = at.exacts + 4 * total.exact_runs;
    const unsigned warp = threadIdx.x / 32;
    for (unsigned k = 0; k < share.stretches(); ++k) {
      ExceptionCounts before = counts.before(k);
      for (std::uint64_t s = share.begin(k); s < share.end(k); ++s) {
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
        if (tile < tiles) list_tile(task, tile, at, own, spaces[warp], groups[warp], writer);
        before += in_segment;
      }
    }
  }
  gpu::add_from_block(&state.slots[blockIdx.x % EncodeState::kSlots].sums, writer.sums);
  if (gpu::is_last_block(&state.listed) && threadIdx.x == 0) conclude(task, upstream, list);
}

}  // namespace homz::cuszp
