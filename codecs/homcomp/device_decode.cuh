// Decodes chunks on the device: a CTA a chunk, a thread a block. While a chunk is worked on, the words of the
// next one are fetched. Nothing in the payload is trusted.
#pragma once

#include "codecs/homcomp/device_coded_words.cuh"
#include "codecs/homcomp/device_lines.cuh"

namespace homz::homcomp::device {

struct DecodeTotals {  // of a warp's blocks
  u32 parts;           // words of masks and planes, from bit 16 on bytes of sparse magnitudes
  u32 flags;           // bit 0: something is wrong, bit 1: there are exact values, bit 2: or other masks
};

template <class T>
struct DecodeRoom {  // shared memory
  // Values of f32 are put together in the end where the chunk's words were, while the next one's are fetched
  // to the other half. With f64 there is no room for two halves: the next words come when all have been read.
  static constexpr bool kHasHalves = sizeof(T) == 4;
  static constexpr unsigned kCoded = kMostCoded<T> + 8;
  alignas(128) u32 stages[kHasHalves ? 2 : 1][kHasHalves ? std::max(Stage<T>::kWords, kCoded) : Stage<T>::kWords];
  alignas(128) u32 coded[kHasHalves ? 4 : kCoded];

  __device__ u32* stage(u32 parity) { return stages[kHasHalves ? parity : 0]; }
  __device__ u32* coded_words(u32 parity) { return kHasHalves ? stages[parity] : coded; }

  DecodeTotals totals[kWarps];
  u32 signs[kWarps];  // of sparse blocks, from bit 16 on exact values
  WordSums sums[kWarps];
  RowEnd ends[kWarps];
  ChunkPlace places[3];  // of this chunk and the next two
  DeviceBox boxes[3];
};

template <class T, bool kFlat>
class ChunkDecoder {
 public:
  __device__ ChunkDecoder(const DecodeCall<T>& call, DecodeRoom<T>& room, u32 parity, const DeviceBox& box,
                          const CodedWords<T>& coded, u32 words, T step)
      : call_(call),
        room_(room),
        box_(box),
        stage_(room.stage(parity)),
        coded_(room.coded_words(parity) + coded.shift()),
        from_(coded.from()),
        words_(words),
        step_(step),
        valid_(box.valid(threadIdx.x)) {}

  // The sums of its residuals along x. Returns whether the chunk is one, the same in all threads; if so they
  // have met, and none needs its words any more.
  __device__ bool read(u32 (&v)[kBlock]) {
    if (!read_head() || !read_sizes()) return false;
    read_residuals(v);
    sum_up(v);
    return true;
  }

  __device__ void write(u32 (&v)[kBlock]) const {
    if (!kFlat && (orders_.y | orders_.z) != 0) sum_lines_up(v);
    restore_values(v);
    __syncwarp();
    store_values<T, kFlat>(call_.grid, box_, stage_, call_.data);
    __syncwarp();
  }

 private:
  // ---- Head. Reads anywhere in the head's largest extent stay within shared memory; what is behind the
  // chunk's end is found out afterwards.

  __device__ u32 byte_at(u32 at) const { return reinterpret_cast<const unsigned char*>(coded_)[at]; }

  __device__ bool read_head() {
    const u32 first = coded_[0], flags = first & 0xff, top = first >> 16;
    bool good = flags < 2 * ChunkHead::kElseFill && (flags & ChunkHead::kOrderX) != 3 &&
                (first >> 8 & 0xff) <= ChunkHead::kMaxRange && top >> (box_.blocks() + 7) / 8 == 0;
    const bool has_base = (flags & ChunkHead::kHasBase) != 0;
    orders_ = Orders{flags & ChunkHead::kOrderX, (flags & ChunkHead::kOrderY) != 0,
                     (flags & ChunkHead::kOrderZ) != 0, has_base ? static_cast<i32>(coded_[1]) : 0};
    const u32 bitmaps = has_base ? 2 : 1, codes_at = 4 * bitmaps + count_bits(top);
    const u32 group = threadIdx.x / 8;
    const bool is_there = (top >> group & 1) != 0;
    const u32 bitmap = is_there ? byte_at(codes_at - count_bits(top >> group)) : 0;
    const bool has_code = (bitmap >> threadIdx.x % 8 & 1) != 0;
    good = good && is_there == (bitmap != 0) && (!has_code || valid_ != 0);
    u32 codes = 0, rank = count_bits(__ballot_sync(kAllLanes, has_code) & lanes_before());
    count_codes(4 * bitmaps, top, codes, rank);
    const u32 otherwise = (flags & ChunkHead::kElseFill) != 0 ? kAllFill : kZero;
    code_ = valid_ == 0 ? kZero : has_code ? byte_at(codes_at + rank) : otherwise;
    good = good && is_code(static_cast<std::uint8_t>(code_));
    if (!call_.fill.is_declared)
      good = good && otherwise == kZero && code_ != kAllFill && (code_ & kFillMask) == 0;
    const u32 bytes = codes_at + codes;
    head_words_ = (bytes + 3) / 4;
    if (bytes % 4 != 0) good = good && coded_[head_words_ - 1] >> 8 * (bytes % 4) == 0;
    return share_sizes(good && head_words_ <= words_);
  }

