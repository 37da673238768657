// The kernel of a linear combination: a CTA a chunk.
#pragma once

#include "homomorphic/homcomp/device_loop.cuh"
#include "homomorphic/homcomp/device_values.cuh"

namespace homz::homcomp::device {

// The loop of a CTA over chunks. Their operands come to shared memory one after the other, each while the one
// before it is worked on if there is room for both; a chunk of the result goes to its place when the next one
// is complete.
//
// The loop begins without the code for chunks that are added by value, and with few planes. It goes on with
// all there is (`kMixed`) from the first chunk on that needs it: registers that are kept in memory cost more.
template <class T, bool kFlat, bool kMixed>
class SumLoop : private ChunkLoop<T, kFlat, SumRoom<T>> {
  using Loop = ChunkLoop<T, kFlat, SumRoom<T>>;

 public:
  static constexpr u32 kPlanes = kMixed ? kBlock : 20;

  __device__ SumLoop(const SumCall<T>& call, SumRoom<T>& room)
      : Loop(call, room), shift_(call.state->linear.shift) {}

  __device__ void run() {
    u32 chunk = first_ticket();
    if (chunk == kAdder) return add_up();
    if (chunk >= chunks()) return;
    note_places(ask(chunk), chunk, 0);
    const u32 next = first_ticket();
    fetch(chunk, 0, 0);
    run(chunk, next);
  }

  // From a chunk that is added by value on.
  __device__ void go_on(u32 chunk, u32 next, u32 after_next, u32 slot, bool has_exact,
                        const ParkedChunk& parked) {
    slot_ = slot;
    has_exact_ = has_exact;
    write_by_values(chunk, next, parked);
    slot_ ^= 1;
    run(next, after_next);
  }

 private:
  using Loop::add_up, Loop::ask, Loop::chunks, Loop::copy_waiting, Loop::draw_ticket, Loop::finish,
      Loop::first_ticket, Loop::kAdder, Loop::kNone, Loop::note_places, Loop::operand, Loop::tell_copied,
      Loop::tell_next;
  using Loop::call_, Loop::room_, Loop::slot_, Loop::waiting_;
  static constexpr u32 kGap = 4;  // words: a reader of bits may look at one behind the last

  struct Words {  // of operands, in room.operands
    u32 begin = 0, middle = 0, end = 0, operands = 0;
    __device__ u32 first(u32 k) const { return k == 0 ? begin : middle; }
  };

  // To the last chunk.
  __device__ void run(u32 chunk, u32 next) {
    for (; chunk < chunks(); slot_ ^= 1) {
      u32 after_next;
      const bool is_written = step(chunk, next, after_next);
      if (!is_written) {
        const ParkedChunk parked = park();
        if constexpr (!kMixed)
          return go_on_mixed(call_, room_, chunk, next, after_next, slot_, has_exact_, parked);
        write_by_values(chunk, next, parked);
      }
      chunk = next;
      next = after_next;
    }
    finish();
  }

  // Makes room of what is under way.
  __device__ ParkedChunk park() {
    wait_for_copies();
    if (waiting_.chunk == kNone) return {kNone, 0};
    const ParkedChunk parked{waiting_.chunk, waiting_.words};
    for (u32 i = threadIdx.x; i < parked.words; i += kThreads)
      call_.rooms[blockIdx.x].parked[i] = room_.out[i];
    waiting_ = typename Loop::Waiting{};
    return parked;
  }

  __device__ static __noinline__ void go_on_mixed(const SumCall<T>& call, SumRoom<T>& room, u32 chunk,
                                                  u32 next, u32 after_next, u32 slot, bool has_exact,
                                                  const ParkedChunk& parked) {
    SumLoop<T, kFlat, true>(call, room).go_on(chunk, next, after_next, slot, has_exact, parked);
  }

  // ---- What comes next

