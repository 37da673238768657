// Encodes chunks on the device: a CTA a chunk, a thread a block, which it holds in registers from its values
// to its planes. While a chunk is worked on, the values of the next one are fetched, and the last but one,
// which knows its place by then, is copied to the payload.
#pragma once

#include "codecs/homcomp/device_differences.cuh"
#include "codecs/homcomp/device_encode_room.cuh"

namespace homz::homcomp::device {

template <class T, bool kFlat>
class ChunkEncoder {
 public:
  using Block = u32[kBlock];

  __device__ ChunkEncoder(const EncodeCall<T>& call, EncodeRoom<T>& room, const DeviceBox& box, u32 chunk)
      : call_(call), room_(room), box_(box), chunk_(chunk), valid_(box.valid(threadIdx.x)) {}

  // From the values in room.words to the sizes of the parts, in steps between which the CTA meets. `kWeighs`:
  // orders will be chosen.
  template <bool kWeighs = true>
  __device__ void quantise(Block& v) {
    const BlockMasks masks = quantise_blocks(room_.words, valid_, room_.by, call_.fill, v, [&](u32 i) {
      return call_.data[box_.position(kBlock * threadIdx.x + i)];
    });
    room_.fills[threadIdx.x] = masks.fill;
    room_.vacant[threadIdx.x] = masks.fill | masks.exact;
    has_vacant_ = (masks.fill | masks.exact) != 0;
    const u32 reach = __reduce_or_sync(kAllLanes, masks.reach);
    if (lane_id() == 0) room_.reach[threadIdx.x / 32] = reach;
    pass_ends(v);
    if (!kFlat || !box_.is_full)
      store_quanta<T>(room_.words, threadIdx.x, v);
    else if (kWeighs && !__any_sync(kAllLanes, has_vacant_))  // else it is done once more
      trial().weigh_whole_row(v, v1_, v2_);
  }

  __device__ void meet() {
    has_vacant_ = __syncthreads_or(has_vacant_) != 0;
    if (threadIdx.x == 0) range_ = range();  // now: a warp may be a chunk ahead when the head is written
    take_ends();
  }

  // Behind it, room.words is needed no more in fields of one axis.
  __device__ void choose_orders(Block& v) {
    if (has_vacant_) fill_vacant(v);
    if (!kFlat || has_vacant_ || !box_.is_full) {
      if (!kFlat)
        trial().weigh_all();
      else if (box_.is_full)
        trial().weigh_whole_row(v, v1_, v2_);
      else
        trial().weigh_row();
      __syncthreads();
    }
    orders_ = trial().choose();
    if (!has_vacant_ || orders_.x != 0) return;
    __syncthreads();
    Orders orders = orders_;
    orders.base = static_cast<i32>(static_cast<u32>(orders.base) + kBias<T>);
    settle(orders, v);
  }

  __device__ void take_differences(Block& v) {
    subtract(v);
    take_residuals(v);
  }

  // From residuals on.
  __device__ void take_residuals(Block& v) {
    signs_ = 0;
#pragma unroll
    for (unsigned i = kBlock; i-- > 0;) {
      signs_ = __funnelshift_l(v[i], signs_, 1);
      v[i] = magnitude(static_cast<i32>(v[i]));
    }
    measure(v);
  }

  // The size of the chunk is told. Then all goes to shared memory for which no other chunk has to make room.
  __device__ void place(u32 slot) {
    find_size();
    publish_size();
    note(slot);
  }

  // Where this warp's parts stand, and the size of the chunk.
  __device__ void find_size() {
    const u32 warp = threadIdx.x / 32, lane = lane_id();
    const WarpTotals totals = lane < kWarps ? room_.totals[lane] : WarpTotals{};
    all_.parts = __reduce_add_sync(kAllLanes, totals.parts);
    all_.signs = __reduce_add_sync(kAllLanes, totals.signs);
    const u32 parts = __reduce_add_sync(kAllLanes, lane < warp ? totals.parts : 0);
    segment_ = parts & 0x1fff;
    segment_words_ = __shfl_sync(kAllLanes, totals.words(), static_cast<int>(warp));
    codes_before_ = parts >> 23;
    bytes_before_ += parts >> 13 & 0x3ff;
    signs_before_ += __reduce_add_sync(kAllLanes, lane < warp ? totals.signs : 0) & 0xffff;
    if (has_vacant_) {
      all_.exact = __reduce_add_sync(kAllLanes, totals.exact);
      exact_before_ += __reduce_add_sync(kAllLanes, lane < warp ? totals.exact : 0);
      choose_otherwise();
    }
    const u32 room = EncodeRoom<T>::kHalf - (all_.exact != 0 ? EncodeRoom<T>::kNotes : 0);
    is_large_ = __any_sync(kAllLanes, totals.words() > room);
    codes_at_ = ChunkHead::kBytes + (orders_.base != 0 ? 4 : 0) + count_bits(all_.top());
    head_bytes_ = codes_at_ + all_.codes();
    main_words_ = (head_bytes_ + 3) / 4 + all_.words();
    sparse_words_ = (8 * all_.bytes() + all_.sign_bits() + 31) / 32;
    const u32 value_words = all_.exact * (sizeof(T) / 4), raw_words = box_.count * (sizeof(T) / 4);
    words_ = main_words_ + sparse_words_ + value_words;
    is_raw_ = words_ >= raw_words;
    if (is_raw_) words_ = raw_words;
  }
  __device__ u32 words() const {
    return words_;
  }
  __device__ bool is_raw() const {
    return is_raw_;
  }

