// What the CTAs of a call share in scratch: who takes which chunk, where chunks begin, and the sums of groups.
#pragma once

#include "codecs/homcomp/device_bits.cuh"
#include "codecs/homcomp/device_quanta.cuh"
#include "core/codec.hpp"

namespace homz::homcomp::device {

// Sums of a group's chunk data (words numbered from the start of all chunk data on the way in, of the group on the
// way out), and the words and number of its chunks that are done.
struct GroupState {
  u64 sum, weighted, words_and_chunks, first;
};
inline constexpr u64 kOneChunk = 1ull << 32;

struct CallState {
  u64 step_bits;          // of a double
  u64 table[2], all[2];   // sums of the table, and of the payload: see ChecksumState
  u64 end;                // of the chunk data, in words
  u32 ticket, groups_done;
};

// Where a chunk begins: its words (kSum), then the words up to its end (kEnd). Merrill and Garland, "Single-pass
// parallel prefix scan with decoupled look-back", 2016.
inline constexpr u64 kSum = 1ull << 62, kEnd = 2ull << 62, kWordsMask = (1ull << 62) - 1;

__device__ inline void publish(u64* to, u64 state) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(state) : "memory");
}
__device__ inline u64 observe(const u64* from) {
  u64 state;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(state) : "l"(from) : "memory");
  return state;
}

// The words of all chunks in front of `chunk`, by one warp. Each round looks at kRound chunks at once, since the one
// before may be far behind those that are done.
__device__ inline u64 look_back(const u64* states, u32 chunk) {
  constexpr u32 kDeep = 8, kRound = 32 * kDeep;
  u64 words = 0;
  for (u32 end = chunk; end != 0; end = end > kRound ? end - kRound : 0) {
    u64 state[kDeep];
#pragma unroll
    for (u32 i = 0; i < kDeep; ++i) {
      const u32 back = 32 * i + lane_id();
      state[i] = back < end ? observe(states + (end - 1 - back)) : kEnd;
    }
#pragma unroll
    for (u32 i = 0; i < kDeep; ++i) {
      const u32 back = 32 * i + lane_id();
      while (!__all_sync(kAllLanes, state[i] >= kSum)) {
        if (state[i] < kSum) state[i] = observe(states + (end - 1 - back));
      }
      const u32 ends = __ballot_sync(kAllLanes, state[i] >= kEnd);
      const u32 nearest = ends != 0 ? static_cast<u32>(__ffs(static_cast<int>(ends)) - 1) : 32;
      words += sum_of_lanes(lane_id() <= nearest ? state[i] & kWordsMask : 0);
      if (ends != 0) return words;
    }
  }
  return words;
}

// ---- The end of a group's encoding

struct Tables {  // of the payload
  std::byte* payload;
  u64 groups, chunks, sizes, data;  // as Layout

  __device__ u64* row(u64 group) const { return reinterpret_cast<u64*>(payload + Layout::kTable + Layout::kRow * group); }
  __device__ std::uint16_t* size(u64 chunk) const { return reinterpret_cast<std::uint16_t*>(payload + sizes) + chunk; }
};

// Words that stand at `index` of the payload or the table.
__device__ inline void add_pair(ChecksumState& sums, u64 index, u64 pair) {
  sums.add(index, static_cast<u32>(pair));
  sums.add(index + 1, static_cast<u32>(pair >> 32));
}

__device__ inline void add_to(u64* to, const ChecksumState& sums) {
  atomicAdd(to, static_cast<u64>(sums.sum));
  atomicAdd(to + 1, static_cast<u64>(sums.weighted));
}

// The sizes of a group as words, numbered from 0: sums in every lane, and what they add to those of the payload.
__device__ inline ChecksumState sum_sizes(const Tables& tables, u64 first, u32 chunks, ChecksumState& of_payload) {
  u64 sum = 0, weighted = 0;
  for (u32 i = lane_id(); i < chunks; i += 32) {
    const u32 size = __ldcg(tables.size(first + i));
    sum += size;
    weighted += u64{i + 1} * size;
    of_payload.add(tables.sizes / 4 + (first + i) / 2, size << 16 * (i & 1));
  }
  ChecksumState state;
  state.sum = sum_of_lanes(sum);
  state.weighted = sum_of_lanes(weighted);
  return state;
}

// By one warp, when all chunks of the group are written: its row of the table. Returns whether it was the last group.
__device__ inline bool finish_group(const Tables& tables, GroupState* group_state, CallState* call, u64 group) {
  const u64 begin = group * kGroup;
  const u32 chunks = static_cast<u32>(tables.chunks - begin < kGroup ? tables.chunks - begin : kGroup);
  ChecksumState of_payload, of_table;
  ChecksumState state = sum_sizes(tables, begin, chunks, of_payload);
  bool is_last = false;
  if (lane_id() == 0) {
    const u64 sum = __ldcg(&group_state->sum), weighted = __ldcg(&group_state->weighted);
    const u64 first = __ldcg(&group_state->first);
    const u32 words = static_cast<u32>(__ldcg(&group_state->words_and_chunks));
    ChecksumState all;
    all.sum = sum;
    all.weighted = weighted - first * sum;
    all.join(state, words);
    const u64 checksum = all.finish(4 * (u64{words} + chunks));
    u64* const row = tables.row(group);
    row[0] = first;
    row[1] = checksum;
    add_pair(of_table, 2 + 4 * group, first);
    add_pair(of_table, 4 + 4 * group, checksum);
    add_pair(of_payload, 4 + 4 * group, first);
    add_pair(of_payload, 6 + 4 * group, checksum);
    ChecksumState of_data;
    of_data.sum = sum;
    of_data.weighted = weighted;
    of_payload.join(of_data, tables.data / 4);
    add_to(call->table, of_table);
    if (group + 1 == tables.groups) {
      call->end = first + words;
      for (u64 at = tables.sizes + 2 * tables.chunks; at < tables.data; ++at) tables.payload[at] = std::byte{0};
    }
  }
  add_to(call->all, of_payload);
  __threadfence();
  __syncwarp();
  if (lane_id() == 0) is_last = atomicAdd(&call->groups_done, 1) + 1 == tables.groups;
  return __any_sync(kAllLanes, is_last);
}

// By one thread, when all groups are finished: the front of the payload, and what there is to know of it.
__device__ inline void finish_payload(const Tables& tables, CallState* call, u64 data_bytes, Encoded* encoded) {
  __threadfence();
  const u64 step = __ldcg(&call->step_bits);
  ChecksumState table, all;
  table.sum = __ldcg(call->table);
  table.weighted = __ldcg(call->table + 1);
  add_pair(table, 0, step);
  const u64 checksum = table.finish(8 + Layout::kRow * tables.groups);
  u64* const front = reinterpret_cast<u64*>(tables.payload);
  front[0] = step;
  front[1] = checksum;
  all.sum = __ldcg(call->all);
  all.weighted = __ldcg(call->all + 1);
  add_pair(all, 0, step);
  add_pair(all, 2, checksum);
  const u64 bytes = tables.data + 4 * __ldcg(&call->end);
  encoded->bytes = bytes > data_bytes ? ~0ull : bytes;  // Codec::kIncompressible
  encoded->sums = all;
}

}  // namespace homz::homcomp::device
