// The kernels of decoding: the chunks; then the checksums.
#pragma once

#include "codecs/homcomp/device_decode.cuh"

namespace homz::homcomp::device {

// The loop of a CTA over chunks.
template <class T, bool kFlat>
class DecodeLoop {
 public:
  __device__ DecodeLoop(const DecodeCall<T>& call, DecodeRoom<T>& room) : call_(call), room_(room) {}

  __device__ void run() {
    const T step = static_cast<T>(value_of<double>(*reinterpret_cast<const u64*>(call_.tables.payload)));
    if (is_finder())
      for (u32 i = 0; i < 2; ++i) {
        PlaceQuery<T> query(call_);
        const u32 chunk = blockIdx.x + i * gridDim.x;
        if (chunk >= call_.grid.chunks) break;
        query.ask(chunk);
        note(query, chunk, i);
      }
    __syncthreads();
    fetch(0, room_.coded_words(0));
    u32 slot = 0, parity = 0;
    for (u32 chunk = blockIdx.x; chunk < call_.grid.chunks; chunk += gridDim.x) {
      decode(chunk, slot, parity, step);
      slot = next_slot(slot);
      parity ^= 1;
    }
  }

 private:
  static constexpr bool kEarly = DecodeRoom<T>::kHasHalves;

  __device__ static u32 next_slot(u32 slot) { return slot == 2 ? 0 : slot + 1; }

  // The warp that finds places: the last has the fewest words to sum.
  __device__ static bool is_finder() { return threadIdx.x / 32 == kWarps - 1; }

  __device__ void note(const PlaceQuery<T>& query, u32 chunk, u32 slot) const {
    const ChunkPlace place = query.place();
    if (lane_id() != 0) return;
    room_.places[slot] = place;
    if (!kFlat) room_.boxes[slot] = call_.grid.box(chunk);
  }

  __device__ void fetch(u32 slot, u32* to) const {
    const ChunkPlace place = room_.places[slot];
    if (place.is_good) CodedWords<T>(call_, place).fetch(to);
  }

  __device__ void decode(u32 chunk, u32 slot, u32 parity, T step) const {
    const u32 next = chunk + gridDim.x, after_next = next + gridDim.x;
    PlaceQuery<T> query(call_);
    const bool is_asked = is_finder() && after_next < call_.grid.chunks && after_next > next;
    if (is_asked) query.ask(after_next);
    const ChunkPlace place = room_.places[slot];
    const DeviceBox flat = flat_box(call_.grid, chunk);
    const DeviceBox& box = kFlat ? flat : room_.boxes[slot];
    const CodedWords<T> coded(call_, place);
    wait_for_copies();
    if (place.is_good && !coded.has_none_of_warp())
      note_sums(coded.sum(room_.coded_words(parity)), room_.sums);
    else if (lane_id() == 0)
      room_.sums[threadIdx.x / 32] = WordSums{};
    __syncthreads();
    const bool has_next = next < call_.grid.chunks && next > chunk;
    if (kEarly && has_next) fetch(next_slot(slot), room_.coded_words(parity ^ 1));
    if (is_asked) note(query, after_next, next_slot(next_slot(slot)));
    if (threadIdx.x == 0) tell_sums(room_.sums, call_.chunk_sums + chunk);
    bool good = place.is_good && place.words <= box.count * (sizeof(T) / 4);
    const bool has_blocks = good && !place.is_raw;
    u32 v[kBlock];
    ChunkDecoder<T, kFlat> decoder(call_, room_, parity, box, coded, place.words, step);
    if (has_blocks) good = decoder.read(v);
    if (!good && threadIdx.x == 0) call_.chunk_sums[chunk].sum = kWrong;
    if (!good || !has_blocks) __syncthreads();
    if (!kEarly && has_next) fetch(next_slot(slot), room_.coded_words(parity ^ 1));
    if (good && has_blocks) decoder.write(v);
    if (good && place.is_raw) copy_raw(box, coded.from());
  }

  __device__ void copy_raw(const DeviceBox& box, const u32* from) const {
    constexpr u32 kOfValue = sizeof(T) / 4;
    for (u32 n = threadIdx.x; n < box.count; n += kThreads) {
      BitsOf<T> bits = from[kOfValue * n];
      if (kOfValue == 2) bits |= static_cast<BitsOf<T>>(u64{from[kOfValue * n + 1]} << 32);
      call_.data[box.position(n)] = value_of<T>(bits);
    }
  }

