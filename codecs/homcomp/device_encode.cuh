// Encodes a field on the device: a CTA a chunk, a thread a block. The chunk's values, its quanta and its coded form
// follow each other in the same shared memory.
#pragma once

#include "codecs/homcomp/device_orders.cuh"
#include "codecs/homcomp/device_quanta.cuh"
#include "codecs/homcomp/device_state.cuh"

namespace homz::homcomp::device {

template <class T>
struct EncodeCall {
  DeviceGrid grid;
  StepRule<T> rule;
  FillValue<T> fill;
  const T* data;
  Tables tables;
  u64* places;  // a state a chunk
  GroupState* groups;
  CallState* call;
  Encoded* encoded;
  u64 count;  // values
};

// The totals of a warp's blocks.
struct WarpTotals {
  u32 parts;              // words, sparse magnitude bytes and signs: see Parts
  u32 zeros, all_fills;   // blocks with these codes
  u32 exact;              // values
  u32 reach;
  u32 kept;               // blocks that have quanta of their own
};

// Words (at most 35 x 32), magnitude bytes and signs of the blocks of a warp in one number.
struct Parts {
  __device__ static u32 pack(u32 words, u32 bytes, u32 signs) { return words | bytes << 11 | signs << 19; }
  __device__ static u32 words(u32 parts) { return parts & 0x7ff; }
  __device__ static u32 bytes(u32 parts) { return parts >> 11 & 0xff; }
  __device__ static u32 signs(u32 parts) { return parts >> 19; }
};

template <class T>
struct EncodeRoom {  // shared memory
  alignas(128) u32 words[Stage<T>::kWords];
  u32 sparse[kBlocks + kChunk / 32 + 4];  // magnitudes and signs
  u32 vacant[kBlocks];
  TrialRecord trial;
  WarpTotals totals[kWarps];
  DeviceBox box;
  u64 place;
  u32 chunk;
};

template <class T, bool kFlat>
class ChunkEncoder {
 public:
  __device__ ChunkEncoder(const EncodeCall<T>& call, const Quantiser<T>& by, EncodeRoom<T>& room,
                          const DeviceBox& box, u32 chunk)
      : call_(call), by_(by), room_(room), box_(box), chunk_(chunk), valid_(box.valid(threadIdx.x)) {}

  __device__ void encode() {
    load_values(box_, call_.data, room_.words);
    clear();
    wait_for_copies();
    __syncwarp();
    quantise();
    const Orders orders = choose_orders();
    u32 residuals[kBlock];
    take_differences(orders, residuals);
    const u32 signs = collect_signs(residuals);
    measure(residuals);
    __syncthreads();
    place(orders);
    if (is_raw_) {
      copy_raw();
    } else {
      write_head(orders);
      write_block(residuals, signs);
      find_place();
      copy_out();
    }
  }

 private:
  // ---- Quanta

  __device__ void clear() const {
    for (u32 i = threadIdx.x; i < sizeof(room_.sparse) / 4; i += kThreads) room_.sparse[i] = 0;
    if (threadIdx.x < 12) room_.trial.costs[threadIdx.x] = 0;
  }

  __device__ void quantise() {
    masks_ = quantise_block(room_.words, threadIdx.x, valid_, by_, call_.fill);
    const u32 vacant = masks_.fill | masks_.exact;
    has_vacant_ = __syncthreads_or(vacant != 0) != 0;
    if (!has_vacant_) return;
    room_.vacant[threadIdx.x] = vacant;
    const u32 kept = __ballot_sync(kAllLanes, (valid_ & ~vacant) != 0);
    if (lane_id() == 0) room_.totals[threadIdx.x / 32].kept = kept;
    __syncthreads();
    settle(Orders{1, 1, 1, first_quantum()});
  }