  // Of the bits of all bitmaps, and of those that belong to warps in front of this one.
  __device__ void count_codes(u32 bitmaps_at, u32 top, u32& all, u32& before) const {
    const u32 lane = lane_id(), bits = lane < 16 ? count_bits(byte_at(bitmaps_at + lane)) : 0;
    all += __reduce_add_sync(kAllLanes, lane < count_bits(top) ? bits : 0);
    before +=
        __reduce_add_sync(kAllLanes, lane < count_bits(top & ((1u << threadIdx.x / 32 * 4) - 1)) ? bits : 0);
  }

  // Sizes of the blocks' parts, summed up to this one.
  __device__ bool share_sizes(bool good) {
    const u32 form = code_ & 63, warp = threadIdx.x / 32;
    const bool sparse = form - 1 < kDense - 1, dense = form > kDense && form != kAllFill;
    u32 own = dense ? form - kDense + 1 : sparse ? count_bits(form) << 16 : 0;
    if (code_ > kAllFill) own += count_bits(code_ >> 6);
    if (!good) own = 0;
    const u32 up_to = sums_up_to(own);
    const u32 wrong = __ballot_sync(kAllLanes, !good),
              exact = __ballot_sync(kAllLanes, (code_ & kExactMask) != 0),
              masks = __ballot_sync(kAllLanes, code_ >= kAllFill);
    if (lane_id() == 31) {
      room_.totals[warp].parts = up_to;
      room_.totals[warp].flags = static_cast<u32>(wrong != 0) | static_cast<u32>(exact != 0) << 1 |
                                  static_cast<u32>(masks != 0) << 2;
    }
    __syncthreads();
    const DecodeTotals totals = lane_id() < kWarps ? room_.totals[lane_id()] : DecodeTotals{};
    const u32 all = __reduce_add_sync(kAllLanes, totals.parts),
              flags = __reduce_or_sync(kAllLanes, totals.flags);
    const u32 before = up_to - own + __reduce_add_sync(kAllLanes, lane_id() < warp ? totals.parts : 0);
    words_before_ = before & 0xffff;
    bytes_before_ = before >> 16;
    sparse_at_ = head_words_ + (all & 0xffff);
    magnitude_bytes_ = all >> 16;
    has_exact_ = (flags & 2) != 0;
    has_masks_ = (flags & 4) != 0;
    return (flags & 1) == 0 && sparse_at_ + (magnitude_bytes_ + 3) / 4 <= words_;
  }

  // ---- Masks, planes of sparse blocks, and whether all parts add up to the chunk

  __device__ bool read_sizes() {
    at_ = coded_ + head_words_ + words_before_;
    fill_ = exact_ = plane_ = signs_ = 0;
    if (!has_masks_ && magnitude_bytes_ == 0) return sparse_at_ == words_;
    if (code_ >= kAllFill) read_masks();
    const bool good = (fill_ & exact_) == 0 && ((fill_ | exact_) & ~valid_) == 0;
    const auto code = static_cast<std::uint8_t>(code_);
    if (magnitude_bytes_ != 0 || has_exact_) {
      if (is_sparse(code)) plane_ = spread(bits_at(8 * bytes_before_));
      return share_signs(good);
    }
    if (__syncthreads_or(!good)) return false;
    return sparse_at_ == words_;
  }

  __device__ void read_masks() {
    if (code_ == kAllFill) {
      fill_ = valid_;
      return;
    }
    if ((code_ & kFillMask) != 0) fill_ = *at_++;
    if ((code_ & kExactMask) != 0) exact_ = *at_++;
  }

  __device__ u32 bits_at(u32 bit) const {  // of the sparse parts: 32, as far as the chunk is long
    const u32* const from = coded_ + sparse_at_ + bit / 32;
    return __funnelshift_r(from[0], from[1], bit % 32);
  }
  __device__ u32 spread(u32 bytes) const {
    u32 plane = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if ((code_ >> k & 1) != 0) {
        plane |= (bytes & 0xff) << 8 * k;
        bytes >>= 8;
      }
    return plane;
  }

  __device__ bool share_signs(bool good) {
    const u32 parts = count_bits(plane_) | count_bits(exact_) << 16;
    const u32 up_to = sums_up_to(parts), wrong = __ballot_sync(kAllLanes, !good);
    if (lane_id() == 31) room_.signs[threadIdx.x / 32] = up_to;
    if (__syncthreads_or(wrong != 0)) return false;
    const u32 of_warp = lane_id() < kWarps ? room_.signs[lane_id()] : 0;
    const u32 all = __reduce_add_sync(kAllLanes, of_warp);
    const u32 before =
        up_to - parts + __reduce_add_sync(kAllLanes, lane_id() < threadIdx.x / 32 ? of_warp : 0);
    const u32 signs_before = before & 0xffff, bits = 8 * magnitude_bytes_ + (all & 0xffff);
    values_before_ = before >> 16;
    values_at_ = sparse_at_ + (bits + 31) / 32;
    if (values_at_ + (all >> 16) * (sizeof(T) / 4) != words_) return false;
    if (bits % 32 != 0 && coded_[values_at_ - 1] >> bits % 32 != 0) return false;
    if (plane_ != 0) signs_ = spread_bits(bits_at(8 * magnitude_bytes_ + signs_before), plane_);
    return true;
  }