  const DecodeCall<T>& call_;
  DecodeRoom<T>& room_;
};

// CTAs of a multiprocessor.
template <class T, bool kFlat>
inline constexpr unsigned kDecodingCtas = sizeof(T) == 8 ? 4
                                          : kFlat        ? 6
                                                         : 5;

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, kDecodingCtas<T, kFlat>)
    decode_chunks(const __grid_constant__ DecodeCall<T> call) {
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  if (blockIdx.x == 0 && threadIdx.x == 0 && call.fault != nullptr)
    *static_cast<volatile u32*>(call.fault) = 0;
  DecodeLoop<T, kFlat>(call, *reinterpret_cast<DecodeRoom<T>*>(memory)).run();
}

// ---- Behind it

// Whether the chunks of a group are good and make its checksum, by one warp.
template <class T>
__device__ inline bool is_group_good(const DecodeCall<T>& call, u64 group) {
  const Tables& tables = call.tables;
  const u32 begin = static_cast<u32>(group * kGroup), chunks = tables.chunks_of(group);
  u32 words[2], up_to[2];
  bool wrong = false;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = 32 * k + lane_id();
    words[k] = i < chunks ? PlaceQuery<T>::words_of(call.grid, begin + i, *tables.size(begin + i)) : 0;
    up_to[k] = sums_up_to(words[k]);
    wrong |= i < chunks && call.chunk_sums[begin + i].sum == kWrong;
  }
  const u32 of_first = __shfl_sync(kAllLanes, up_to[0], 31),
            all = of_first + __shfl_sync(kAllLanes, up_to[1], 31);
  if (__any_sync(kAllLanes, wrong)) return false;
  const GroupSums sums(tables, call.chunk_sums, group,
                       [&](u32 i) { return i < 32 ? up_to[0] - words[0] : of_first + up_to[1] - words[1]; });
  if (sums.checksum(0, all, chunks) != tables.row(group)[1]) return false;
  if (call.sums == nullptr) return true;
  ChecksumState of_payload = sum_of_sizes(tables, group);
  of_payload.join(sums.data, tables.data / 4 + tables.row(group)[0]);
  if (lane_id() == 0) gpu::add_atomically(call.sums, of_payload);
  return true;
}

// Whether the front of the payload is as it must be, by one CTA; thread 0 tells.
template <class T>
__device__ inline bool is_front_good(const DecodeCall<T>& call) {
  const Tables& tables = call.tables;
  __shared__ ChecksumState rows;
  if (threadIdx.x == 0) rows = ChecksumState{};
  ChecksumState own;
  for (u64 i = threadIdx.x; i < 2 * tables.groups; i += blockDim.x) add_pair(own, 2 * i, tables.row(0)[i]);
  const u64 padding = tables.sizes + 2 * tables.chunks + threadIdx.x;
  const bool wrong = padding < tables.data && tables.payload[padding] != std::byte{0};
  const bool any_wrong = __syncthreads_or(wrong) != 0;
  gpu::add_from_block(&rows, own);
  __syncthreads();
  if (threadIdx.x != 0) return true;
  const u64* const front = reinterpret_cast<const u64*>(tables.payload);
  ChecksumState table, all;
  add_pair(table, 0, front[0]);
  table.join(rows, 2);
  add_pair(all, 0, front[0]);
  add_pair(all, 2, front[1]);
  all.join(rows, 4);
  if (call.sums != nullptr) gpu::add_atomically(call.sums, all);
  const double step = value_of<double>(front[0]);
  return !any_wrong && step > 0 && step <= kMost<T> && static_cast<double>(static_cast<T>(step)) == step &&
         table.finish(8 + Layout::kRow * tables.groups) == front[1];
}

template <class T>
__global__ void __launch_bounds__(kThreads) verify_decode(const __grid_constant__ DecodeCall<T> call) {
  wait_for_last();
  bool good = true;
  const u64 group = (blockIdx.x - 1) * u64{kWarps} + threadIdx.x / 32;
  if (blockIdx.x == 0)
    good = is_front_good(call);
  else if (group < call.tables.groups)
    good = is_group_good(call, group);
  if (!good && lane_id() == 0)
    *static_cast<volatile u32*>(call.fault) = static_cast<u32>(Code::corrupt_stream);
}

}  // namespace homz::homcomp::device
