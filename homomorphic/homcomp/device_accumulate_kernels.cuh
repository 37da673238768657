// The kernel of a stream plus local values: HomComp's fused kernel, a CTA a chunk. The values are quantised
// and predicted as the stream's chunk is, its residuals are added, and the sum is coded, all in registers.
#pragma once

#include "homomorphic/homcomp/device_values.cuh"

namespace homz::homcomp::device {

template <class T>
struct AccumulateRoom {  // shared memory
  EncodeRoom<T> encode;
  alignas(128) u32 coded[kCodedRoom<T>];  // the stream's chunk
  BlockRoom block;
  WordSums sums[kWarps];
  RowEnd ends[kWarps];
  u64 places[2];  // of the stream's chunks, this and the next one
  CodedWords<T> words[2];
  u32 after_next;
};
// What chunks that are added by value need, in the place of all that.
template <class T>
inline constexpr unsigned kAccumulateShared = std::max(sizeof(AccumulateRoom<T>), sizeof(SumRoom<T>));

template <class T>
inline constexpr unsigned kAccumulatingCtas = sizeof(T) == 4 ? 3 : 2;
static_assert(kAccumulatingCtas<float> * (kAccumulateShared<float> + kSharedOfSystem) <= kSharedMemory);
static_assert(kAccumulatingCtas<double> * (kAccumulateShared<double> + kSharedOfSystem) <= kSharedMemory);

// As EncodeLoop, whose parts it uses. The numbers of chunks are drawn two ahead, to find the stream's in
// time.
template <class T, bool kFlat>
class AccumulateLoop : private EncodeLoop<T, kFlat> {
  using Encoder = ChunkEncoder<T, kFlat>;

 public:
  __device__ AccumulateLoop(const SumCall<T>& call, AccumulateRoom<T>& room)
      : EncodeLoop<T, kFlat>(call.to, room.encode), call_(call), own_(room) {}

  __device__ void run() {
    this->prepare();
    const u32 first = ticket();
    if (first == 0) return this->add_up();
    u32 chunk = first - 1, next = ticket() - 1;
    if (chunk >= chunks()) return;
    note(ask(chunk), chunk, 0);
    __syncthreads();
    load_both(chunk, 0);
    for (; chunk < chunks(); ++this->round_) {
      if (!step(chunk, next)) {
        wait_for_copies();
        this->finish_copies();
        add_by_value(call_, own_, chunk, next, parity());
        this->copied_ = this->told_ = this->round_ + 1;
      }
      chunk = next;
      next = own_.after_next - 1;
    }
    this->finish_copies();
  }

 private:
  static constexpr u32 kOfValue = sizeof(T) / 4;

  __device__ u32 chunks() const { return call_.to.grid.chunks; }
  __device__ u32 parity() const { return this->round_ & 1; }

  // ---- What comes next

  __device__ u32 ticket() const {
    __syncthreads();
    if (threadIdx.x == 0) own_.after_next = this->draw_ticket();
    __syncthreads();
    return own_.after_next;
  }
  __device__ u64 ask(u32 chunk) const {  // in thread 0
    return threadIdx.x == 0 && chunk < chunks() ? call_.places[chunk] : 0;
  }
  __device__ void note(u64 asked, u32 chunk, u32 slot) const {
    if (threadIdx.x == 0) {
      const ChunkPlace place = unpack_place(asked);
      own_.places[slot] = asked;
      own_.words[slot] = place.is_good ? CodedWords<T>(call_.operands[0].from, place) : CodedWords<T>();
    }
    if (!kFlat && threadIdx.x == kThreads - 1 && chunk < chunks())
      own_.encode.boxes[slot] = call_.to.grid.box(chunk);
  }
  __device__ void load_both(u32 chunk, u32 slot) const {
    if (chunk < chunks()) own_.words[slot].fetch(own_.coded);
    this->load(chunk, slot);
  }

  // ---- A chunk

  // Up to its coded form, and the last but one to the payload. False if it must be added by value.
  __device__ bool step(u32 chunk, u32 next) {
    const u32 slot = parity();
    const u64 asked = ask(next);
    const u32 drawn = this->draw_ticket();
    const DeviceBox flat = flat_box(call_.to.grid, chunk);
    const DeviceBox& box = kFlat ? flat : own_.encode.boxes[slot];
    Encoder encoder(call_.to, own_.encode, box, chunk);
    u32 v[kBlock];
    wait_for_copies();
    __syncwarp();
    encoder.template quantise<false>(v);
    const CodedWords<T> coded = own_.words[slot];
    note_fetched(coded, own_.coded, own_.sums);
    encoder.meet();
    this->tell_copied();
    note(asked, next, slot ^ 1);
    if (threadIdx.x == 0) {
      own_.after_next = drawn;
      tell_sums(own_.sums, call_.operands[0].from.chunk_sums + chunk);
    }
    CodedBlock block(own_.coded + coded.shift(), coded.words(), box.blocks(), box.valid(threadIdx.x),
                     call_.to.fill.is_declared != 0, own_.block);
    block.begin_head();
    __syncthreads();
    if (!is_suitable(unpack_place(own_.places[slot]), box, encoder, block)) return false;
    block.begin_masks();
    if (block.has_shared_parts()) __syncthreads();
    if (!block.finish_masks(kOfValue)) return false;
    add(encoder, block, box, v);
    encoder.take_residuals(v);
    __syncthreads();
    encoder.find_size();
    if (encoder.is_raw()) return false;
    encoder.publish_size();
    if (call_.decoded != nullptr) {  // not before: it may take the place of the values
      store_values<T, kFlat>(call_.to.grid, box, own_.encode.words, call_.decoded);
      __syncwarp();
    }
    load_both(next, slot ^ 1);
    write(encoder, v);
    return true;
  }

