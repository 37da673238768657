// What the CTAs of a call share in scratch, where chunks begin, and the sums that become checksums.
#pragma once

#include "codecs/homcomp/device_quanta.cuh"
#include "core/codec.hpp"
#include "core/gpu/sums.cuh"

namespace homz::homcomp::device {

struct CallState {
  u64 step_bits;             // of a double
  ChecksumState table, all;  // sums of the table, and of the payload
  u64 end;                   // of the chunk data, in words
  u32 ticket, groups_done;
};

struct Tables {  // of the payload
  std::byte* payload;
  u64 groups, chunks, sizes, data;  // as Layout

  __device__ u64* row(u64 group) const {
    return reinterpret_cast<u64*>(payload + Layout::kTable + Layout::kRow * group);
  }
  __device__ std::uint16_t* size(u64 chunk) const {
    return reinterpret_cast<std::uint16_t*>(payload + sizes) + chunk;
  }
  __device__ u32 chunks_of(u64 group) const {
    const u64 left = chunks - group * kGroup;
    return left < kGroup ? static_cast<u32>(left) : kGroup;
  }
};

// ---- Where chunks begin. CTAs tell the words of their chunks (kSized), one warp adds them up and tells the
// words in front of each (kPlaced). That takes one round trip, while a look-back of every CTA over all chunks
// that are under way would take several and keep the memory busy.

inline constexpr u64 kSized = 1ull << 62, kPlaced = 2ull << 62, kWordsMask = (1ull << 62) - 1;

__device__ inline void publish(u64* to, u64 state) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(state) : "memory");
}
__device__ inline u64 observe(const u64* from) {
  u64 state;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(state) : "l"(from) : "memory");
  return state;
}

// By one warp; returns the words of all chunks. All chunks of the call pass through it, 150 a microsecond, so
// a lane takes several of them and the lanes are summed but once.
__device__ inline u64 place_chunks(u64* places, u32 chunks) {
  constexpr u32 kOfLane = 8;
  u64 words = 0;
  for (u32 next = 0; next < chunks;) {
    const u32 first = next + kOfLane * lane_id();
    u64 states[kOfLane];
#pragma unroll
    for (u32 i = 0; i < kOfLane; ++i) states[i] = first + i < chunks ? observe(places + first + i) : 0;
    u32 ready = 0, own = 0;
#pragma unroll
    for (u32 i = 0; i < kOfLane; ++i)
      if (ready == i && states[i] != 0) ++ready, own += static_cast<u32>(states[i]);
    const u32 others = ~__ballot_sync(kAllLanes, ready == kOfLane);
    const u32 last = others == 0 ? 31 : static_cast<u32>(__ffs(static_cast<int>(others)) - 1);
    if (lane_id() > last) ready = own = 0;
    const u32 up_to = sums_up_to(own);
    u64 place = kPlaced | (words + up_to - own);
#pragma unroll
    for (u32 i = 0; i < kOfLane; ++i)
      if (i < ready) {
        publish(places + first + i, place);
        place += static_cast<u32>(states[i]);
      }
    words += __shfl_sync(kAllLanes, up_to, 31);
    next += __reduce_add_sync(kAllLanes, ready);
  }
  return words;
}

__device__ inline u64 wait_for_place(const u64* place) {
  u64 state;
  while ((state = observe(place)) < kPlaced) __nanosleep(20);
  return state & kWordsMask;
}

// ---- Sums

// Words that stand at `index` of the payload or the table.
__device__ inline void add_pair(ChecksumState& sums, u64 index, u64 pair) {
  sums.add(index, static_cast<u32>(pair));
  sums.add(index + 1, static_cast<u32>(pair >> 32));
}

__device__ inline ChecksumState sum_over_warp(const ChecksumState& sums) {
  return {gpu::warp_sum(sums.sum), gpu::warp_sum(sums.weighted)};
}

// A group's sizes, as they stand in the payload.
__device__ inline ChecksumState sum_of_sizes(const Tables& tables, u64 group) {
  ChecksumState sums;
  for (u32 i = threadIdx.x % 32; i < tables.chunks_of(group); i += 32) {
    const u64 chunk = group * kGroup + i;
    sums.add(tables.sizes / 4 + chunk / 2, static_cast<u32>(*tables.size(chunk)) << 16 * (chunk & 1));
  }
  return sum_over_warp(sums);
}

// Of a group, by one warp: its chunk data from the sums of its chunks, `place(i)` in front of which words are
// counted; and its sizes as words.
struct GroupSums {
  ChecksumState data, sizes;

  template <class Place>
  __device__ GroupSums(const Tables& tables, const WordSums* chunk_sums, u64 group, Place&& place) {
    const u64 begin = group * kGroup;
    for (u32 i = lane_id(); i < tables.chunks_of(group); i += 32) {
      const WordSums of_chunk = chunk_sums[begin + i];
      ChecksumState part;
      part.sum = of_chunk.sum;
      part.weighted = of_chunk.weighted;
      data.join(part, place(i));
      sizes.add(i, *tables.size(begin + i));
    }
    data = sum_over_warp(data);
    sizes = sum_over_warp(sizes);
  }

  // `first`: what words of the data are counted from.
  __device__ u64 checksum(u64 first, u32 words, u32 chunks) const {
    ChecksumState all = data;
    all.weighted -= first * all.sum;
    all.join(sizes, words);
    return all.finish(4 * (u64{words} + chunks));
  }
};

// The sums of a warp to shared memory, where a later thread adds them up.
__device__ inline void note_sums(const WordSums& sums, WordSums* of_warps) {
  const WordSums all = sums.of_warp();
  if (lane_id() == 0) of_warps[threadIdx.x / 32] = all;
}
__device__ inline void tell_sums(const WordSums* of_warps, WordSums* to) {
  WordSums all;
#pragma unroll
  for (u32 w = 0; w < kWarps; ++w) {
    all.sum += of_warps[w].sum;
    all.weighted += of_warps[w].weighted;
  }
  *to = all;
}

}  // namespace homz::homcomp::device