  // Operands from the i-th on: beside the words that are worked on, or not yet.
  __device__ void fetch(u32 chunk, u32 slot, u32 i) {
    next_ = Words{};
    is_late_ = false;
    if (chunk >= chunks()) return;
    const CodedWords<T>* const words = room_.words[slot] + i;
    const u32 first = words[0].room(), second = i + 1 < call_.count ? words[1].room() : 0;
    const bool are_two = i + 1 < call_.count && first + second <= SumRoom<T>::kOperands;
    const u32 room = first + (are_two ? second : 0);
    const u32 behind = words_.end == 0 ? 0 : words_.end + kGap;
    const u32 begin = behind + room <= SumRoom<T>::kOperands ? behind : 0;
    next_ = {begin, begin + first, begin + room, are_two ? 2u : 1u};
    is_late_ = begin == 0 && words_.end != 0 && room > words_.begin;
    if (is_late_) return;
    words[0].fetch(room_.operands + begin);
    if (are_two) words[1].fetch(room_.operands + begin + first);
  }
  // When the words that were in the way have been read, and all threads have met since.
  __device__ void fetch_late(u32 chunk, u32 slot, u32 i) {
    if (!is_late_) return;
    words_ = Words{};
    fetch(chunk, slot, i);
  }

  // ---- A chunk. Tells whether it could be added as planes, and the number of the one after the next.
  __device__ bool step(u32 chunk, u32 next, u32& after_next) {
    const u64 asked = ask(next);
    const u32 drawn = threadIdx.x == 0 ? draw_ticket() : 0;
    SumBlock<kPlanes> sum;
    DevicePlaneSum<kPlanes> planes(sum);
    SumHead head(shift_);
    bool good = true;
    for (u32 i = 0; i < call_.count && good; i += words_.operands) {
      if (is_late_) __syncthreads();
      fetch_late(chunk, slot_, i);
      words_ = next_;
      wait_for_copies();
#pragma unroll
      for (u32 k = 0; k < kTogether; ++k)
        if (k < words_.operands)
          note_fetched(room_.words[slot_][i + k], room_.operands + words_.first(k), room_.sums[k]);
      __syncthreads();
      if (i == 0) tell_next(asked, next, drawn);
      if (lane_id() == 0 && threadIdx.x / 32 < words_.operands)
        tell_sums(room_.sums[threadIdx.x / 32], operand(i + threadIdx.x / 32).chunk_sums + chunk);
      good = add_operands(chunk, next, i, head, planes);
    }
    after_next = room_.next;
    planes.finish();
    return good && write(chunk, next, head, sum);
  }

  __device__ CodedBlock block_of(u32 i, u32 k) const {
    const DeviceBox& box = room_.boxes[slot_];
    const CodedWords<T>& coded = room_.words[slot_][i];
    return CodedBlock(room_.operands + words_.first(k) + coded.shift(), coded.words(), box.blocks(),
                      box.valid(threadIdx.x), call_.to.fill.is_declared != 0, room_.blocks[k]);
  }
  // Whether it may be a coded chunk.
  __device__ bool is_coded(u32 i) const {
    const ChunkPlace place = unpack_place(room_.places[slot_][i]);
    return place.is_good && !place.is_raw &&
           place.words <= room_.boxes[slot_].count * static_cast<u32>(sizeof(T) / 4);
  }

