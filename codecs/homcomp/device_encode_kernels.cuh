// The kernels of encoding: the step; the chunks; the tables.
#pragma once

#include "codecs/homcomp/device_encode.cuh"

namespace homz::homcomp::device {

// Copies a coded chunk to its place, sums its words, and leaves zeros in room.sparse.
template <class T, bool kFlat>
class CodedCopy {
 public:
  __device__ CodedCopy(const EncodeCall<T>& call, EncodeRoom<T>& room, u32 slot, u32 parity)
      : call_(call), room_(room), coded_(room.written[slot]), slot_(slot), parity_(parity) {}

  // `place`: what was seen of it some time ago, in lane 0.
  __device__ void copy(u64 place) {
    const u32 warp = threadIdx.x / 32, words = room_.segments[slot_][warp][1];
    const u32 others = coded_.head_words > coded_.sparse_words ? coded_.head_words : coded_.sparse_words;
    if (!coded_.is_raw && !coded_.has_exact && words == 0 && 32 * warp >= others) {
      if (lane_id() == 0) room_.sums[slot_][warp] = WordSums{};  // nothing for this warp
      return;
    }
    if (lane_id() == 0 && place < kPlaced) place = wait_for_place(call_.places + coded_.chunk);
    place = __shfl_sync(kAllLanes, place & kWordsMask, 0);
    copy_to(reinterpret_cast<u32*>(call_.tables.payload + call_.tables.data) + place);
    note_sums(sums_, room_.sums[slot_]);
  }
  __device__ void copy_to(u32* to) {
    to_ = to;
    if (coded_.is_raw)
      copy_raw();
    else
      copy_coded(room_.segments[slot_][threadIdx.x / 32][1]);
  }

 private:
  __device__ void put(u32 at, u32 word) {
    __stcs(to_ + at, word);
    sums_.add(at, word);
  }
  __device__ void put_value(u32 at, T value) {
    const BitsOf<T> bits = bits_of(value);
    put(at, static_cast<u32>(bits));
    if constexpr (sizeof(T) == 8) put(at + 1, static_cast<u32>(bits >> 32));
  }

  __device__ void copy_coded(u32 words) {
    if (threadIdx.x < coded_.head_words) put(threadIdx.x, room_.heads[slot_][threadIdx.x]);
    const u32 warp = threadIdx.x / 32, first = room_.segments[slot_][warp][0];
    copy_planes(room_.planes_of(warp, coded_.is_large, parity_), words, first);
    u32* const sparse = room_.sparse[slot_];
    for (u32 i = threadIdx.x; i < coded_.sparse_words; i += kThreads) {
      put(coded_.main_words + i, sparse[i]);
      sparse[i] = 0;
    }
    if (coded_.has_exact) copy_exact();
  }

  // Rows of 32 words, four at a time as far as there are such.
  __device__ void copy_planes(const u32* from, u32 words, u32 first) {
    from += lane_id();
    u32 index = first + lane_id(), left = words;
    u32* to = to_ + index;
#pragma unroll 1
    for (; left >= 128; left -= 128, from += 128, to += 128) {
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        __stcs(to + 32 * k, from[32 * k]);
        sums_.add(index + 32 * k, from[32 * k]);
      }
      index += 128;
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (lane_id() + 32 * k < left) {
        __stcs(to + 32 * k, from[32 * k]);
        sums_.add(index + 32 * k, from[32 * k]);
      }
  }

  __device__ DeviceBox box() const {
    return kFlat ? flat_box(call_.grid, coded_.chunk) : call_.grid.box(coded_.chunk);
  }

  // Four at a time, for they come from afar.
  __device__ void copy_exact() {
    constexpr u32 kOfValue = sizeof(T) / 4, kTogether = 4;
    const DeviceBox box = this->box();
    const u32* const notes = room_.notes_of(threadIdx.x / 32, coded_.is_large, parity_);
    const u32 before = reinterpret_cast<const std::uint16_t*>(notes + 32)[lane_id()];
    u32 at = coded_.main_words + coded_.sparse_words + kOfValue * before;
    for (u32 bits = notes[lane_id()]; bits != 0;) {
      T values[kTogether];
      u32 count = 0;
#pragma unroll
      for (u32 k = 0; k < kTogether; ++k)
        if (bits != 0) {
          values[k] = call_.data[box.position(kBlock * threadIdx.x +
                                              static_cast<u32>(__ffs(static_cast<int>(bits)) - 1))];
          bits &= bits - 1;
          ++count;
        }
#pragma unroll
      for (u32 k = 0; k < kTogether; ++k)
        if (k < count) put_value(at + kOfValue * k, values[k]);
      at += kOfValue * count;
    }
  }

  __device__ void copy_raw() {
    const DeviceBox box = this->box();
    for (u32 n = threadIdx.x; n < box.count; n += kThreads)
      put_value(sizeof(T) / 4 * n, call_.data[box.position(n)]);
  }

