// Writes a chunk from planes that threads hold in registers: to shared memory, and from there to its place.
#pragma once

#include "homomorphic/homcomp/device_planes.cuh"

namespace homz::homcomp::device {

class SumWriter {
 public:
  __device__ SumWriter(const DeviceBox& box, WriterRoom& room)
      : count_(box.count), blocks_(box.blocks()), valid_(box.valid(threadIdx.x)), room_(room) {}

  // The parts of the warp's blocks. All threads meet between it and place().
  template <u32 kPlanes>
  __device__ void measure(const SumBlock<kPlanes>& block) {
    plane_ = block.width == 1 ? block.planes[0] : 0;
    code_ = block.width == 0   ? kZero
            : block.width == 1 ? bytes_in_use(plane_)
                               : static_cast<u32>(kDense) + block.width;
    if (block.width == 0 && block.fill == valid_ && valid_ != 0)
      code_ = kAllFill;
    else
      code_ |= (block.fill != 0 ? kFillMask : 0) | (block.exact != 0 ? kExactMask : 0);
    const u32 masks = code_ > kAllFill ? count_bits(code_ >> 6) : 0;
    const u32 words = (block.width > 1 ? block.width + 1 : 0) + masks;
    // The sums of a warp fit in one number: at most 35 x 32 words, 128 bytes, 1024 signs.
    const u32 own = words | (block.width == 1 ? count_bits(code_ & 15) << 11 : 0) | count_bits(plane_) << 19;
    const u32 up_to = sums_up_to(own), before = up_to - own;
    words_before_ = before & 0x7ff;
    bytes_before_ = before >> 11 & 0xff;
    signs_before_ = before >> 19;
    exact_before_ = 0;
    u32 exact = 0;
    if (__any_sync(kAllLanes, block.exact != 0)) {
      exact = sums_up_to(count_bits(block.exact));
      exact_before_ = exact - count_bits(block.exact);
    }
    coded_ = __ballot_sync(kAllLanes, code_ != kZero && valid_ != 0);
    const u32 all_fill = __ballot_sync(kAllLanes, code_ == kAllFill), warp = threadIdx.x / 32;
    if (lane_id() == 31) {
      room_.parts[warp] = (up_to & 0x7ff) | (up_to >> 11 & 0xff) << 13 | count_bits(coded_) << 23;
      room_.signs[warp] = up_to >> 19 | exact << 16;
      room_.top[warp] = bytes_in_use(coded_) << 4 * warp;
      room_.coded[warp] = coded_;
      room_.all_fill[warp] = all_fill;
    }
  }

  // Where the parts stand.
  __device__ void place(const Orders& orders, u32 value_bytes) {
    const OverWarps parts(all_of(room_.parts)), signs(all_of(room_.signs));
    words_before_ += parts.before & 0x1fff;
    bytes_before_ += parts.before >> 13 & 0x3ff;
    signs_before_ += signs.before & 0xffff;
    exact_before_ += signs.before >> 16;
    exact_ = signs.all >> 16;
    codes_ = parts.all >> 23;
    codes_before_ = parts.before >> 23;
    const uint4 top = all_of(room_.top), all_fill = all_of(room_.all_fill);
    top_ = top.x | top.y | top.z | top.w;
    is_else_fill_ = false;
    if ((all_fill.x | all_fill.y | all_fill.z | all_fill.w) != 0) choose_codes();
    codes_at_ = ChunkHead::kBytes + (orders.base != 0 ? 4 : 0) + count_bits(top_);
    head_bytes_ = codes_at_ + codes_;
    magnitude_bytes_ = parts.all >> 13 & 0x3ff;
    main_words_ = (head_bytes_ + 3) / 4 + (parts.all & 0x1fff);
    sparse_words_ = (8 * magnitude_bytes_ + (signs.all & 0xffff) + 31) / 32;
    words_ = main_words_ + sparse_words_ + exact_ * (value_bytes / 4);
    is_raw_ = words_ >= count_ * (value_bytes / 4);
  }

  __device__ bool is_raw() const { return is_raw_; }  // since it would not be smaller
  __device__ u32 words() const { return words_; }
  __device__ u32 words_without_values() const { return main_words_ + sparse_words_; }
  __device__ u32 exact() const { return exact_; }                // values of the chunk
  __device__ u32 exact_before() const { return exact_before_; }  // of blocks in front

  // All but the exact values. The chunk is complete when all threads have met.
  template <u32 kPlanes>
  __device__ void write(const SumBlock<kPlanes>& block, const Orders& orders, u32 range, u32* to) const {
    if (sparse_words_ != 0) {
      for (u32 i = threadIdx.x; i < sparse_words_; i += kThreads) to[main_words_ + i] = 0;
      __syncthreads();
    }
    write_head(orders, range, to);
    u32* at = to + (head_bytes_ + 3) / 4 + words_before_;
    if (code_ > kAllFill) {
      if (block.fill != 0) *at++ = block.fill;
      if (block.exact != 0) *at++ = block.exact;
    }
    if (block.width == 1) {
      put_bits(to + main_words_, 8 * bytes_before_, close_bytes_up(plane_));
      put_bits(to + main_words_, 8 * magnitude_bytes_ + signs_before_, close_bits_up(block.signs, plane_));
    }
    if (block.width > 1) *at = block.signs;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) {
      if (k >= block.most) break;
      if (block.width > 1 && k < block.width) at[1 + k] = block.planes[k];
    }
  }