  // Whether no value of either is stored exactly or fill, no quantum can leave the range, and the values can
  // be predicted as the stream's chunk is.
  __device__ static bool is_suitable(const ChunkPlace& place, const DeviceBox& box, const Encoder& encoder,
                                     CodedBlock& block) {
    if (!place.is_good || place.is_raw || place.words > box.count * kOfValue || !block.finish_head())
      return false;
    const Orders orders = block.orders();
    const bool has_axes =
        (orders.y == 0 || (!kFlat && box.rows > 1)) && (orders.z == 0 || (!kFlat && box.planes > 1));
    return has_axes && !block.has_masks() && !encoder.has_vacant() &&
           reach_of(encoder, block) < static_cast<u32>(kQuantumLimit);
  }
  __device__ static u32 reach_of(const Encoder& encoder, const CodedBlock& block) {
    return ((1u << encoder.range()) - 1) + ((1u << block.range()) - 1);
  }

  // The residuals of the sum, and what it decodes to.
  __device__ void add(Encoder& encoder, const CodedBlock& block, const DeviceBox& box,
                      u32 (&v)[kBlock]) const {
    Orders orders = block.orders();
    encoder.use_orders(orders, bit_width(reach_of(encoder, block)));
    encoder.subtract(v);
    u32 others[kBlock];
    block.read_residuals(others);
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i) v[i] += others[i];
    orders.base = encoder.add_to_base(orders.base);
    if (call_.decoded != nullptr) decode(orders, box, v);
  }

  // To room.words.
  __device__ void decode(const Orders& orders, const DeviceBox& box, const u32 (&residuals)[kBlock]) const {
    u32 v[kBlock];
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i) v[i] = residuals[i];
    u32* const stage = own_.encode.words;
    sum_up<T, kFlat>(orders, box, own_.ends, stage, v);
    const T step = call_.state->linear.scaled_step;
    constexpr u32 kPiece = Stage<T>::kPiece;
#pragma unroll
    for (u32 i = 0; i < kBlock / kPiece; ++i) {
      alignas(16) T values[kPiece];
#pragma unroll
      for (u32 k = 0; k < kPiece; ++k) values[k] = restore(static_cast<i32>(v[kPiece * i + k]), step);
      *reinterpret_cast<uint4*>(stage + Stage<T>::piece(threadIdx.x, i)) =
          *reinterpret_cast<const uint4*>(values);
    }
  }

  __device__ void write(Encoder& encoder, const u32 (&v)[kBlock]) {
    const u32 round = this->round_;
    const bool is_due = this->copied_ + kWaiting<T> <= round;
    const u64 seen = is_due && lane_id() == 0 ? this->place_of(this->copied_) : 0;
    encoder.note(this->slot_of(round));
    const bool is_alone =
        encoder.is_large() || (round != 0 && own_.encode.written[this->slot_of(round - 1)].is_large);
    if (is_alone || is_due) this->copy_up_to(is_alone ? round : round + 1 - kWaiting<T>, seen);
    __syncwarp();
    encoder.write(v, round & 1);
  }

  // ---- By value: the local values are coded to scratch, and both chunks are added there. Nothing is under
  // way, and all of shared memory is of use.

  __device__ static __noinline__ void add_by_value(const SumCall<T>& call, AccumulateRoom<T>& room, u32 chunk,
                                                   u32 next, u32 slot) {
    const DeviceBox box = kFlat ? flat_box(call.to.grid, chunk) : room.encode.boxes[slot];
    const u64 places[2] = {room.places[slot], room.places[slot ^ 1]};
    const u32 after_next = room.after_next;
    const u64 local = encode_aside(call, room.encode, box, chunk);
    auto& space = reinterpret_cast<SumRoom<T>&>(room);
    if (threadIdx.x == 0) space.places[0][0] = places[0], space.places[0][1] = local;
    __syncthreads();
    ValueSum<T, kFlat>(call, space, box, chunk, 0, ParkedChunk{0, 0}).write(false);
    __syncthreads();
    const AccumulateLoop loop(call, room);
    loop.prepare();
    loop.note(places[1], next, slot ^ 1);
    if (threadIdx.x == 0) room.after_next = after_next;
    __syncthreads();
    loop.load_both(next, slot ^ 1);
  }

  // Tells the place, packed.
  __device__ static u64 encode_aside(const SumCall<T>& call, EncodeRoom<T>& room, const DeviceBox& box,
                                     u32 chunk) {
    load_values<T, kFlat>(call.to.grid, box, call.to.data, room.words);
    wait_for_copies();
    __syncwarp();
    Encoder encoder(call.to, room, box, chunk);
    u32 v[kBlock];
    encoder.quantise(v);
    encoder.meet();
    encoder.choose_orders(v);
    encoder.take_differences(v);
    __syncthreads();
    encoder.find_size();
    encoder.note(0);
    encoder.write(v, 0);
    __syncthreads();
    u32* const to = call.rooms[blockIdx.x].local;
    CodedCopy<T, kFlat>(call.to, room, 0, 0).copy_to(to);
    __syncthreads();
    const auto first = static_cast<u64>(to - reinterpret_cast<const u32*>(call.rooms));
    return pack_place({first, encoder.words(), encoder.is_raw(), true});
  }

  const SumCall<T>& call_;
  AccumulateRoom<T>& own_;
};

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, kAccumulatingCtas<T>)
    accumulate_chunks(const __grid_constant__ SumCall<T> call) {
  extern __shared__ uint4 memory[];
  let_next_start();
  wait_for_last();
  AccumulateLoop<T, kFlat>(call, *reinterpret_cast<AccumulateRoom<T>*>(memory)).run();
}

}  // namespace homz::homcomp::device