  const EncodeCall<T>& call_;
  EncodeRoom<T>& room_;
  const Coded coded_;
  const u32 slot_, parity_;
  u32* to_;
  WordSums sums_;
};

// The loop of a CTA over chunks. Tickets count from 1: whoever draws 0 adds up the sizes instead.
template <class T, bool kFlat>
class EncodeLoop {
 public:
  __device__ EncodeLoop(const EncodeCall<T>& call, EncodeRoom<T>& room) : call_(call), room_(room) {}

  __device__ void run() {
    prepare();
    tell_next(draw_ticket(), 0);
    __syncthreads();
    if (room_.next == 0) return add_up();
    u32 chunk = room_.next - 1;
    if (chunk >= call_.grid.chunks) return;
    load(chunk, 0);
    __syncthreads();
    for (; chunk < call_.grid.chunks; ++round_) chunk = step(chunk);
    finish_copies();
  }

 protected:
  // What shared memory has to hold; the threads have yet to meet.
  __device__ void prepare() const {
    for (u32 i = threadIdx.x; i < sizeof(room_.sparse) / 4; i += kThreads) (&room_.sparse[0][0])[i] = 0;
    if (threadIdx.x == 32)
      room_.by = quantiser_for(static_cast<T>(value_of<double>(call_.call->step_bits)), call_.rule.abs_error);
  }

  __device__ void finish_copies() {
    __syncthreads();
    tell_copied();
    copy_up_to(round_, 0);
    __syncthreads();
    tell_copied();
  }

  __device__ u32 draw_ticket() const { return threadIdx.x == 0 ? atomicAdd(&call_.call->ticket, 1) : 0; }

  __device__ void tell_next(u32 ticket, u32 parity) const {
    if (threadIdx.x != 0) return;
    room_.next = ticket;
    if (!kFlat && ticket != 0 && ticket <= call_.grid.chunks)
      room_.boxes[parity] = call_.grid.box(ticket - 1);
  }

  __device__ void add_up() const {
    if (threadIdx.x >= 32) return;
    const u64 words = place_chunks(call_.places, call_.grid.chunks);
    if (threadIdx.x == 0) call_.call->end = words;
  }

  __device__ void load(u32 chunk, u32 parity) const {
    if (chunk >= call_.grid.chunks) return;
    if (kFlat)
      load_values<T, kFlat>(call_.grid, flat_box(call_.grid, chunk), call_.data, room_.words);
    else
      load_values<T, kFlat>(call_.grid, room_.boxes[parity], call_.data, room_.words);
  }

  // One chunk up to its coded form, and the last but one to the payload. Returns the next chunk.
  __device__ u32 step(u32 chunk) {
    const u32 parity = round_ & 1, ticket = draw_ticket();
    const DeviceBox flat = flat_box(call_.grid, chunk);
    ChunkEncoder<T, kFlat> encoder(call_, room_, kFlat ? flat : room_.boxes[parity], chunk);
    u32 v[kBlock];
    wait_for_copies();
    __syncwarp();
    encoder.quantise(v);
    if (kFlat) tell_next(ticket, 0);
    encoder.meet();
    if (!kFlat) tell_next(ticket, parity ^ 1);
    tell_copied();
    encoder.choose_orders(v);
    const u32 next = room_.next - 1;
    if (kFlat) load(next, 0);
    encoder.take_differences(v);
    __syncthreads();
    if (!kFlat) load(next, parity ^ 1);
    const u64 seen = round_ >= kWaiting<T> && lane_id() == 0 ? place_of(copied_) : 0;
    encoder.place(slot_of(round_));
    const bool is_alone = encoder.is_large() || (round_ != 0 && room_.written[slot_of(round_ - 1)].is_large);
    if (is_alone || round_ >= kWaiting<T>) copy_up_to(is_alone ? round_ : round_ + 1 - kWaiting<T>, seen);
    __syncwarp();
    encoder.write(v, parity);
    return next;
  }

  __device__ static u32 slot_of(u32 round) { return round % EncodeRoom<T>::kSlots; }

  __device__ u64 place_of(u32 round) const {
    return observe(call_.places + room_.written[slot_of(round)].chunk);
  }

  // `seen`: of the first one's place.
  __device__ void copy_up_to(u32 round, u64 seen) {
#pragma unroll 1
    for (; copied_ != round; ++copied_) {
      CodedCopy<T, kFlat>(call_, room_, slot_of(copied_), copied_ & 1).copy(seen);
      seen = 0;
    }
  }

  // The sums of chunks that were copied before the CTA has met, so that all warps have added theirs.
  __device__ void tell_copied() {
    for (; told_ != copied_; ++told_)
      if (threadIdx.x == 0)
        tell_sums(room_.sums[slot_of(told_)], call_.chunk_sums + room_.written[slot_of(told_)].chunk);
  }

