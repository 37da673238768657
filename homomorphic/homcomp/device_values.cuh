// The sum of chunks where planes do not do: by residuals in registers, where orders or factors differ; with
// the values themselves in scratch, where some are no quanta, or may become such.
#pragma once

#include "homomorphic/homcomp/device_value_writer.cuh"

namespace homz::homcomp::device {

// A chunk of the result in ValueRoom: it waits there for its place, not in the way of this one.
struct ParkedChunk {
  u32 chunk, words;  // 0: none
};

template <class T, bool kFlat>
class ValueSum {
 public:
  // `slot`: of the places. Nothing is being fetched, and room.out is free.
  __device__ ValueSum(const SumCall<T>& call, SumRoom<T>& room, const DeviceBox& box, u32 chunk, u32 slot,
                      const ParkedChunk& parked)
      : call_(call),
        room_(room),
        box_(box),
        linear_(call.state->linear),
        own_(call.rooms[blockIdx.x]),
        chunk_(chunk),
        slot_(slot),
        valid_(box.valid(threadIdx.x)),
        parked_(parked),
        head_(linear_.shift) {}

  // `has_exact`: some operand is known to have values without quanta.
  __device__ void write(bool has_exact) {
    bool good = inspect();
    with_quanta_ = any_raw_ || head_.may_overflow();
    wanted_ = with_quanta_ ? valid_ : 0;
    only_masks_ = has_exact && !with_quanta_;
    u32 sum[kBlock];
    if (good) good = add_operands(sum);
    only_masks_ = false;
    if (good && !with_quanta_ && (has_exact || has_exact_)) {
      wanted_ = block_.exact;
      good = add_operands(sum);
    }
    if (!good) return write_nothing();
    range_ = head_.may_overflow() ? 0 : head_.range();
    if (wanted_ != 0 || with_quanta_) finish_values();
    if (call_.decoded != nullptr) decode(sum);
    if (any_raw_) return write_raw();
    SumWriter writer(box_, room_.writer);
    make_block(sum);
    writer.measure(block_);
    __syncthreads();
    writer.place(head_.orders, sizeof(T));
    if (!writer.is_raw()) return write_coded(writer);
    if (!with_quanta_) {
      with_quanta_ = true;
      wanted_ = valid_;
      add_operands(sum);
      finish_values();
    }
    write_raw();
  }

 private:
  static constexpr u32 kOfValue = sizeof(T) / 4;

  // ---- Operands

  // What is known of all of them before their blocks are read.
  __device__ bool inspect() {
    bool good = true;
    for (u32 i = 0; i < call_.count; ++i) {
      const ChunkPlace place = place_of(i);
      if (!place.is_good || place.words > box_.count * kOfValue) {
        good = false;
      } else if (place.is_raw) {
        any_raw_ = true;
      } else {
        const u32* const from = call_.operands[i].from.chunk_data() + place.first;
        const u32 flags = from[0] & 0xff, range = from[0] >> 8 & 0xff;
        const u32 base = (flags & ChunkHead::kHasBase) != 0 && place.words > 1 ? from[1] : 0;
        good = good && range <= ChunkHead::kMaxRange;
        if (good) head_.add(CodedBlock::orders_of(flags, base), range, call_.operands[i].factor, i == 0);
      }
    }
    return good;
  }

  // Their masks; their quanta, to `sum`; and the values that are wanted. Tells whether they are chunks.
  __device__ bool add_operands(u32 (&sum)[kBlock]) {
    block_.fill = block_.exact = 0;
    has_exact_ = false;
#pragma unroll
    for (u32& number : sum) number = 0;
    if (with_quanta_)
      for (u32 i = 0; i < kBlock; ++i) quantum(i) = 0;
    for (u32 i = 0; i < call_.count; ++i) {
      const bool good = place_of(i).is_raw ? add_raw(i) : add_coded(i, sum);
      if (!good) {
        if (threadIdx.x == 0) operand(i).chunk_sums[chunk_].sum = kWrong;
        return false;
      }
    }
    block_.exact &= ~block_.fill;
    has_sums_ = true;
    return true;
  }

