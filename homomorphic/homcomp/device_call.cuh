// What the kernels of a linear combination share: the operands, the result, and a CTA's shared memory.
#pragma once

#include "codecs/homcomp/device_decode_kernels.cuh"
#include "codecs/homcomp/device_encode_kernels.cuh"
#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/homcomp/linear.hpp"

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
  u32 parked[kCodedRoom<T>];  // a chunk of the result that does not know its place yet
};

template <class T>
struct SumCall {
  EncodeCall<T> to;  // without data
  const SumOperand<T>* operands;
  SumState<T>* state;
  ValueRoom<T>* rooms;  // one a CTA
  u32 count;            // operands
  u32 is_plain;         // all factors are 1 or -1

  __device__ DeviceBox box(u32 chunk) const { return to.grid.box(chunk); }
};

struct BlockRoom {  // of CodedBlock
  struct Totals {
    u32 parts, flags;
  };
  Totals totals[kWarps];
  u32 signs[kWarps];  // of sparse blocks, from bit 16 on exact values
};

struct WriterRoom {  // of SumWriter
  struct Totals {
    u32 parts;            // words, from bit 13 on sparse magnitude bytes
    u32 signs;            // of sparse blocks, from bit 16 on exact values
    u32 coded, all_fill;  // masks of blocks: with a code other than zero, with that of all fill
  };
  Totals totals[kWarps];
};

template <class T>
struct SumRoom {  // shared memory
  // Chunks of operands: one that is worked on and, if there is room, the next one.
  static constexpr unsigned kOperands = kCodedRoom<T> + (sizeof(T) == 4 ? 640 : 1024);
  alignas(128) u32 operands[kOperands];
  // The chunk of the result until it knows its place; where values are needed, quanta in front of it.
  alignas(128) u32 out[kCodedRoom<T>];
  ChunkPlace places[2][kMostOperands];  // of this chunk and the next
  DeviceBox boxes[2];
  BlockRoom block;
  WriterRoom writer;
  WordSums sums[kWarps], sums_out[kWarps];
  RowEnd ends[kWarps];
  u32 reach[kWarps], lasts[kWarps];
  u32 next;
};
static_assert(kCodedRoom<float> >= kChunk);  // quanta lie as those of f32, whatever the type

// The orders, the base and the bit width of the quanta of a sum, from the heads of its operands.
struct SumHead {
  Orders orders;
  u64 reach;
  bool differ = false;  // along y or z

  __device__ explicit SumHead(i32 shift) : orders{0, 0, 0, shift}, reach(magnitude(shift)) {}

  __device__ void add(const Orders& other, u32 range, i32 factor, bool is_first) {
    differ |= !is_first && (other.y != orders.y || other.z != orders.z);
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