  __device__ void publish_size() const {
    if (threadIdx.x != 0) return;
    publish(call_.places + chunk_, kSized | words_);
    *call_.tables.size(chunk_) = static_cast<std::uint16_t>(is_raw_ ? 0 : words_);
  }

  __device__ void note(u32 slot) {
    if (threadIdx.x == 0)
      room_.written[slot] = Coded{chunk_,    (head_bytes_ + 3) / 4, main_words_, sparse_words_, is_raw_,
                                  is_large_, all_.exact != 0};
    if (is_raw_) return;
    if (lane_id() == 0) {
      room_.segments[slot][threadIdx.x / 32][0] = (head_bytes_ + 3) / 4 + segment_;
      room_.segments[slot][threadIdx.x / 32][1] = segment_words_;
    }
    write_head(room_.heads[slot]);
    if (width_ == 1) write_sparse(room_.sparse[slot]);
  }

  // ---- For those who add to the residuals

  // Whether there are values without quanta; else the bit width of those that there are.
  __device__ bool has_vacant() const {
    return has_vacant_;
  }
  __device__ u32 range() const {
    u32 reach = 0;
    for (u32 w = 0; w < kWarps; ++w) reach |= room_.reach[w];
    return bit_width(reach);
  }
  // Orders of others, instead of choosing them; `range` goes to the head.
  __device__ void use_orders(const Orders& orders, u32 range) {
    orders_ = orders;
    orders_.base = orders.x + orders.y + orders.z != 0 ? static_cast<i32>(room_.trial.base - kBias<T>) : 0;
    range_ = range;
  }
  __device__ void subtract(Block& v) const {
    Differences<T, kFlat>{room_.words, box_, orders_}.take(v, v1_, v2_, valid_);
  }
  __device__ i32 add_to_base(i32 base) {
    return orders_.base = static_cast<i32>(static_cast<u32>(orders_.base) + static_cast<u32>(base));
  }

  // Whether no other chunk may wait beside it.
  __device__ bool is_large() const {
    return is_large_;
  }

  // Masks and planes, beside those of the chunk before.
  __device__ void write(const Block& planes, u32 parity) const {
    if (is_raw_) return;
    u32* to = room_.planes_of(threadIdx.x / 32, is_large_, parity) + words_before_;
    if (has_vacant_) to = write_masks(to, room_.notes_of(threadIdx.x / 32, is_large_, parity));
    if (width_ <= 1) return;
    *to = signs_;
    write_planes(planes, are_planes_, width_, to + 1);
  }

 private:
  __device__ OrderTrial<T, kFlat> trial() const {
    return {room_.words, box_, room_.trial};
  }

  // ---- The two quanta in front of the block

  __device__ void pass_ends(const Block& v) {
    if (threadIdx.x == 0) room_.trial.base = v[0];
    if (lane_id() == 31) {
      room_.ends[threadIdx.x / 32][0] = v[kBlock - 1];
      room_.ends[threadIdx.x / 32][1] = v[kBlock - 2];
    }
    v1_ = __shfl_up_sync(kAllLanes, v[kBlock - 1], 1);
    v2_ = __shfl_up_sync(kAllLanes, v[kBlock - 2], 1);
  }
  __device__ void take_ends() {
    if (lane_id() != 0) return;
    const u32 warp = threadIdx.x / 32;
    v1_ = warp == 0 ? room_.trial.base : room_.ends[warp - 1][0];
    v2_ = warp == 0 ? room_.trial.base : room_.ends[warp - 1][1];
  }

  // ---- Positions without quanta of their own

