// A chunk of an operand, as quanta in registers: a thread a block.
#pragma once

#include "homomorphic/homcomp/device_block.cuh"

namespace homz::homcomp::device {

// Residuals become quanta. `stage`: shared, where quanta lie as those of `Layout`. All threads meet in it.
template <class Layout, bool kFlat>
__device__ inline void sum_up(const Orders& orders, const DeviceBox& box, RowEnd* ends, u32* stage,
                              u32 (&v)[kBlock]) {
  const bool lines = (orders.y | orders.z) != 0;
  const u32 base = static_cast<u32>(orders.base), front = lines ? 0 : base;
  RowSums<kFlat> sums{box, ends};
  if (orders.x == 0) __syncthreads();
  if (orders.x == 1) sums.template add<1>(v, front);
  if (orders.x == 2) sums.template add<2>(v, front);
  if (lines ? kFlat : orders.x == 0)  // in one row, base is all that there is in front along y and z
#pragma unroll
    for (u32& number : v) number += base;
  if (kFlat || !lines) return;
  store_quanta<Layout>(stage, threadIdx.x, v);
  __syncthreads();
  if (orders.y != 0) sum_lines<Layout>(stage, box, box.rows, box.row, orders.z != 0 ? 0 : base);
  if (orders.z != 0) sum_lines<Layout>(stage, box, box.planes, box.plane(), base);
  load_quanta<Layout>(stage, threadIdx.x, v);
}

// A value that is stored exactly.
template <class T>
__device__ inline T exact_value(const u32* from) {
  BitsOf<T> bits = from[0];
  if constexpr (sizeof(T) == 8) bits |= static_cast<BitsOf<T>>(from[1]) << 32;
  return value_of<T>(bits);
}

// The sums of the words that were fetched, to shared memory.
template <class T>
__device__ inline void note_fetched(const CodedWords<T>& coded, const u32* words, WordSums* of_warps) {
  if (!coded.has_none_of_warp())
    note_sums(coded.sum(words), of_warps);
  else if (lane_id() == 0)
    of_warps[threadIdx.x / 32] = WordSums{};
}

// What threads share while they read an operand.
template <class T>
struct OperandRoom {
  alignas(128) u32 words[kCodedRoom<T>];
  BlockRoom block;
  WordSums sums[kWarps];
};
struct StageRoom {                  // of one operand after the other
  alignas(128) u32 quanta[kChunk];  // as those of f32, whatever the type
  RowEnd ends[kWarps];
};

template <class T>
struct OperandBlock {
  static constexpr u32 kOfValue = sizeof(T) / 4;

  u32 quanta[kBlock];
  u32 fill, exact;    // masks
  const u32* values;  // the exact ones, in the payload
  Orders orders;
  bool has_exact;  // somewhere in the chunk

  // Of words in shared memory. Whether they are a chunk, the same in all threads, which meet in it.
  template <bool kFlat>
  __device__ bool read(const CodedWords<T>& coded, const DeviceBox& box, bool has_fill, OperandRoom<T>& room,
                       StageRoom& stage) {
    CodedBlock block(room.words + coded.shift(), coded.words(), box.blocks(), box.valid(threadIdx.x),
                     has_fill, room.block);
    if (!block.read_head() || !block.read_masks(kOfValue)) return false;
    fill = block.fill();
    exact = block.exact();
    has_exact = block.has_exact();
    values = coded.from() + block.values_at() + block.values_before() * kOfValue;
    orders = block.orders();
    block.read_residuals(quanta);
    sum_up<float, kFlat>(orders, box, stage.ends, stage.quanta, quanta);
    return true;
  }

  // Of a raw chunk.
  __device__ void read_raw(const CodedWords<T>& coded, const DeviceBox& box) {
#pragma unroll
    for (u32& number : quanta) number = 0;
    fill = 0;
    exact = box.valid(threadIdx.x);
    has_exact = true;
    values = coded.from() + kBlock * threadIdx.x * kOfValue;
    orders = Orders{};
  }

  // Exact values with the bits of the fill value are fill.
  __device__ void find_fill(const FillValue<T>& declared) {
    if (declared.is_declared == 0) return;
    const u32* from = values;
    for (u32 bits = exact; bits != 0; bits &= bits - 1, from += kOfValue)
      if (bits_of(exact_value<T>(from)) == declared.bits) fill |= bits & (0 - bits);
  }
};

}  // namespace homz::homcomp::device
