// The kernel of the lesser or the greater of two streams: a CTA a chunk. As chunk_extremum.hpp.
#pragma once

#include "homomorphic/extremum.hpp"
#include "homomorphic/homcomp/device_loop.cuh"
#include "homomorphic/homcomp/device_value_writer.cuh"

namespace homz::homcomp::device {

template <class T>
struct ExtremumRoom {  // shared memory
  OperandRoom<T> operands[2];
  StageRoom stage;
  alignas(128) u32 out[kCodedRoom<T>];  // the chunk of the result until it knows its place
  u64 places[2][2];                     // of this chunk and the next
  CodedWords<T> words[2][2];
  DeviceBox boxes[2];
  WriterRoom writer;
  WordSums sums_out[kWarps];
  u32 reach[kWarps];
  u32 next;
};

inline constexpr unsigned kExtremumCtas = 3;  // of a multiprocessor
static_assert(kExtremumCtas * (sizeof(ExtremumRoom<float>) + kSharedOfSystem) <= kSharedMemory);
static_assert(kExtremumCtas * (sizeof(ExtremumRoom<double>) + kSharedOfSystem) <= kSharedMemory);

// A block of the result: which of two blocks' values, position by position.
template <class T>
class Choice {
 public:
  // `values`: memory of the thread for exact ones, kThreads apart.
  __device__ Choice(bool is_greatest, T step, u32 valid, T* values)
      : is_greatest_(is_greatest), step_(step), valid_(valid), values_(values) {}

  // Leaves the quanta in a.
  __device__ void take(OperandBlock<T>& a, const OperandBlock<T>& b) {
    const u32 fill = a.fill | b.fill, vacant = a.exact | b.exact;
#pragma unroll
    for (u32 k = 0; k < kBlock; ++k) {
      if ((valid_ >> k & 1) == 0) continue;
      const auto p = static_cast<i32>(a.quanta[k]), q = static_cast<i32>(b.quanta[k]);
      bool is_b = is_second(p, q), is_number = false;
      if (((fill | vacant) >> k & 1) == 0)
        is_number = true;
      else if ((fill >> k & 1) == 0)
        is_number = take_exact(k, a, b, is_b);
      const i32 quantum = is_b ? q : p;
      a.quanta[k] = static_cast<u32>(quantum);
      if (!is_number) continue;
      if (magnitude(quantum) < static_cast<u32>(kQuantumLimit))
        reach_ |= magnitude(quantum);
      else
        put_exact(k, restore(quantum, step_));  // forged: no quantum for a decoder
    }
    fill_ = fill;
  }

  __device__ bool is_second(i32 p, i32 q) const {
    return is_greatest_ ? q > p : q < p;
  }
  __device__ u32 reach() const {
    return reach_;
  }  // the bits of all quanta
  __device__ u32 fill() const {
    return fill_;
  }
  __device__ u32 exact() const {
    return exact_;
  }
  __device__ T exact_of(u32 k) const {
    return values_[k * kThreads];
  }
  __device__ T value_of_quantum(u32 k, i32 quantum) const {
    return (exact_ >> k & 1) != 0 ? exact_of(k) : restore(quantum, step_);
  }

 private:
  // Where one of them has no quantum. Tells which one's quantum counts, and whether it is the value's.
  __device__ bool take_exact(u32 k, const OperandBlock<T>& a, const OperandBlock<T>& b, bool& is_b) {
    const bool no_quantum_a = (a.exact >> k & 1) != 0, no_quantum_b = (b.exact >> k & 1) != 0;
    const T x = value_at(k, a), y = value_at(k, b);
    is_b = homz::is_second(is_greatest_, x, y);
    if (!(is_b ? no_quantum_b : no_quantum_a)) return true;
    put_exact(k, is_b ? y : x);
    if (!no_quantum_a || !no_quantum_b) is_b = !is_b;  // there is one in the other
    return false;
  }
  __device__ T value_at(u32 k, const OperandBlock<T>& block) const {
    if ((block.exact >> k & 1) == 0) return restore(static_cast<i32>(block.quanta[k]), step_);
    const u32 before = count_bits(block.exact & ((1u << k) - 1));
    return exact_value<T>(block.values + before * OperandBlock<T>::kOfValue);
  }
  __device__ void put_exact(u32 k, T value) {
    values_[k * kThreads] = value;
    exact_ |= 1u << k;
  }