  // Whether planes do so far. What comes next is fetched meanwhile.
  __device__ bool add_operands(u32 chunk, u32 next, u32 i, SumHead& head, DevicePlaneSum<kPlanes>& planes) {
    const bool are_two = words_.operands == kTogether;
    CodedBlock blocks[kTogether] = {block_of(i, 0), block_of(are_two ? i + 1 : i, are_two ? 1 : 0)};
    bool good = call_.is_plain != 0 && is_coded(i) && (!are_two || is_coded(i + 1));
    if (good) blocks[0].begin_head();
    if (good && are_two) blocks[1].begin_head();
    __syncthreads();
    if (i + words_.operands < call_.count)
      fetch(chunk, slot_, i + words_.operands);
    else
      fetch(next, slot_ ^ 1, 0);
    has_exact_ = false;
    if (!good || !take_head(blocks[0], i, head) || (are_two && !take_head(blocks[1], i + 1, head)))
      return false;
    blocks[0].begin_masks();
    if (are_two) blocks[1].begin_masks();
    if (blocks[0].has_shared_parts() || (are_two && blocks[1].has_shared_parts())) __syncthreads();
    good = blocks[0].finish_masks(sizeof(T) / 4);
    if (are_two) good = blocks[1].finish_masks(sizeof(T) / 4) && good;
    return good && add(blocks[0], i, planes) && (!are_two || add(blocks[1], i + 1, planes));
  }

  __device__ bool take_head(CodedBlock& block, u32 i, SumHead& head) {
    if (!block.finish_head()) return false;
    has_exact_ |= block.has_exact();
    head.add(block.orders(), block.range(), call_.operands[i].factor, i == 0);
    return !has_exact_ && !head.differ && !head.may_overflow();
  }

  __device__ bool add(const CodedBlock& block, u32 i, DevicePlaneSum<kPlanes>& planes) {
    const u32 flip = call_.operands[i].factor == 1 ? 0 : ~0u, order = block.orders().x;
    if (i == 0) order_ = order;
    const bool is_lower = order < order_;
    if (!planes.has_room(is_lower ? 0 : order - order_, block.widest() + is_lower)) return false;
    for (; order_ < order; ++order_) planes.raise(behind(), room_.lasts);
    planes.add(block, flip);
    if (is_lower) planes.raise_term(block, flip, behind(), room_.lasts);
    return true;
  }

  // Positions of the block that have one in front of them in their row.
  __device__ u32 behind() const {
    const DeviceBox& box = room_.boxes[slot_];
    const u32 starts =
        kFlat || box.is_row() ? static_cast<u32>(threadIdx.x == 0) : box.row_starts(threadIdx.x);
    return box.valid(threadIdx.x) & ~starts;
  }

  // ---- The result

  // Whether it is smaller than its values.
  __device__ bool write(u32 chunk, u32 next, const SumHead& head, const SumBlock<kPlanes>& block) {
    const DeviceBox& box = room_.boxes[slot_];
    copy_waiting();
    SumWriter writer(box, room_.writer);
    writer.measure(block);
    __syncthreads();
    tell_copied();
    fetch_late(next, slot_ ^ 1, 0);
    writer.place(head.orders, sizeof(T));
    if (writer.is_raw()) return false;
    waiting_ = {chunk, writer.words(), 0};
    tell_size(call_.to, chunk, writer.words(), false);
    writer.write(block, head.orders, head.range(), room_.out);
    return true;
  }

  // Once more, alone.
  __device__ void write_by_values(u32 chunk, u32 next, const ParkedChunk& parked) {
    write_values(call_, room_, chunk, slot_, has_exact_, parked);
    words_ = Words{};
    fetch(next, slot_ ^ 1, 0);
  }
  __device__ static __noinline__ void write_values(const SumCall<T>& call, SumRoom<T>& room, u32 chunk,
                                                   u32 slot, bool has_exact, const ParkedChunk& parked) {
    ValueSum<T, kFlat>(call, room, room.boxes[slot], chunk, slot, parked).write(has_exact);
    __syncthreads();
  }

  const i32 shift_;
  Words words_, next_;      // those that are worked on, and those that are being fetched
  bool is_late_ = false;    // the latter wait for room
  u32 order_ = 0;           // along x, of the sum
  bool has_exact_ = false;  // why planes do not do
};

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, kSummingCtas)
    sum_chunks(const __grid_constant__ SumCall<T> call) {
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  SumLoop<T, kFlat, false>(call, *reinterpret_cast<SumRoom<T>*>(memory)).run();
}

}  // namespace homz::homcomp::device