  const EncodeCall<T>& call_;
  EncodeRoom<T>& room_;
  u32 round_ = 0, copied_ = 0, told_ = 0;
};

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, kEncodingCtas<T>)
    encode_chunks(const __grid_constant__ EncodeCall<T> call) {
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  EncodeLoop<T, kFlat>(call, *reinterpret_cast<EncodeRoom<T>*>(memory)).run();
}

// ---- In front of it: the step, and states of 0.

// By one CTA.
template <class T>
__device__ inline void begin_call(const EncodeCall<T>& call) {
  if (threadIdx.x == 0) *call.call = CallState{};
  __shared__ BitsOf<T> largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  constexpr double kUnits = static_cast<double>(1ull << (std::numeric_limits<T>::digits - 2));
  T own = 0;
  if (call.rule.given == 0 && call.rule.use_magnitude)
    own = sampled_by_thread(call.data, call.count, call.fill, call.rule.abs_error * kUnits);
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  if (own > 0) atomicMax(reinterpret_cast<Bits*>(&largest), static_cast<Bits>(bits_of(own)));
  __syncthreads();
  if (threadIdx.x == 0)
    call.call->step_bits = bits_of(static_cast<double>(step_for(call.rule, value_of<T>(largest))));
}

// It waits for what it reads: the caller's data. No kernel that ends a call lets the next one start, so
// nobody uses any more what is cleared.
template <class T>
__global__ void __launch_bounds__(1024) prepare_encode(const __grid_constant__ EncodeCall<T> call) {
  let_next_start();
  const u64 first = blockIdx.x * u64{blockDim.x} + threadIdx.x, stride = gridDim.x * u64{blockDim.x};
  for (u64 i = first; i < call.tables.chunks; i += stride) call.places[i] = 0;
  wait_for_last();
  if (blockIdx.x == 0) begin_call(call);
}

// ---- Behind it: the table, a warp a group; whoever finishes the last one writes the front of the payload.

template <class T>
class TableWriter {
 public:
  __device__ TableWriter(const EncodeCall<T>& call, u64 group)
      : call_(call), tables_(call.tables), group_(group) {}

  __device__ void write() {
    const u64 begin = group_ * kGroup;
    const u32 chunks = tables_.chunks_of(group_);
    const bool is_last = group_ + 1 == tables_.groups;
    const auto place = [&](u64 chunk) { return call_.places[chunk] & kWordsMask; };
    const u64 first = place(begin), end = is_last ? call_.call->end : place(begin + kGroup);
    const GroupSums sums(tables_, call_.chunk_sums, group_, [&](u32 i) { return place(begin + i); });
    ChecksumState of_payload = sum_of_sizes(tables_, group_);
    if (lane_id() != 0) return;
    of_payload.join(sums.data, tables_.data / 4);
    add_row(first, sums.checksum(first, static_cast<u32>(end - first), chunks), of_payload);
    gpu::add_atomically(&call_.call->all, of_payload);
    if (is_last)
      for (u64 at = tables_.sizes + 2 * tables_.chunks; at < tables_.data; ++at)
        tables_.payload[at] = std::byte{0};
    __threadfence();
    if (atomicAdd(&call_.call->groups_done, 1) + 1 == tables_.groups) finish();
  }

 private:
  __device__ void add_row(u64 first, u64 checksum, ChecksumState& of_payload) const {
    u64* const row = tables_.row(group_);
    row[0] = first;
    row[1] = checksum;
    ChecksumState of_table;
    add_pair(of_table, 2 + 4 * group_, first);
    add_pair(of_table, 4 + 4 * group_, checksum);
    add_pair(of_payload, 4 + 4 * group_, first);
    add_pair(of_payload, 6 + 4 * group_, checksum);
    gpu::add_atomically(&call_.call->table, of_table);
  }

  __device__ void finish() const {
    __threadfence();
    CallState* const call = call_.call;
    const u64 step = call->step_bits;
    ChecksumState table, all;
    table.sum = __ldcg(&call->table.sum);
    table.weighted = __ldcg(&call->table.weighted);
    add_pair(table, 0, step);
    const u64 checksum = table.finish(8 + Layout::kRow * tables_.groups);
    u64* const front = reinterpret_cast<u64*>(tables_.payload);
    front[0] = step;
    front[1] = checksum;
    all.sum = __ldcg(&call->all.sum);
    all.weighted = __ldcg(&call->all.weighted);
    add_pair(all, 0, step);
    add_pair(all, 2, checksum);
    const u64 bytes = tables_.data + 4 * call->end;
    call_.encoded->bytes = bytes > call_.most ? ~0ull : bytes;  // Codec::kIncompressible
    call_.encoded->sums = all;
  }

  const EncodeCall<T>& call_;
  const Tables& tables_;
  const u64 group_;
};

template <class T>
__global__ void __launch_bounds__(kThreads) finish_encode(const __grid_constant__ EncodeCall<T> call) {
  wait_for_last();
  const u64 group = blockIdx.x * u64{kWarps} + threadIdx.x / 32;
  if (group < call.tables.groups) TableWriter<T>(call, group).write();
}

}  // namespace homz::homcomp::device
