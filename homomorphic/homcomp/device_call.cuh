// What the kernels of a linear combination share: the operands, the result, and a CTA's shared memory.
#pragma once

#include "codecs/homcomp/device_decode_kernels.cuh"
#include "codecs/homcomp/device_encode_kernels.cuh"
#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/linear.hpp"

namespace homz::homcomp::device {

inline constexpr unsigned kMostOperands = 32;

template <class T>
struct SumOperand {
  DecodeCall<T> from;
  i32 factor;
};

// What there is to know before the chunks: from the step, which only the device knows.
template <class T>
struct DeviceLinear {
  i32 shift;  // in steps
  T shift_value, scale, step, scaled_step;
};

template <class T>
struct SumState {
  DeviceLinear<T> linear;
  double missed;      // by the shift
  u32 faults;         // SumFault
  u32 order_matters;  // some value is no quantum
  u32 verified;       // thread blocks of the last kernel
};
enum SumFault : u32 { kDamaged = 1, kStepsDiffer = 2, kBeyondRange = 4 };

template <class T>
inline constexpr unsigned kCodedRoom = kMostCoded<T> + 8;  // words of a chunk, wherever it begins

// In scratch, where residuals alone do not do.
template <class T>
struct ValueRoom {
  long long quanta[kChunk];  // values while operands are added to them; those of a thread lie kThreads apart
  T values[kChunk];
  u32 parked[kCodedRoom<T>];    // a chunk of the result that does not know its place yet
  u32 local[Stage<T>::kWords];  // a chunk of local values
};

inline constexpr u32 kTogether = 2;  // operands that are read at once

// A ChunkPlace in a number.
__device__ inline u64 pack_place(const ChunkPlace& place) {
  return place.first << 18 | place.words << 2 | static_cast<u32>(place.is_raw) << 1 | place.is_good;
}
__device__ inline ChunkPlace unpack_place(u64 packed) {
  return {packed >> 18, static_cast<u32>(packed >> 2) & 0xffff, (packed & 2) != 0, (packed & 1) != 0};
}

template <class T>
struct SumCall {
  EncodeCall<T> to;  // without data
  const SumOperand<T>* operands;
  u64* places;  // packed, of all chunks of the first operand, and so on
  SumState<T>* state;
  ValueRoom<T>* rooms;  // one a CTA
  T* decoded;           // what the result decodes to, or null
  u32 count, streams;   // operands; the last one may be local values
  bool is_plain;        // all factors are 1 or -1
  bool is_greatest;     // of extrema

  __device__ DeviceBox box(u32 chunk) const { return to.grid.box(chunk); }
};

static_assert(kWarps == 4);  // what warps tell each other is read at once

// Of a number a warp.
struct OverWarps {
  u32 all, before;  // the sum, and that of the warps in front of this one

  __device__ explicit OverWarps(const uint4& numbers) {
    const u32 warp = threadIdx.x / 32;
    before = (warp > 0 ? numbers.x : 0) + (warp > 1 ? numbers.y : 0) + (warp > 2 ? numbers.z : 0);
    all = numbers.x + numbers.y + numbers.z + numbers.w;
  }
};

struct alignas(16) BlockRoom {  // of CodedBlock
  struct Totals {
    u32 parts, flags;
  };
  Totals totals[kWarps];
  static constexpr u32 kWrong = 1u << 31;
  u32 signs[kWarps];  // of sparse blocks, from bit 16 on exact values; or kWrong
};

struct alignas(16) WriterRoom {         // of SumWriter
  u32 parts[kWarps];                    // words, from bit 13 on sparse magnitude bytes, from bit 23 on codes
  u32 signs[kWarps];                    // of sparse blocks, from bit 16 on exact values
  u32 top[kWarps];                      // groups of blocks with codes
  u32 coded[kWarps], all_fill[kWarps];  // masks of blocks: with a code other than zero, with that of all fill
};

// CTAs of a multiprocessor: with more, registers are kept in memory, which costs what they gain.
inline constexpr unsigned kSummingCtas = 4;

template <class T>
struct SumRoom {  // shared memory
  // Chunks of operands: those that are worked on and, if there is room, the next ones.
  static constexpr unsigned kOperands =
      (kSharedMemory / kSummingCtas - kSharedOfSystem - 4096) / 16 * 4 - kCodedRoom<T>;
  static_assert(kOperands >= kCodedRoom<T> && kOperands % 4 == 0);
  alignas(128) u32 operands[kOperands];
  // The chunk of the result until it knows its place; where values are needed, quanta in front of it.
  alignas(128) u32 out[kCodedRoom<T>];
  u64 places[2][kMostOperands];  // of this chunk and the next
  CodedWords<T> words[2][kMostOperands];
  DeviceBox boxes[2];
  BlockRoom blocks[kTogether];
  WriterRoom writer;
  WordSums sums[kTogether][kWarps], sums_out[kWarps];
  RowEnd ends[kWarps];
  u32 reach[kWarps], lasts[kWarps];
  u32 next;
};
static_assert(kSummingCtas * (sizeof(SumRoom<float>) + kSharedOfSystem) <= kSharedMemory);
static_assert(kSummingCtas * (sizeof(SumRoom<double>) + kSharedOfSystem) <= kSharedMemory);
static_assert(kCodedRoom<float> >= kChunk);  // quanta lie as those of f32, whatever the type

// The orders, the base and the bit width of the quanta of a sum, from the heads of its operands.
struct SumHead {
  Orders orders;
  u64 reach;
  bool differ = false;  // so that planes do not do: along y or z, or by two along x

  __device__ explicit SumHead(i32 shift) : orders{0, 0, 0, shift}, reach(magnitude(shift)) {}

  __device__ void add(const Orders& other, u32 range, i32 factor, bool is_first) {
    differ |= !is_first && (other.y != orders.y || other.z != orders.z || other.x + 1 < orders.x);
    if (other.x > orders.x) orders.x = other.x;
    if (other.y > orders.y) orders.y = other.y;
    if (other.z > orders.z) orders.z = other.z;
    orders.base = static_cast<i32>(static_cast<u32>(orders.base) +
                                   static_cast<u32>(factor) * static_cast<u32>(other.base));
    reach += u64{magnitude(factor)} * ((u64{1} << range) - 1);
  }
  __device__ bool may_overflow() const { return reach >= static_cast<u64>(kQuantumLimit); }
  __device__ u32 range() const { return bit_width(static_cast<u32>(reach)); }
};

}  // namespace homz::homcomp::device