  __device__ u32 fill_mask() const {
    return room_.fills[threadIdx.x];
  }
  __device__ u32 exact_mask() const {
    return room_.vacant[threadIdx.x] & ~room_.fills[threadIdx.x];
  }

  __device__ void fill_vacant(Block& v) {
    if (kFlat && box_.is_full) store_quanta<T>(room_.words, threadIdx.x, v);
    const u32 kept = __ballot_sync(kAllLanes, (valid_ & ~room_.vacant[threadIdx.x]) != 0);
    if (lane_id() == 0) room_.kept[threadIdx.x / 32] = kept;
    __syncthreads();
    settle(Orders{1, 1, 1, first_quantum()}, v);
  }

  __device__ u32 first_quantum_at() const {
    for (u32 warp = 0; warp < kWarps; ++warp)
      if (const u32 kept = room_.kept[warp]; kept != 0) {
        const u32 block = 32 * warp + static_cast<u32>(__ffs(static_cast<int>(kept)) - 1);
        const u32 own = box_.valid(block) & ~room_.vacant[block];
        return kBlock * block + static_cast<u32>(__ffs(static_cast<int>(own)) - 1);
      }
    return ~0u;
  }
  __device__ i32 first_quantum() const {
    const u32 n = first_quantum_at();
    return static_cast<i32>(n == ~0u ? kBias<T> : room_.words[Stage<T>::quantum(n)]);
  }

  __device__ void settle(const Orders& orders, Block& v) {
    const Settler<T> settler(room_.words, room_.vacant, box_, orders);
    const bool has_vacant = room_.vacant[threadIdx.x] != 0;
    if (settler.is_along_row()) {
      const u32 in_front = has_vacant ? settler.in_front(threadIdx.x, room_.kept) : 0;
      __syncthreads();
      if (has_vacant) settler.settle_row(threadIdx.x, in_front);
    } else if (has_vacant) {
      settler.settle(threadIdx.x);
    }
    __syncthreads();
    load_quanta<T>(room_.words, threadIdx.x, v);
    pass_ends(v);
    __syncthreads();
    take_ends();
  }

  // ---- Sizes

  __device__ void measure(Block& sizes) {
    u32 bits = 0;
#pragma unroll
    for (const u32 size : sizes) bits |= size;
    width_ = bit_width(bits);
    are_planes_ = take_planes(sizes, __reduce_or_sync(kAllLanes, bits));
    plane_ = 0;
    if (width_ == 1) plane_ = are_planes_ ? sizes[0] : plane_of(sizes);
    code_ = width_ == 0 ? kZero : width_ == 1 ? bytes_in_use(plane_) : static_cast<u32>(kDense) + width_;
    if (has_vacant_) add_masks_to_code();
    count_parts();
  }

  __device__ static u32 plane_of(const Block& sizes) {
    u32 plane = 0;
#pragma unroll
    for (unsigned i = 0; i < kBlock; ++i) plane += sizes[i] * (1u << i);
    return plane;
  }

  __device__ void add_masks_to_code() {
    if (width_ == 0 && fill_mask() == valid_ && valid_ != 0)
      code_ = kAllFill;
    else
      code_ |= (fill_mask() != 0 ? kFillMask : 0) | (exact_mask() != 0 ? kExactMask : 0);
  }

  // The sums of a warp fit in one number: at most 35 x 32 words, 128 bytes, 1024 signs.
  __device__ void count_parts() {
    const u32 words = width_ > 1 ? width_ + 1 : 0, bytes = width_ == 1 ? count_bits(code_ & 15) : 0;
    const u32 masks = has_vacant_ && code_ != kAllFill ? count_bits(code_ & (kFillMask | kExactMask)) : 0;
    const u32 own = (words + masks) | bytes << 11 | count_bits(plane_) << 19, up_to = sums_up_to(own);
    const u32 before = up_to - own;
    words_before_ = before & 0x7ff;
    bytes_before_ = before >> 11 & 0xff;
    signs_before_ = before >> 19;
    coded_ = __ballot_sync(kAllLanes, code_ != kZero) & warp_blocks();
    const u32 warp = threadIdx.x / 32;
    if (lane_id() == 31) {
      room_.totals[warp].parts = (up_to & 0x7ff) | (up_to >> 11 & 0xff) << 13 | count_bits(coded_) << 23;
      room_.totals[warp].signs = up_to >> 19 | bytes_in_use(coded_) << (16 + 4 * warp);
    }
    if (has_vacant_) count_vacant();
  }