  // ---- Residuals, and their sums

  __device__ void read_residuals(u32 (&v)[kBlock]) {
    const u32 form = code_ & 63;
    const bool dense = form > kDense && form != kAllFill;
    const u32 width = dense ? form - kDense : plane_ != 0 ? 1 : 0;
    if (!__any_sync(kAllLanes, width != 0)) {
#pragma unroll
      for (u32& number : v) number = 0;
      return;
    }
    if (dense) signs_ = at_[0], plane_ = at_[1];
    read_planes(at_ + 1, plane_, width, v);
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i)
      if ((signs_ >> i & 1) != 0) v[i] = 0 - v[i];
  }

  // Along x. All threads meet in it.
  __device__ void sum_up(u32 (&v)[kBlock]) const {
    const bool lines = (orders_.y | orders_.z) != 0;
    const u32 base = static_cast<u32>(orders_.base), front = lines ? 0 : base;
    RowSums<kFlat> sums{box_, room_.ends};
    if (orders_.x == 0) __syncthreads();
    if (orders_.x == 1) sums.template add<1>(v, front);
    if (orders_.x == 2) sums.template add<2>(v, front);
    if (lines ? kFlat : orders_.x == 0)  // in one row, base is all that there is in front along y and z
#pragma unroll
      for (u32& number : v) number += base;
  }

  __device__ void sum_lines_up(u32 (&v)[kBlock]) const {
#pragma unroll
    for (u32 i = 0; i < 8; ++i)
      *reinterpret_cast<uint4*>(stage_ + Stage<T>::piece(threadIdx.x, i)) =
          uint4{v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]};
    __syncthreads();
    const u32 base = static_cast<u32>(orders_.base);
    if (orders_.y != 0) sum_lines<T>(stage_, box_, box_.rows, box_.row, orders_.z != 0 ? 0 : base);
    if (orders_.z != 0) sum_lines<T>(stage_, box_, box_.planes, box_.plane(), base);
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      const uint4 piece = *reinterpret_cast<const uint4*>(stage_ + Stage<T>::piece(threadIdx.x, i));
      v[4 * i] = piece.x, v[4 * i + 1] = piece.y, v[4 * i + 2] = piece.z, v[4 * i + 3] = piece.w;
    }
  }

  // ---- Values

  __device__ void restore_values(const u32 (&v)[kBlock]) const {
    constexpr u32 kPiece = Stage<T>::kPiece;
#pragma unroll
    for (u32 i = 0; i < kBlock / kPiece; ++i) {
      alignas(16) T values[kPiece];
#pragma unroll
      for (u32 k = 0; k < kPiece; ++k)
        values[k] = homcomp::restore(static_cast<i32>(v[kPiece * i + k]), step_);
      *reinterpret_cast<uint4*>(stage_ + Stage<T>::piece(threadIdx.x, i)) =
          *reinterpret_cast<const uint4*>(values);
    }
    if ((fill_ | exact_) != 0) patch();
  }

  __device__ void patch() const {
    const u32 block = kBlock * threadIdx.x;
    const auto value = [&](u32 i) -> BitsOf<T>& {
      return *reinterpret_cast<BitsOf<T>*>(stage_ + Stage<T>::value(block + i));
    };
    for (u32 bits = fill_; bits != 0; bits &= bits - 1)
      value(static_cast<u32>(__ffs(static_cast<int>(bits)) - 1)) = call_.fill.bits;
    const u32* from = from_ + values_at_ + values_before_ * (sizeof(T) / 4);
    for (u32 bits = exact_; bits != 0; bits &= bits - 1) {
      BitsOf<T> exact = *from++;
      if (sizeof(T) == 8) exact |= static_cast<BitsOf<T>>(u64{*from++} << 32);
      value(static_cast<u32>(__ffs(static_cast<int>(bits)) - 1)) = exact;
    }
  }

  const DecodeCall<T>& call_;
  DecodeRoom<T>& room_;
  const DeviceBox& box_;
  u32* const stage_;
  const u32* const coded_;  // in shared memory
  const u32* const from_;   // in the payload
  const u32 words_;
  const T step_;
  const u32 valid_;
  const u32* at_;
  Orders orders_;
  u32 code_, head_words_, words_before_, bytes_before_, sparse_at_, magnitude_bytes_;
  u32 fill_, exact_, plane_, signs_, values_at_, values_before_;
  bool has_exact_, has_masks_;
};

}  // namespace homz::homcomp::device