  __device__ i32 first_quantum() const {
    for (u32 warp = 0; warp < kWarps; ++warp)
      if (const u32 kept = room_.totals[warp].kept; kept != 0) {
        const u32 block = 32 * warp + static_cast<u32>(__ffs(static_cast<int>(kept)) - 1);
        const u32 own = box_.valid(block) & ~room_.vacant[block];
        const u32 n = kBlock * block + static_cast<u32>(__ffs(static_cast<int>(own)) - 1);
        return static_cast<i32>(room_.words[Stage<T>::quantum(n)]);
      }
    return 0;
  }

  __device__ void settle(const Orders& orders) const {
    if (room_.vacant[threadIdx.x] != 0)
      Settler<T>(room_.words, room_.vacant, box_, orders).settle(threadIdx.x);
    __syncthreads();
  }

  __device__ Orders choose_orders() const {
    const OrderTrial<T, kFlat> trial(room_.words, box_, room_.trial);
    trial.weigh();
    __syncthreads();
    const Orders orders = trial.choose();
    if (has_vacant_ && orders.x == 0) {
      __syncthreads();
      settle(orders);
    }
    return orders;
  }

  // ---- Residuals

  __device__ void take_differences(const Orders& orders, u32 (&v)[kBlock]) const {
    const Quanta<T> quanta{room_.words};
    const u32 n = kBlock * threadIdx.x, base = static_cast<u32>(orders.base);
    u32 starts = threadIdx.x == 0, seconds = threadIdx.x == 0 ? 2 : 0;
    const bool lines = !kFlat && (orders.y | orders.z) != 0;
    if (!kFlat) find_rows(starts, seconds);
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      const uint4 piece = *reinterpret_cast<const uint4*>(room_.words + Stage<T>::piece(threadIdx.x, i));
      v[4 * i] = piece.x, v[4 * i + 1] = piece.y, v[4 * i + 2] = piece.z, v[4 * i + 3] = piece.w;
    }
    u32 v1 = 0, v2 = 0;  // in front of the block
    if (n != 0) v1 = quanta[n - 1], v2 = quanta[n - 2];
    if (lines) subtract_lines(orders, v, v1, v2);
    if (orders.x == 0) {
      if (!lines)
#pragma unroll
        for (u32& number : v) number -= base;
    } else if (orders.x == 1) {
      difference<1>(v, v1, v2, starts, seconds, lines ? 0 : base);
    } else {
      difference<2>(v, v1, v2, starts, seconds, lines ? 0 : base);
    }
    if (valid_ != ~0u)
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i)
        if ((valid_ >> i & 1) == 0) v[i] = 0;
  }

  // Which positions of the block are the first of a row, and which the second.
  __device__ void find_rows(u32& starts, u32& seconds) const {
    const u32 n = kBlock * threadIdx.x;
    const u32 within = n - box_.by_row.divide(n) * box_.row;
    starts = 0;
    for (u32 at = within == 0 ? 0 : box_.row - within; at < kBlock; at += box_.row) starts |= 1u << at;
    seconds = (starts << 1 | static_cast<u32>(within == 1)) & ~starts;
  }

  // Differences along y and z, of the block and of the two quanta in front of it.
  __device__ void subtract_lines(const Orders& orders, u32 (&v)[kBlock], u32& v1, u32& v2) const {
    const u32 n = kBlock * threadIdx.x;
    if (n != 0) {
      v1 = line_difference(orders, n - 1);
      v2 = line_difference(orders, n - 2);
    }
    if (box_.row % 4 == 0) {
#pragma unroll
      for (u32 i = 0; i < 8; ++i) {
        const auto at = box_.place(n + 4 * i);
        subtract_piece(orders, n + 4 * i, at.y != 0, at.z != 0, v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
      }
    } else {
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i)
        if ((valid_ >> i & 1) != 0) v[i] = line_difference(orders, n + i);
    }
  }

  __device__ u32 line_difference(const Orders& orders, u32 n) const {
    const auto at = box_.place(n);
    const Quanta<T> quanta{room_.words};
    return quanta.corner(box_, n, at.y != 0, at.z != 0, static_cast<u32>(orders.base))
        .difference(orders.y != 0, orders.z != 0);
  }

  // The same for four values of a row.
  __device__ void subtract_piece(const Orders& orders, u32 n, bool has_y, bool has_z, u32& a, u32& b, u32& c,
                                 u32& d) const {
    const u32 base = static_cast<u32>(orders.base);
    const auto subtract = [&](bool is_there, u32 back, u32 otherwise, u32 sign) {
      uint4 piece{otherwise, otherwise, otherwise, otherwise};
      if (is_there)
        piece = *reinterpret_cast<const uint4*>(room_.words + Stage<T>::piece((n - back) >> 5, (n - back) >> 2 & 7));
      a -= piece.x * sign, b -= piece.y * sign, c -= piece.z * sign, d -= piece.w * sign;
    };
    if (orders.y != 0) subtract(has_y, box_.row, base, 1);
    if (orders.z != 0) subtract(has_z, box_.plane(), base, 1);
    if (orders.y != 0 && orders.z != 0) subtract(has_y && has_z, box_.row + box_.plane(), base, ~0u);
  }

  template <unsigned kOrder>
  __device__ void difference(u32 (&v)[kBlock], u32 v1, u32 v2, u32 starts, u32 seconds, u32 front) const {
#pragma unroll
    for (unsigned i = kBlock; i-- > 0;) {
      u32 before = i >= 1 ? v[i - 1] : v1, second = i >= 2 ? v[i - 2] : i == 1 ? v1 : v2;
      if (!kFlat || i < 2) {
        if ((starts >> i & 1) != 0) before = front;
        if (((starts | seconds) >> i & 1) != 0) second = front;
      }
      v[i] -= before;
      if (kOrder == 2) v[i] -= before - second;
    }
  }

  // The sign plane; magnitudes take the place of the residuals.
  __device__ u32 collect_signs(u32 (&v)[kBlock]) const {
    u32 signs = 0;
#pragma unroll
    for (unsigned i = kBlock; i-- > 0;) {
      signs = __funnelshift_l(v[i], signs, 1);
      v[i] = magnitude(static_cast<i32>(v[i]));
    }
    return signs;
  }

  // ---- Sizes

  __device__ void measure(const u32 (&sizes)[kBlock]) {
    u32 bits = 0;
#pragma unroll
    for (const u32 size : sizes) bits |= size;
    width_ = bit_width(bits);
    plane_ = 0;
    if (width_ == 1)
#pragma unroll
      for (unsigned i = 0; i < kBlock; ++i) plane_ |= sizes[i] << i;
    code_ = width_ == 0 ? kZero : width_ == 1 ? sparse_code(plane_) : static_cast<u32>(kDense) + width_;
    if (has_vacant_) add_masks_to_code();
    const u32 parts = Parts::pack(words_of(static_cast<std::uint8_t>(code_)),
                                  width_ == 1 ? count_bits(code_ & 15) : 0, count_bits(plane_));
    const u32 up_to = sums_up_to(parts);
    before_ = up_to - parts;
    WarpTotals& totals = room_.totals[threadIdx.x / 32];
    const u32 zeros = __ballot_sync(kAllLanes, code_ == kZero);
    const u32 reach = __reduce_or_sync(kAllLanes, masks_.reach);
    if (lane_id() == 31) {
      totals.parts = up_to;
      totals.zeros = zeros;
      totals.reach = reach;
    }
    if (has_vacant_) count_vacant(totals);
  }

  __device__ void add_masks_to_code() {
    if (width_ == 0 && masks_.fill == valid_ && valid_ != 0)
      code_ = kAllFill;
    else
      code_ |= (masks_.fill != 0 ? kFillMask : 0) | (masks_.exact != 0 ? kExactMask : 0);
  }

  __device__ void count_vacant(WarpTotals& totals) {
    const u32 all_fills = __ballot_sync(kAllLanes, code_ == kAllFill);
    const u32 exact = sums_up_to(count_bits(masks_.exact));
    exact_before_ = exact - count_bits(masks_.exact);
    if (lane_id() == 31) totals.all_fills = all_fills, totals.exact = exact;
  }

  // What is in front of this warp's parts, and the size of the chunk.
  __device__ void place(const Orders& orders) {
    const u32 warp = threadIdx.x / 32;
    choose_otherwise();
    words_before_ = bytes_before_ = signs_before_ = codes_before_ = 0;
    u32 words = 0, bytes = 0, signs = 0, codes = 0, exact = 0;
    top_ = reach_ = 0;
#pragma unroll
    for (u32 w = 0; w < kWarps; ++w) {
      if (w == warp) {
        words_before_ = words, bytes_before_ = bytes, signs_before_ = signs, codes_before_ = codes;
        exact_before_ += exact;
      }
      const WarpTotals& totals = room_.totals[w];
      words += Parts::words(totals.parts);
      bytes += Parts::bytes(totals.parts);
      signs += Parts::signs(totals.parts);
      if (has_vacant_) exact += totals.exact;
      reach_ |= totals.reach;
      const u32 coded = this->coded(w);
      codes += count_bits(coded);
      if (w == warp) coded_ = coded;
#pragma unroll
      for (u32 k = 0; k < 4; ++k) top_ |= static_cast<u32>((coded >> 8 * k & 0xff) != 0) << (4 * w + k);
    }
    words_before_ += Parts::words(before_);
    bytes_before_ += Parts::bytes(before_);
    signs_before_ += Parts::signs(before_);
    codes_at_ = ChunkHead::kBytes + (orders.base != 0 ? 4 : 0) + count_bits(top_);
    head_bytes_ = codes_at_ + codes;
    all_bytes_ = bytes;
    main_words_ = (head_bytes_ + 3) / 4 + words;
    sparse_words_ = (bytes + (signs + 7) / 8 + 3) / 4;
    const u32 value_words = exact * (sizeof(T) / 4), raw_words = box_.count * (sizeof(T) / 4);
    words_ = main_words_ + sparse_words_ + value_words;
    is_raw_ = words_ >= raw_words;
    if (is_raw_) words_ = raw_words;
    if (threadIdx.x == 0) publish(call_.places + chunk_, (chunk_ == 0 ? kEnd : kSum) | words_);
  }

  // Whether blocks without a code are all fill.
  __device__ void choose_otherwise() {
    otherwise_ = kZero;
    if (!has_vacant_) return;
    u32 zeros = 0, all_fills = 0;
    for (u32 w = 0; w < kWarps; ++w) {
      zeros += count_bits(room_.totals[w].zeros & blocks(w));
      all_fills += count_bits(room_.totals[w].all_fills);
    }
    if (all_fills > zeros) otherwise_ = kAllFill;
  }
  __device__ u32 blocks(u32 warp) const {  // of a warp: a mask
    const u32 all = box_.blocks(), before = 32 * warp;
    return all >= before + 32 ? ~0u : all <= before ? 0 : (1u << (all - before)) - 1;
  }
  __device__ u32 coded(u32 warp) const {
    const WarpTotals& totals = room_.totals[warp];
    return ~(otherwise_ == kZero ? totals.zeros : totals.all_fills) & blocks(warp);
  }

  // ---- The chunk

  __device__ void write_head(const Orders& orders) const {
    std::byte* const head = reinterpret_cast<std::byte*>(room_.words);
    if (threadIdx.x == 0) {
      const u32 flags = orders.x | (orders.y != 0 ? ChunkHead::kOrderY : 0) |
                        (orders.z != 0 ? ChunkHead::kOrderZ : 0) | (orders.base != 0 ? ChunkHead::kHasBase : 0) |
                        (otherwise_ == kAllFill ? ChunkHead::kElseFill : 0);
      room_.words[0] = flags | bit_width(reach_) << 8 | top_ << 16;
      if (orders.base != 0) room_.words[1] = static_cast<u32>(orders.base);
      for (u32 at = head_bytes_; at % 4 != 0; ++at) head[at] = std::byte{0};
    }
    const u32 group = threadIdx.x / 8, bitmap = coded_ >> (lane_id() & 24) & 0xff;
    if (threadIdx.x % 8 == 0 && bitmap != 0)
      head[codes_at_ - count_bits(top_ >> group)] = static_cast<std::byte>(bitmap);
    if ((coded_ >> lane_id() & 1) != 0)
      head[codes_at_ + codes_before_ + count_bits(coded_ & lanes_before())] = static_cast<std::byte>(code_);
  }

  __device__ void write_block(const u32 (&sizes)[kBlock], u32 signs) const {
    u32* to = room_.words + (head_bytes_ + 3) / 4 + words_before_;
    if (has_vacant_ && code_ != kAllFill && (masks_.fill | masks_.exact) != 0) to = write_masks(to);
    if (width_ > 1) {
      *to = signs;
      write_planes(sizes, width_, to + 1);
    } else if (width_ == 1) {
      put_bits(room_.sparse, 8 * bytes_before_, close_up(plane_, code_));
      put_bits(room_.sparse, 8 * all_bytes_ + signs_before_, bits_where(signs, plane_));
    }
  }

  // The bytes of a plane that are not 0, closed up.
  __device__ static u32 close_up(u32 plane, u32 code) {
    u32 packed = 0, at = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if ((code >> k & 1) != 0) {
        packed |= (plane >> 8 * k & 0xff) << at;
        at += 8;
      }
    return packed;
  }

  __device__ u32* write_masks(u32* to) const {
    if (masks_.fill != 0) *to++ = masks_.fill;
    if (masks_.exact != 0) *to++ = masks_.exact;
    BitsOf<T> values;
    u32* value = room_.words + main_words_ + exact_before_ * (sizeof(T) / 4);
    for (u32 bits = masks_.exact; bits != 0; bits &= bits - 1) {
      const u32 n = kBlock * threadIdx.x + static_cast<u32>(__ffs(static_cast<int>(bits)) - 1);
      values = bits_of(call_.data[box_.position(n)]);
      for (u32 k = 0; k < sizeof(T) / 4; ++k) *value++ = static_cast<u32>(values >> 32 * (k * (sizeof(T) / 8)));
    }
    return to;
  }

  // ---- Its place in the payload

  __device__ void find_place() const {
    if (threadIdx.x < 32) {
      const u64 at = look_back(call_.places, chunk_);
      if (lane_id() == 0) {
        if (chunk_ != 0) publish(call_.places + chunk_, kEnd | (at + words_));
        room_.place = at;
        GroupState* const group = call_.groups + chunk_ / kGroup;
        if (chunk_ % kGroup == 0) group->first = at;
        *call_.tables.size(chunk_) = static_cast<std::uint16_t>(is_raw_ ? 0 : words_);
      }
    }
    __syncthreads();
  }

  __device__ void copy_out() const {
    const u64 place = room_.place;
    u32* const to = reinterpret_cast<u32*>(call_.tables.payload + call_.tables.data) + place;
    WordSums sums;
    for (u32 i = threadIdx.x; i < words_; i += kThreads) {
      const u32* const from = i < main_words_                   ? room_.words + i
                              : i < main_words_ + sparse_words_ ? room_.sparse + (i - main_words_)
                                                                : room_.words + (i - sparse_words_);
      const u32 word = *from;
      __stcs(to + i, word);
      sums.add(i, word);
    }
    if ((threadIdx.x & ~31u) < words_) sums.flush(place, &call_.groups[chunk_ / kGroup].sum);
  }

  __device__ void copy_raw() const {
    find_place();
    const u64 place = room_.place;
    u32* const to = reinterpret_cast<u32*>(call_.tables.payload + call_.tables.data) + place;
    WordSums sums;
    constexpr u32 kOfValue = sizeof(T) / 4;
    for (u32 n = threadIdx.x; n < box_.count; n += kThreads) {
      const BitsOf<T> bits = bits_of(call_.data[box_.position(n)]);
      for (u32 k = 0; k < kOfValue; ++k) {
        const u32 word = static_cast<u32>(bits >> 32 * (k * (sizeof(T) / 8)));
        to[kOfValue * n + k] = word;
        sums.add(kOfValue * n + k, word);
      }
    }
    sums.flush(place, &call_.groups[chunk_ / kGroup].sum);
  }

 public:
  __device__ u32 words() const { return words_; }

 private:
  const EncodeCall<T>& call_;
  const Quantiser<T>& by_;
  EncodeRoom<T>& room_;
  const DeviceBox& box_;
  const u32 chunk_, valid_;
  BlockMasks masks_;
  bool has_vacant_, is_raw_;
  u32 width_, plane_, code_, before_, exact_before_ = 0;
  u32 otherwise_, coded_, top_, reach_, words_before_, bytes_before_, signs_before_, codes_before_;
  u32 codes_at_, head_bytes_, all_bytes_, main_words_, sparse_words_, words_;
};