  __device__ const DecodeCall<T>& operand(u32 i) const {
    return call_.operands[i].from;
  }
  __device__ ChunkPlace place_of(u32 i) const {
    return unpack_place(room_.places[slot_][i]);
  }

  // The words of an operand's chunk to shared memory, and their sums, the first time.
  __device__ void fetch(const CodedWords<T>& coded, u32 i) {
    __syncthreads();  // of what was there before
    coded.fetch(room_.operands);
    wait_for_copies();
    if (!has_sums_) note_sums(coded.sum(room_.operands), room_.sums[0]);
    __syncthreads();
    if (threadIdx.x == 0 && !has_sums_) tell_sums(room_.sums[0], operand(i).chunk_sums + chunk_);
  }

  __device__ bool add_raw(u32 i) {
    const CodedWords<T> coded(operand(i), place_of(i));
    fetch(coded, i);
    const FillValue<T> fill = call_.to.fill;
    for (u32 k = 0; k < kBlock; ++k) {
      if ((valid_ >> k & 1) == 0) continue;
      const T x = exact_value<T>(coded.from() + (kBlock * threadIdx.x + k) * kOfValue);
      const bool is_fill = fill.is_declared && bits_of(x) == fill.bits;
      (is_fill ? block_.fill : block_.exact) |= 1u << k;
      add_value(i, k, x);
    }
    return true;
  }

  __device__ bool add_coded(u32 i, u32 (&sum)[kBlock]) {
    const ChunkPlace place = place_of(i);
    const CodedWords<T> coded(operand(i), place);
    fetch(coded, i);
    CodedBlock block(room_.operands + coded.shift(), place.words, box_.blocks(), valid_,
                     call_.to.fill.is_declared != 0, room_.blocks[0]);
    if (!block.read_head() || !block.read_masks(kOfValue)) return false;
    block_.fill |= block.fill();
    block_.exact |= block.exact();
    has_exact_ |= block.has_exact();
    if (only_masks_) return true;
    u32 v[kBlock];
    block.read_residuals(v);
    sum_up<float, kFlat>(block.orders(), box_, room_.ends, room_.out, v);
    const auto factor = static_cast<u32>(call_.operands[i].factor);
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) sum[k] += factor * v[k];
    if (wanted_ != 0) add_values(i, block, coded.from(), v);
    return true;
  }

  // ---- Values

  __device__ long long& quantum(u32 k) const {
    return own_.quanta[k * kThreads + threadIdx.x];
  }
  __device__ T& value(u32 k) const {
    return own_.values[k * kThreads + threadIdx.x];
  }

  // Operands add up in order; the first is not added to a 0, which would lose the sign of a -0.
  __device__ void add_value(u32 i, u32 k, T x) {
    const T term = static_cast<T>(call_.operands[i].factor) * x;
    value(k) = i == 0 ? term : value(k) + term;
  }