  const bool is_greatest_;
  const T step_;
  const u32 valid_;
  T* const values_;
  u32 reach_ = 0, fill_ = 0, exact_ = 0;
};

// The loop of a CTA over chunks: both operands come to shared memory while the result of the chunk before is
// written; that goes to its place when the next one is complete.
template <class T, bool kFlat>
class ExtremumLoop : private ChunkLoop<T, kFlat, ExtremumRoom<T>> {
  using Loop = ChunkLoop<T, kFlat, ExtremumRoom<T>>;

 public:
  __device__ ExtremumLoop(const SumCall<T>& call, ExtremumRoom<T>& room) : Loop(call, room) {}

  __device__ void run() {
    u32 chunk = first_ticket();
    if (chunk == kAdder) return add_up();
    if (chunk >= chunks()) return;
    note_places(ask(chunk), chunk, 0);
    u32 next = first_ticket();
    fetch(chunk, 0);
    for (; chunk < chunks(); slot_ ^= 1) {
      const u32 after_next = step(chunk, next);
      chunk = next;
      next = after_next;
    }
    finish();
  }

 private:
  using Loop::add_up, Loop::ask, Loop::chunks, Loop::copy_waiting, Loop::draw_ticket, Loop::finish,
      Loop::first_ticket, Loop::kAdder, Loop::note_places, Loop::operand, Loop::tell_copied, Loop::tell_next;
  using Loop::call_, Loop::room_, Loop::slot_, Loop::waiting_;
  static constexpr u32 kOfValue = sizeof(T) / 4;

  __device__ void fetch(u32 chunk, u32 slot) const {
    if (chunk >= chunks()) return;
    for (u32 i = 0; i < 2; ++i) room_.words[slot][i].fetch(room_.operands[i].words);
  }

  // Tells the number of the chunk after the next.
  __device__ u32 step(u32 chunk, u32 next) {
    const u64 asked = ask(next);
    const u32 drawn = threadIdx.x == 0 ? draw_ticket() : 0;
    wait_for_copies();
    for (u32 i = 0; i < 2; ++i)
      note_fetched(room_.words[slot_][i], room_.operands[i].words, room_.operands[i].sums);
    __syncthreads();
    tell_next(asked, next, drawn);
    const u32 warp = threadIdx.x / 32;
    if (lane_id() == 0 && warp < 2) tell_sums(room_.operands[warp].sums, operand(warp).chunk_sums + chunk);
    OperandBlock<T> a, b;
    const bool good = read(0, a) && read(1, b);
    __syncthreads();
    const u32 after_next = room_.next;
    fetch(next, slot_ ^ 1);
    if (good)
      write(chunk, a, b);
    else
      write_nothing(chunk);
    return after_next;
  }

  __device__ ChunkPlace place_of(u32 i) const { return unpack_place(room_.places[slot_][i]); }

  __device__ bool read(u32 i, OperandBlock<T>& block) const {
    const ChunkPlace place = place_of(i);
    const DeviceBox& box = room_.boxes[slot_];
    if (!place.is_good || place.words > box.count * kOfValue) return false;
    const CodedWords<T>& coded = room_.words[slot_][i];
    const FillValue<T>& fill = call_.to.fill;
    if (place.is_raw)
      block.read_raw(coded, box);
    else if (!block.template read<kFlat>(coded, box, fill.is_declared != 0, room_.operands[i], room_.stage))
      return false;
    block.find_fill(fill);
    return true;
  }

  // ---- The result