  __device__ void count_vacant() {
    const u32 warp = threadIdx.x / 32, blocks = warp_blocks();
    const u32 zeros = __ballot_sync(kAllLanes, code_ == kZero) & blocks;
    const u32 all_fills = __ballot_sync(kAllLanes, code_ == kAllFill);
    const u32 exact = sums_up_to(count_bits(exact_mask()));
    exact_before_ = exact - count_bits(exact_mask());
    if (lane_id() == 31) {
      room_.zeros[warp] = zeros;
      room_.all_fills[warp] = all_fills;
      room_.totals[warp].exact = exact;
    }
  }

  __device__ u32 warp_blocks() const {  // those of the warp that exist: a mask
    const u32 all = box_.blocks(), before = threadIdx.x & ~31u;
    return all >= before + 32 ? ~0u : all <= before ? 0 : (1u << (all - before)) - 1;
  }
  // Blocks without a code are all fill if more are so than are zero; then other blocks have codes.
  __device__ void choose_otherwise() {
    u32 zeros = 0, all_fills = 0;
    for (u32 w = 0; w < kWarps; ++w) {
      zeros += count_bits(room_.zeros[w]);
      all_fills += count_bits(room_.all_fills[w]);
    }
    is_else_fill_ = all_fills > zeros;
    if (!is_else_fill_) return;
    u32 codes = 0, top = 0;
    for (u32 w = 0; w < kWarps; ++w) {
      const u32 left = box_.blocks() > 32 * w ? box_.blocks() - 32 * w : 0;
      const u32 coded = ~room_.all_fills[w] & (left >= 32 ? ~0u : (1u << left) - 1);
      if (w == threadIdx.x / 32) coded_ = coded, codes_before_ = codes;
      codes += count_bits(coded);
      top |= bytes_in_use(coded) << 4 * w;
    }
    all_.parts = (all_.parts & 0x7fffff) | codes << 23;
    all_.signs = all_.sign_bits() | top << 16;
  }

  // ---- The chunk

  __device__ void write_head(u32* coded) const {
    std::byte* const head = reinterpret_cast<std::byte*>(coded);
    const u32 top = all_.top();
    if (threadIdx.x == 0) {
      const u32 flags =
          orders_.x | (orders_.y != 0 ? ChunkHead::kOrderY : 0) | (orders_.z != 0 ? ChunkHead::kOrderZ : 0) |
          (orders_.base != 0 ? ChunkHead::kHasBase : 0) | (is_else_fill_ ? ChunkHead::kElseFill : 0);
      coded[0] = flags | range_ << 8 | top << 16;
      if (orders_.base != 0) coded[1] = static_cast<u32>(orders_.base);
      for (u32 at = head_bytes_; at % 4 != 0; ++at) head[at] = std::byte{0};
    }
    const u32 bitmap = coded_ >> (lane_id() & 24) & 0xff;
    if (threadIdx.x % 8 == 0 && bitmap != 0)
      head[codes_at_ - count_bits(top >> threadIdx.x / 8)] = static_cast<std::byte>(bitmap);
    if ((coded_ >> lane_id() & 1) != 0)
      head[codes_at_ + codes_before_ + count_bits(coded_ & lanes_before())] = static_cast<std::byte>(code_);
  }

  __device__ void write_sparse(u32* sparse) const {
    put_bits(sparse, 8 * bytes_before_, close_up(plane_, code_));
    put_bits(sparse, 8 * all_.bytes() + signs_before_, close_bits_up(signs_, plane_));
  }

  __device__ u32* write_masks(u32* to, u32* notes) const {
    const u32 fill = fill_mask(), exact = exact_mask();
    if (all_.exact != 0) {
      notes[lane_id()] = exact;
      reinterpret_cast<std::uint16_t*>(notes + 32)[lane_id()] = static_cast<std::uint16_t>(exact_before_);
    }
    if (code_ != kAllFill && fill != 0) *to++ = fill;
    if (exact != 0) *to++ = exact;
    return to;
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

  const EncodeCall<T>& call_;
  EncodeRoom<T>& room_;
  const DeviceBox& box_;
  const u32 chunk_, valid_;
  Orders orders_;
  u32 range_ = 0;  // thread 0: for the head
  bool has_vacant_, are_planes_, is_raw_, is_large_, is_else_fill_ = false;
  u32 v1_, v2_;  // quanta in front of the block
  u32 width_, plane_, code_, signs_, coded_, codes_before_;
  u32 words_before_, bytes_before_, signs_before_, exact_before_;  // words: in the warp; else: in the chunk
  u32 segment_, segment_words_;                                    // of this warp
  WarpTotals all_{};
  u32 codes_at_, head_bytes_, main_words_, sparse_words_, words_;
};

}  // namespace homz::homcomp::device