  __device__ void add_values(u32 i, const CodedBlock& block, const u32* from, const u32 (&v)[kBlock]) {
    from += block.values_at() + block.values_before() * kOfValue;
    const long long factor = call_.operands[i].factor;
    const u32 wanted = wanted_ | block.exact();  // those of fill positions are passed over one by one
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) {
      if ((wanted >> k & 1) == 0) continue;
      const auto own = static_cast<i32>(v[k]);
      if (with_quanta_) quantum(k) += factor * own;
      T x = restore(own, linear_.step);
      if ((block.exact() >> k & 1) != 0) {
        x = exact_value<T>(from);
        from += kOfValue;
      }
      add_value(i, k, x);
    }
  }

  __device__ T finished(T sum) const {
    return any_nan_alike(linear_.scale * (linear_.shift == 0 ? sum : sum + linear_.shift_value));
  }

  // What leaves the range of quanta becomes exact.
  __device__ void finish_values() {
    u32 reach = 0;
    for (u32 k = 0; k < kBlock; ++k) {
      if ((wanted_ >> k & 1) == 0) continue;
      if ((block_.fill >> k & 1) != 0) {
        value(k) = value_of<T>(call_.to.fill.bits);
      } else if ((block_.exact >> k & 1) != 0) {
        value(k) = finished(value(k));
      } else {
        const long long all = quantum(k) + linear_.shift;
        value(k) = static_cast<T>(all) * linear_.scaled_step;
        if (all < kQuantumLimit && all > -kQuantumLimit)
          reach |= magnitude(static_cast<i32>(all));
        else
          block_.exact |= 1u << k;
      }
    }
    if (!head_.may_overflow()) return;
    reach = __reduce_or_sync(kAllLanes, reach);
    if (lane_id() == 0) room_.reach[threadIdx.x / 32] = reach;
    __syncthreads();
    reach = 0;
    for (u32 w = 0; w < kWarps; ++w) reach |= room_.reach[w];
    range_ = bit_width(reach);
  }

  __device__ void decode(const u32 (&sum)[kBlock]) const {
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) {
      if ((valid_ >> k & 1) == 0) continue;
      T x = restore(static_cast<i32>(sum[k] + static_cast<u32>(linear_.shift)), linear_.scaled_step);
      if (with_quanta_ || (block_.exact >> k & 1) != 0) x = value(k);
      if ((block_.fill >> k & 1) != 0) x = value_of<T>(call_.to.fill.bits);
      call_.decoded[box_.position(kBlock * threadIdx.x + k)] = x;
    }
  }

  // ---- The result

  // The planes of the sum's residuals.
  __device__ void make_block(u32 (&v)[kBlock]) {
    const u32 shift = static_cast<u32>(linear_.shift) + kBias<float>;
#pragma unroll
    for (u32& number : v) number += shift;
    __syncthreads();
    store_quanta<float>(room_.out, threadIdx.x, v);
    __syncthreads();
    take_residuals<kFlat>(head_.orders, box_, room_.out, v, block_);
    __syncthreads();
  }

  // Nobody who waits for this chunk's size waits for the place of the parked one.
  __device__ void publish_size(u32 words, bool is_raw) const {
    tell_size(call_.to, chunk_, words, is_raw);
    if (parked_.words == 0) return;
    ResultCopy<T> copy(call_, parked_.chunk);
    copy.copy(own_.parked, parked_.words);
    copy.tell(room_.sums_out);
  }

  __device__ void write_coded(const SumWriter& writer) {
    publish_size(writer.words(), false);
    writer.write(block_, head_.orders, range_, room_.out);
    __syncthreads();
    ResultCopy<T> copy(call_, chunk_);
    copy.copy(room_.out, writer.words_without_values());
    copy.copy_exact(writer, block_.exact, [&](u32 k) { return value(k); });
    copy.tell(room_.sums_out);
  }

  __device__ void write_raw() {
    publish_size(box_.count * kOfValue, true);
    ResultCopy<T> copy(call_, chunk_);
    copy.copy_raw(valid_, [&](u32 k) { return value(k); });
    copy.tell(room_.sums_out);
  }

  // Of damaged operands: others must find their places.
  __device__ void write_nothing() {
    publish_size(box_.count * kOfValue, true);
    for (u32 i = threadIdx.x; i < call_.count; i += kThreads) {
      const ChunkPlace place = place_of(i);
      if (!place.is_good || place.words > box_.count * kOfValue) operand(i).chunk_sums[chunk_].sum = kWrong;
    }
    if (threadIdx.x == 0) {
      call_.to.chunk_sums[chunk_] = WordSums{};
      atomicOr(&call_.state->faults, static_cast<u32>(kDamaged));
    }
    __syncthreads();
  }

  const SumCall<T>& call_;
  SumRoom<T>& room_;
  const DeviceBox& box_;
  const DeviceLinear<T> linear_;
  ValueRoom<T>& own_;
  const u32 chunk_, slot_, valid_;
  const ParkedChunk parked_;
  SumHead head_;
  SumBlock<kBlock> block_;
  u32 range_ = 0, wanted_ = 0;  // values, a mask
  bool any_raw_ = false, has_exact_ = false, with_quanta_ = false;
  bool only_masks_ = false, has_sums_ = false;
};

}  // namespace homz::homcomp::device
