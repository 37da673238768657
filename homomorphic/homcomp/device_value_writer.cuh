// Writes chunks some of whose values are stored exactly, or all: such values are not kept, so that the chunk
// waits for its place.
#pragma once

#include "homomorphic/homcomp/device_operand.cuh"
#include "homomorphic/homcomp/device_writer.cuh"

namespace homz::homcomp::device {

// The planes of the residuals of quanta, which are in `stage` (shared, as those of f32), too, plus kBias.
template <bool kFlat>
__device__ inline void take_residuals(const Orders& orders, const DeviceBox& box, const u32* stage,
                                      u32 (&v)[kBlock], SumBlock<kBlock>& block) {
  const u32 n = kBlock * threadIdx.x, base = static_cast<u32>(orders.base) + kBias<float>;
  const u32 v1 = n == 0 ? base : stage[Stage<float>::quantum(n - 1)],
            v2 = n == 0 ? base : stage[Stage<float>::quantum(n - 2)];
  Differences<float, kFlat>{stage, box, orders}.take(v, v1, v2, box.valid(threadIdx.x));
  block.take(v);
}

// Whoever waits for the size need not wait for the chunk: it is told before anything is waited for.
template <class T>
__device__ inline void tell_size(const EncodeCall<T>& to, u32 chunk, u32 words, bool is_raw) {
  if (threadIdx.x != 0) return;
  *to.tables.size(chunk) = static_cast<std::uint16_t>(is_raw ? 0 : words);
  publish(to.places + chunk, kSized | words);
}

// A chunk of the result to its place, which it waits for. All threads call; `value(k)`: of this thread's
// block, at position k.
template <class T>
class ResultCopy {
 public:
  __device__ ResultCopy(const SumCall<T>& call, u32 chunk)
      : call_(call), chunk_(chunk), copy_(call.to.tables, call.to.places + chunk, 0) {}

  __device__ void copy(const u32* from, u32 words) { copy_.copy(from, words); }
  template <class Value>
  __device__ void copy_exact(const SumWriter& writer, u32 exact, Value&& value) {
    u32 at = writer.words_without_values() + writer.exact_before() * kOfValue;
    for (u32 bits = exact; bits != 0; bits &= bits - 1, at += kOfValue)
      copy_.put_value(at, value(static_cast<u32>(__ffs(static_cast<int>(bits)) - 1)));
    if (writer.exact() != 0) note_order_matters();
  }
  template <class Value>
  __device__ void copy_raw(u32 valid, Value&& value) {
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k)
      if ((valid >> k & 1) != 0) copy_.put_value((kBlock * threadIdx.x + k) * kOfValue, value(k));
    note_order_matters();
  }

  // All threads meet in it.
  __device__ void tell(WordSums* of_warps) const {
    copy_.note(of_warps);
    __syncthreads();
    if (threadIdx.x == 0) tell_sums(of_warps, call_.to.chunk_sums + chunk_);
    __syncthreads();
  }

 private:
  static constexpr u32 kOfValue = sizeof(T) / 4;

  __device__ void note_order_matters() const {
    if (threadIdx.x == 0) *static_cast<volatile u32*>(&call_.state->order_matters) = 1;
  }

  const SumCall<T>& call_;
  const u32 chunk_;
  SumCopy copy_;
};

}  // namespace homz::homcomp::device
