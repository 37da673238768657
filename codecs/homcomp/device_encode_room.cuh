// What encoding is called with on the device, and the shared memory of a CTA that encodes chunks.
#pragma once

#include "codecs/homcomp/device_orders.cuh"
#include "codecs/homcomp/device_state.cuh"

namespace homz::homcomp::device {

template <class T>
struct EncodeCall {
  DeviceGrid grid;
  StepRule<T> rule;
  FillValue<T> fill;
  const T* data;
  Tables tables;
  u64* places;           // a state a chunk
  WordSums* chunk_sums;  // words numbered from the chunk's first
  CallState* call;
  Encoded* encoded;
  u64 count;  // values
  u64 most;   // bytes of a payload that is of use
};

// The totals of a warp's blocks, so that those of all warps can be added as they are.
struct WarpTotals {
  u32 parts;  // words, sparse magnitude bytes, codes
  u32 signs;  // of sparse blocks; from bit 16 on `top`
  u32 exact;

  __device__ u32 words() const { return parts & 0x1fff; }
  __device__ u32 bytes() const { return parts >> 13 & 0x3ff; }
  __device__ u32 codes() const { return parts >> 23; }
  __device__ u32 sign_bits() const { return signs & 0xffff; }
  __device__ u32 top() const { return signs >> 16; }
};

// A chunk that is coded but not yet in the payload.
struct Coded {
  u32 chunk;
  u32 head_words, main_words, sparse_words;  // without exact values, which stay in the field until then
  bool is_raw, is_large, has_exact;
};

// Chunks that wait for their places while another is coded, as many as there is room for.
template <class T>
inline constexpr u32 kWaiting = sizeof(T) == 4 ? 2 : 1;

template <class T>
struct EncodeRoom {  // shared memory
  // Of a warp's planes, and behind them what there is to know of exact values: masks, and how many are in
  // front.
  static constexpr unsigned kNotes = 32 + 16, kWarpWords = 32 * 35 + kNotes, kHalf = kWarpWords / 2;
  static constexpr unsigned kSlots = kWaiting<T> + 1;
  alignas(128) u32 words[Stage<T>::kWords];  // values; quanta where threads look at those of others
  TrialRecord trial;
  // And masks; written and copied by the same warp. Those of chunks that are not large take the halves in
  // turn.
  u32 planes[kWarps][kWarpWords];
  u32 segments[kSlots][kWarps][2];  // of a warp's planes: the first word, and how many
  u32 heads[kSlots][ChunkHead::kMax / 4 + 1];
  u32 sparse[kSlots][kBlocks + kChunk / 32 + 4];  // magnitudes and signs; zeros beyond
  Coded written[kSlots];
  WordSums sums[kSlots][kWarps];
  u32 fills[kBlocks], vacant[kBlocks];                 // masks
  u32 kept[kWarps], zeros[kWarps], all_fills[kWarps];  // blocks: with quanta of their own, with these codes
  u32 ends[kWarps][2];                                 // the last two quanta
  u32 reach[kWarps];                                   // the bits of all |quanta|
  WarpTotals totals[kWarps];
  Quantiser<T> by;
  DeviceBox boxes[2];
  u32 next;

  // The planes of a warp, and the notes of its exact values.
  __device__ u32* planes_of(u32 warp, bool is_large, u32 parity) {
    return planes[warp] + (is_large ? 0 : parity * kHalf);
  }
  __device__ u32* notes_of(u32 warp, bool is_large, u32 parity) {
    return planes_of(warp, is_large, parity) + (is_large ? kWarpWords : kHalf) - kNotes;
  }
};

// CTAs of a multiprocessor: more would fit into its shared memory, but have too few registers.
template <class T>
inline constexpr unsigned kEncodingCtas = sizeof(T) == 4 ? 5 : 4;
inline constexpr unsigned kSharedMemory = 228 * 1024,
                          kSharedOfSystem = 1024;  // of a multiprocessor, of each CTA
static_assert(kEncodingCtas<float> * (sizeof(EncodeRoom<float>) + kSharedOfSystem) <= kSharedMemory);
static_assert(kEncodingCtas<double> * (sizeof(EncodeRoom<double>) + kSharedOfSystem) <= kSharedMemory);

}  // namespace homz::homcomp::device
