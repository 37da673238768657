// The kernels that count quanta: a CTA a chunk, each to a tally of its own. Chunks that have values without
// quanta are left to the host, which adds such up in their order.
#pragma once

#include "homomorphic/homcomp/device_operand.cuh"
#include "homomorphic/tally.hpp"

namespace homz::homcomp::device {

// What a CTA has counted, and the chunks that it has left.
template <class Counted>
struct CountedByCta {
  Counted counted;
  u32 left;
};

template <class T, class Counter>
struct ReduceCall {
  DecodeCall<T> operands[Counter::kOperands];  // all with the same fault
  CountedByCta<typename Counter::Counted>* of_ctas;
  std::byte* left;  // a mark a chunk
};

// ---- What threads count, of blocks at the same place

struct CountMoments {
  static constexpr u32 kOperands = 1, kCtas = 5;  // of a multiprocessor
  using Counted = QuantaTally;

  template <class T>
  __device__ static void add(const OperandBlock<T> (&blocks)[1], u32 valid, QuantaTally& tally) {
    const u32 counts = valid & ~blocks[0].fill;
    tally.quanta += count_bits(counts);
    tally.fill += count_bits(blocks[0].fill);
    std::int64_t sum = 0;
#pragma unroll
    for (u32 k = 0; k < kBlock; k += 2) {
      u64 squares = 0;  // of two: they fit
#pragma unroll
      for (u32 i = k; i < k + 2; ++i) {
        if ((counts >> i & 1) == 0) continue;
        const auto quantum = static_cast<i32>(blocks[0].quanta[i]);
        sum += quantum;
        squares += u64{magnitude(quantum)} * magnitude(quantum);
        tally.reach(quantum, quantum);
      }
      tally.squares += squares;
    }
    tally.sum += sum;
  }
};

struct CountProducts {
  static constexpr u32 kOperands = 2, kCtas = 4;
  using Counted = QuantaProducts;

  template <class T>
  __device__ static void add(const OperandBlock<T> (&blocks)[2], u32 valid, QuantaProducts& products) {
    const u32 counts = valid & ~(blocks[0].fill | blocks[1].fill);
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k)
      if ((counts >> k & 1) != 0)
        products.add_quanta(static_cast<i32>(blocks[0].quanta[k]), static_cast<i32>(blocks[1].quanta[k]));
  }
};

// ---- The loop of a CTA over chunks

template <class T, class Counter>
struct ReduceRoom {  // shared memory
  OperandRoom<T> operands[Counter::kOperands];
  union {
    StageRoom stage;
    typename Counter::Counted counted[kThreads];  // in the end
  };
  ChunkPlace places[2][Counter::kOperands];  // of this chunk and the next
  DeviceBox boxes[2];
};

template <class T, bool kFlat, class Counter>
class ReduceLoop {
  static constexpr u32 kOperands = Counter::kOperands;
  using Counted = typename Counter::Counted;

 public:
  __device__ ReduceLoop(const ReduceCall<T, Counter>& call, ReduceRoom<T, Counter>& room)
      : call_(call), room_(room) {}

  __device__ void run() {
    PlaceQuery<T> query(operand(own()));
    if (is_finder()) {
      query.ask(blockIdx.x);
      note(query, blockIdx.x, 0);
    }
    __syncthreads();
    fetch(0);
    u32 slot = 0;
    for (u32 chunk = blockIdx.x; chunk < chunks(); chunk += gridDim.x, slot ^= 1) step(chunk, slot);
    tell();
  }

 private:
  __device__ u32 chunks() const { return call_.operands[0].grid.chunks; }
  __device__ const DecodeCall<T>& operand(u32 i) const { return call_.operands[i]; }

  // ---- Places, by a warp an operand: the last ones have the fewest words to sum.

  __device__ static bool is_finder() { return threadIdx.x / 32 >= kWarps - kOperands; }
  __device__ static u32 own() { return is_finder() ? kWarps - 1 - threadIdx.x / 32 : 0; }

  __device__ void note(const PlaceQuery<T>& query, u32 chunk, u32 slot) const {
    const ChunkPlace place = query.place();
    if (lane_id() != 0) return;
    room_.places[slot][own()] = place;
    if (own() == 0) room_.boxes[slot] = kFlat ? flat_box(operand(0).grid, chunk) : operand(0).grid.box(chunk);
  }