// By one warp, when a chunk is written: whoever is the last of a group finishes it, the last of all the payload.
template <class T>
__device__ inline void complete_chunk(const EncodeCall<T>& call, u32 chunk, u32 words) {
  const u64 group = chunk / kGroup;
  GroupState* const state = call.groups + group;
  const u64 left = call.tables.chunks - group * kGroup, chunks = left < kGroup ? left : kGroup;
  bool is_last = false;
  if (lane_id() == 0) {
    __threadfence();
    is_last = (atomicAdd(&state->words_and_chunks, kOneChunk + words) >> 32) + 1 == chunks;
    __threadfence();
  }
  if (!__any_sync(kAllLanes, is_last)) return;
  if (finish_group(call.tables, state, call.call, group) && lane_id() == 0)
    finish_payload(call.tables, call.call, sizeof(T) * call.count, call.encoded);
}

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, 6) encode_chunks(const __grid_constant__ EncodeCall<T> call) {
  __shared__ EncodeRoom<T> room;
  const Quantiser<T> by =
      quantiser_for(static_cast<T>(value_of<double>(call.call->step_bits)), call.rule.abs_error);
  for (;;) {
    if (threadIdx.x == 0) {
      const u32 chunk = atomicAdd(&call.call->ticket, 1);
      if (chunk < call.grid.chunks) room.box = call.grid.box(chunk);
      room.chunk = chunk;
    }
    __syncthreads();
    const u32 chunk = room.chunk;
    if (chunk >= call.grid.chunks) return;
    DeviceBox flat;
    flat.first = u64{chunk} * call.grid.sides[3];
    flat.row = flat.count = room.box.count;
    ChunkEncoder<T, kFlat> encoder(call, by, room, kFlat ? flat : room.box, chunk);
    encoder.encode();
    __syncthreads();
    if (threadIdx.x < 32) complete_chunk(call, chunk, encoder.words());
  }
}