  __device__ void write(u32 chunk, OperandBlock<T>& a, const OperandBlock<T>& b) {
    const DeviceBox& box = room_.boxes[slot_];
    Choice<T> choice(call_.is_greatest, call_.state->linear.step, box.valid(threadIdx.x),
                     call_.rooms[blockIdx.x].values + threadIdx.x);
    choice.take(a, b);
    note_reach(choice.reach());
    stage_quanta(a.quanta);
    if (place_of(0).is_raw || place_of(1).is_raw) return write_raw(chunk, choice);
    const Orders orders = orders_of(a.orders, b.orders, choice);
    SumBlock<kBlock> block;
    take_residuals<kFlat>(orders, box, room_.stage.quanta, a.quanta, block);
    block.fill = choice.fill();
    block.exact = choice.exact();
    SumWriter writer(box, room_.writer);
    writer.measure(block);
    __syncthreads();
    writer.place(orders, sizeof(T));
    if (writer.is_raw()) return write_raw(chunk, choice);
    tell_size(call_.to, chunk, writer.words(), false);
    make_room();
    writer.write(block, orders, range(), room_.out);
    waiting_ = {chunk, writer.words(), 0};
    if (writer.exact() != 0) copy_with_exact(chunk, writer, choice);
  }

  // All threads meet behind it.
  __device__ void stage_quanta(u32 (&v)[kBlock]) const {
#pragma unroll
    for (u32& number : v) number += kBias<float>;
    store_quanta<float>(room_.stage.quanta, threadIdx.x, v);
    __syncthreads();
  }
  __device__ i32 staged(u32 n) const {
    return static_cast<i32>(room_.stage.quanta[Stage<float>::quantum(n)] - kBias<float>);
  }

  __device__ void note_reach(u32 reach) const {
    reach = __reduce_or_sync(kAllLanes, reach);
    if (lane_id() == 0) room_.reach[threadIdx.x / 32] = reach;
  }
  __device__ u32 range() const {
    u32 reach = 0;
    for (u32 w = 0; w < kWarps; ++w) reach |= room_.reach[w];
    return bit_width(reach);
  }

  __device__ Orders orders_of(const Orders& a, const Orders& b, const Choice<T>& choice) const {
    Orders orders{a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z, 0};
    const bool none = orders.x + orders.y + orders.z == 0;
    orders.base = none ? (choice.is_second(a.base, b.base) ? b.base : a.base) : staged(0);
    return orders;
  }

  // Of the chunk that waits: nobody who waits for the size of this one waits for the place of that.
  __device__ void make_room() {
    copy_waiting();
    __syncthreads();
    tell_copied();
  }

  // At once: its values are in memory that the next chunk needs.
  __device__ void copy_with_exact(u32 chunk, const SumWriter& writer, const Choice<T>& choice) {
    waiting_ = typename Loop::Waiting{};
    __syncthreads();
    ResultCopy<T> copy(call_, chunk);
    copy.copy(room_.out, writer.words_without_values());
    copy.copy_exact(writer, choice.exact(), [&](u32 k) { return choice.exact_of(k); });
    copy.tell(room_.sums_out);
  }

  __device__ void write_raw(u32 chunk, const Choice<T>& choice) {
    const DeviceBox& box = room_.boxes[slot_];
    tell_size(call_.to, chunk, box.count * kOfValue, true);
    make_room();
    __syncthreads();
    ResultCopy<T> copy(call_, chunk);
    copy.copy_raw(box.valid(threadIdx.x), [&](u32 k) {
      if ((choice.fill() >> k & 1) != 0) return value_of<T>(call_.to.fill.bits);
      return choice.value_of_quantum(k, staged(kBlock * threadIdx.x + k));
    });
    copy.tell(room_.sums_out);
  }

  // Of damaged operands: others must find their places.
  __device__ void write_nothing(u32 chunk) const {
    tell_size(call_.to, chunk, room_.boxes[slot_].count * kOfValue, true);
    if (threadIdx.x != 0) return;
    call_.to.chunk_sums[chunk] = WordSums{};
    atomicOr(&call_.state->faults, static_cast<u32>(kDamaged));
  }
};

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, kExtremumCtas)
    choose_chunks(const __grid_constant__ SumCall<T> call) {
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  ExtremumLoop<T, kFlat>(call, *reinterpret_cast<ExtremumRoom<T>*>(memory)).run();
}

}  // namespace homz::homcomp::device
