// What the loops of a CTA over chunks of operands share: numbers of chunks, where their operands stand, and a
// chunk of the result that waits in shared memory until it knows its place.
#pragma once

#include "homomorphic/homcomp/device_writer.cuh"

namespace homz::homcomp::device {

// Tickets count from 1: whoever draws 0 adds up sizes instead.
template <class T, bool kFlat, class Room>
class ChunkLoop {
 public:
  __device__ ChunkLoop(const SumCall<T>& call, Room& room) : call_(call), room_(room) {}

 protected:
  static constexpr u32 kAdder = ~0u, kNone = ~0u;

  // A chunk of the result in room.out.
  struct Waiting {
    u32 chunk = kNone, words = 0;
    u64 seen = 0;  // of its place, in lane 0
  };

  __device__ u32 chunks() const { return call_.to.grid.chunks; }
  __device__ const DecodeCall<T>& operand(u32 i) const { return call_.operands[i].from; }

  __device__ u32 draw_ticket() const { return atomicAdd(&call_.to.call->ticket, 1) - 1; }
  __device__ u32 first_ticket() const {
    __syncthreads();
    if (threadIdx.x == 0) room_.next = draw_ticket();
    __syncthreads();
    return room_.next;
  }

  __device__ void add_up() const {
    if (threadIdx.x >= 32) return;
    const u64 words = place_chunks(call_.to.places, chunks());
    if (threadIdx.x == 0) call_.to.call->end = words;
  }

  // ---- What comes next

  // A thread an operand.
  __device__ u64 ask(u32 chunk) const {
    return threadIdx.x < call_.count && chunk < chunks() ? call_.places[threadIdx.x * u64{chunks()} + chunk]
                                                         : 0;
  }
  __device__ void note_places(u64 asked, u32 chunk, u32 slot) const {
    const u32 i = threadIdx.x;
    if (i < call_.count) {
      const ChunkPlace place = unpack_place(asked);
      room_.places[slot][i] = asked;
      room_.words[slot][i] = place.is_good ? CodedWords<T>(operand(i), place) : CodedWords<T>();
    }
    if (i == kThreads - 1 && chunk < chunks())
      room_.boxes[slot] = kFlat ? flat_box(call_.to.grid, chunk) : call_.to.grid.box(chunk);
  }
  // The places of the next chunk, and the number of the one after it. Late, for they come from afar.
  __device__ void tell_next(u64 asked, u32 next, u32 drawn) {
    note_places(asked, next, slot_ ^ 1);
    if (threadIdx.x == 0) room_.next = drawn;
    if (waiting_.chunk != kNone && lane_id() == 0) waiting_.seen = observe(call_.to.places + waiting_.chunk);
  }

  // ---- The result. Behind copy_waiting() all threads have met since room.out was complete.

  __device__ void copy_waiting() {
    if (waiting_.chunk == kNone) return;
    SumCopy copy(call_.to.tables, call_.to.places + waiting_.chunk, waiting_.seen);
    copy.copy(room_.out, waiting_.words);
    copy.note(room_.sums_out);
    copied_ = waiting_.chunk;
    waiting_ = Waiting{};
  }
  __device__ void tell_copied() {
    if (copied_ == kNone) return;
    if (threadIdx.x == 0) tell_sums(room_.sums_out, call_.to.chunk_sums + copied_);
    copied_ = kNone;
  }
  __device__ void finish() {
    __syncthreads();
    copy_waiting();
    __syncthreads();
    tell_copied();
  }

  const SumCall<T>& call_;
  Room& room_;
  u32 slot_ = 0;
  Waiting waiting_;
  u32 copied_ = kNone;  // a chunk whose sums are to be told
};

}  // namespace homz::homcomp::device