  __device__ void fetch(u32 slot) const {
    for (u32 i = 0; i < kOperands; ++i)
      if (room_.places[slot][i].is_good)
        CodedWords<T>(operand(i), room_.places[slot][i]).fetch(room_.operands[i].words);
  }

  // ---- A chunk

  __device__ void step(u32 chunk, u32 slot) {
    const u32 next = chunk + gridDim.x;
    const bool has_next = next < chunks() && next > chunk;
    PlaceQuery<T> query(operand(own()));
    if (has_next && is_finder()) query.ask(next);
    wait_for_copies();
    for (u32 i = 0; i < kOperands; ++i) note_fetched(words(i, slot), room_.operands[i].words, sums(i));
    if (has_next && is_finder()) note(query, next, slot ^ 1);
    __syncthreads();
    if (threadIdx.x < kOperands) tell_sums(sums(threadIdx.x), operand(threadIdx.x).chunk_sums + chunk);
    const DeviceBox& box = room_.boxes[slot];
    OperandBlock<T> blocks[kOperands];
    is_left_ = false;
    bool good = read(0, chunk, slot, box, blocks[0]);
    if constexpr (kOperands == 2) good = read(1, chunk, slot, box, blocks[1]) && good;  // no array in memory
    const u32 valid = box.valid(threadIdx.x);
    __syncthreads();
    if (has_next) fetch(slot ^ 1);
    if (good && !is_left_) Counter::add(blocks, valid, counted_);
    if (threadIdx.x == 0) call_.left[chunk] = static_cast<std::byte>(is_left_);
    left_ += is_left_;
  }

  __device__ CodedWords<T> words(u32 i, u32 slot) const {
    const ChunkPlace& place = room_.places[slot][i];
    return place.is_good ? CodedWords<T>(operand(i), place) : CodedWords<T>();
  }
  __device__ WordSums* sums(u32 i) const { return room_.operands[i].sums; }

  // Whether it is a chunk; notes whether it is left to the host.
  __device__ bool read(u32 i, u32 chunk, u32 slot, const DeviceBox& box, OperandBlock<T>& block) {
    const ChunkPlace& place = room_.places[slot][i];
    bool good = place.is_good && place.words <= box.count * OperandBlock<T>::kOfValue;
    bool is_left = place.is_raw;
    if (good && !place.is_raw) {
      good = block.template read<kFlat>(words(i, slot), box, operand(i).fill.is_declared != 0,
                                        room_.operands[i], room_.stage);
      is_left = block.has_exact;
    }
    if (!good && threadIdx.x == i) operand(i).chunk_sums[chunk].sum = kWrong;
    is_left_ |= good && is_left;
    return good;
  }

  // ---- In the end: all threads' in one.
  __device__ void tell() {
    room_.counted[threadIdx.x] = counted_;
    __syncthreads();
    for (u32 half = kThreads / 2; half != 0; half /= 2) {
      if (threadIdx.x < half) room_.counted[threadIdx.x].join(room_.counted[threadIdx.x + half]);
      __syncthreads();
    }
    if (threadIdx.x == 0) call_.of_ctas[blockIdx.x] = {room_.counted[0], left_};
  }

  const ReduceCall<T, Counter>& call_;
  ReduceRoom<T, Counter>& room_;
  Counted counted_;
  bool is_left_ = false;
  u32 left_ = 0;
};

template <class T, class Counter>
inline constexpr bool kFits = Counter::kCtas*(sizeof(ReduceRoom<T, Counter>) +
                                              kSharedOfSystem) <= kSharedMemory;

template <class T, bool kFlat, class Counter>
__global__ void __launch_bounds__(kThreads, Counter::kCtas)
    reduce_chunks(const __grid_constant__ ReduceCall<T, Counter> call) {
  static_assert(kFits<T, Counter>);
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  if (blockIdx.x == 0 && threadIdx.x == 0) *static_cast<volatile u32*>(call.operands[0].fault) = 0;
  ReduceLoop<T, kFlat, Counter>(call, *reinterpret_cast<ReduceRoom<T, Counter>*>(memory)).run();
}

}  // namespace homz::homcomp::device