// In front of it: the step, and states of 0.
template <class T>
__global__ void __launch_bounds__(1024) prepare_encode(const __grid_constant__ EncodeCall<T> call) {
  const u64 first = blockIdx.x * u64{blockDim.x} + threadIdx.x, stride = gridDim.x * u64{blockDim.x};
  for (u64 i = first; i < call.tables.chunks; i += stride) call.places[i] = 0;
  for (u64 i = first; i < call.tables.groups; i += stride) call.groups[i] = GroupState{};
  if (blockIdx.x != 0) return;
  if (threadIdx.x == 0) *call.call = CallState{};
  __shared__ BitsOf<T> largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  constexpr double kUnits = static_cast<double>(1ull << (std::numeric_limits<T>::digits - 2));
  T own = 0;
  if (call.rule.given == 0 && call.rule.use_magnitude)
    own = sampled_by_thread(call.data, call.count, call.fill, call.rule.abs_error * kUnits);
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  if (own > 0) atomicMax(reinterpret_cast<Bits*>(&largest), static_cast<Bits>(bits_of(own)));
  __syncthreads();
  if (threadIdx.x == 0)
    call.call->step_bits = bits_of(static_cast<double>(step_for(call.rule, value_of<T>(largest))));
}

}  // namespace homz::homcomp::device