 private:
  __device__ static uint4 all_of(const u32 (&numbers)[kWarps]) {
    return *reinterpret_cast<const uint4*>(numbers);
  }

  // Blocks without a code are all fill if more are so than are zero.
  __device__ void choose_codes() {
    const u32 warp = threadIdx.x / 32, lane = lane_id();
    const u32 left = blocks_ > 32 * lane ? blocks_ - 32 * lane : 0;
    const u32 blocks = lane >= kWarps || left == 0 ? 0 : left >= 32 ? ~0u : (1u << left) - 1;
    const u32 all_fill = lane < kWarps ? room_.all_fill[lane] : 0,
              own = lane < kWarps ? room_.coded[lane] : 0;
    const u32 kinds = __reduce_add_sync(kAllLanes, count_bits(all_fill) | count_bits(blocks & ~own) << 16);
    is_else_fill_ = (kinds & 0xffff) > kinds >> 16;
    const u32 coded = is_else_fill_ ? blocks & ~all_fill : own;
    const u32 count = count_bits(coded);
    const u32 counts = __reduce_add_sync(kAllLanes, count | (lane < warp ? count << 16 : 0));
    codes_ = counts & 0xffff;
    codes_before_ = counts >> 16;
    top_ = __reduce_or_sync(kAllLanes, lane < kWarps ? bytes_in_use(coded) << 4 * lane : 0);
    coded_ = __shfl_sync(kAllLanes, coded, static_cast<int>(warp));
  }

  __device__ void write_head(const Orders& orders, u32 range, u32* to) const {
    std::byte* const head = reinterpret_cast<std::byte*>(to);
    if (threadIdx.x == 0) {
      const u32 flags =
          orders.x | (orders.y != 0 ? ChunkHead::kOrderY : 0) | (orders.z != 0 ? ChunkHead::kOrderZ : 0) |
          (orders.base != 0 ? ChunkHead::kHasBase : 0) | (is_else_fill_ ? ChunkHead::kElseFill : 0);
      to[0] = flags | range << 8 | top_ << 16;
      if (orders.base != 0) to[1] = static_cast<u32>(orders.base);
      for (u32 at = head_bytes_; at % 4 != 0; ++at) head[at] = std::byte{0};
    }
    const u32 bitmap = coded_ >> (lane_id() & 24) & 0xff;
    if (threadIdx.x % 8 == 0 && bitmap != 0)
      head[codes_at_ - count_bits(top_ >> threadIdx.x / 8)] = static_cast<std::byte>(bitmap);
    if ((coded_ >> lane_id() & 1) != 0)
      head[codes_at_ + codes_before_ + count_bits(coded_ & lanes_before())] = static_cast<std::byte>(code_);
  }

  // The bytes of a sparse plane that are not 0.
  __device__ u32 close_bytes_up(u32 plane) const {
    u32 packed = 0, at = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if ((code_ >> k & 1) != 0) {
        packed |= (plane >> 8 * k & 0xff) << at;
        at += 8;
      }
    return packed;
  }

  const u32 count_, blocks_, valid_;
  WriterRoom& room_;
  u32 plane_, code_, words_before_, bytes_before_, signs_before_, exact_before_;
  u32 coded_, codes_, codes_before_, top_, codes_at_, head_bytes_;
  u32 magnitude_bytes_, main_words_, sparse_words_, words_, exact_;
  bool is_else_fill_, is_raw_;
};

// To the place of a chunk, summing its words.
class SumCopy {
 public:
  // All threads call; returns when the place is known. `seen`: what was seen of it some time ago, in lane 0.
  __device__ SumCopy(const Tables& tables, const u64* place, u64 seen) {
    if (lane_id() == 0 && seen < kPlaced) seen = wait_for_place(place);
    const u64 words = __shfl_sync(kAllLanes, seen & kWordsMask, 0);
    to_ = reinterpret_cast<u32*>(tables.payload + tables.data) + words;
  }

  __device__ void copy(const u32* from, u32 words) {
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += kThreads) put(i, from[i]);
  }
  __device__ void put(u32 at, u32 word) {
    __stcs(to_ + at, word);
    sums_.add(at, word);
  }
  template <class T>
  __device__ void put_value(u32 at, T value) {
    const BitsOf<T> bits = bits_of(value);
    put(at, static_cast<u32>(bits));
    if constexpr (sizeof(T) == 8) put(at + 1, static_cast<u32>(bits >> 32));
  }
  // To shared memory: to be told when the CTA has met.
  __device__ void note(WordSums* of_warps) const {
    note_sums(sums_, of_warps);
  }

 private:
  u32* to_;
  WordSums sums_;
};

}  // namespace homz::homcomp::device
