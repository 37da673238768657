// Reads a chunk in shared memory, a thread a block: its head, masks and planes. Nothing in it is trusted.
#pragma once

#include "homomorphic/homcomp/device_call.cuh"

namespace homz::homcomp::device {

class CodedBlock {
 public:
  // `coded`: the chunk's words, as many of them as kMostCoded tells.
  __device__ CodedBlock(const u32* coded, u32 words, u32 blocks, u32 valid, bool has_fill, BlockRoom& room)
      : coded_(coded), words_(words), blocks_(blocks), valid_(valid), has_fill_(has_fill), room_(room) {}

  // All threads meet in both, and get the same answer: whether it is a chunk so far.
  __device__ bool read_head() {
    begin_head();
    __syncthreads();
    return finish_head();
  }
  // Masks, planes of sparse blocks, and whether all parts add up to the chunk.
  __device__ bool read_masks(u32 value_words) {
    begin_masks();
    if (has_shared_parts()) __syncthreads();
    return finish_masks(value_words);
  }

  // ---- The same for those who read several at once: all threads must meet in between.

  __device__ void begin_head() {
    const u32 first = coded_[0], flags = first & 0xff, top = first >> 16;
    bool good = flags < 2 * ChunkHead::kElseFill && (flags & ChunkHead::kOrderX) != 3 &&
                (first >> 8 & 0xff) <= ChunkHead::kMaxRange && top >> (blocks_ + 7) / 8 == 0;
    const bool has_base = (flags & ChunkHead::kHasBase) != 0;
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
    if (!has_fill_) good = good && otherwise == kZero && code_ != kAllFill && (code_ & kFillMask) == 0;
    const u32 bytes = codes_at + codes;
    head_words_ = (bytes + 3) / 4;
    if (bytes % 4 != 0) good = good && coded_[head_words_ - 1] >> 8 * (bytes % 4) == 0;
    share_sizes(good && head_words_ <= words_);
  }

  __device__ static Orders orders_of(u32 flags, u32 base) {
    return Orders{flags & ChunkHead::kOrderX, (flags & ChunkHead::kOrderY) != 0,
                  (flags & ChunkHead::kOrderZ) != 0, static_cast<i32>(base)};
  }

  __device__ bool finish_head() {
    const uint4* const totals = reinterpret_cast<const uint4*>(room_.totals);
    const uint4 front = totals[0], back = totals[1];  // parts and flags of two warps each
    const OverWarps parts(uint4{front.x, front.z, back.x, back.z});
    const u32 before = words_before_ + parts.before, flags = front.y | front.w | back.y | back.w;
    words_before_ = before & 0xffff;
    bytes_before_ = before >> 16;
    sparse_at_ = head_words_ + (parts.all & 0xffff);
    magnitude_bytes_ = parts.all >> 16;
    has_exact_ = (flags & kExacts) != 0;
    has_masks_ = (flags & kMasks) != 0;
    widest_ = flags < 8 ? 2 : flags >> 31 != 0 ? 32 : bit_width(flags) - 1;
    return (flags & kWrong) == 0 && sparse_at_ + (magnitude_bytes_ + 3) / 4 <= words_;
  }

  __device__ void begin_masks() {
    at_ = coded_ + head_words_ + words_before_;
    fill_ = exact_ = plane_ = signs_ = 0;
    if (!has_shared_parts()) return;
    const bool good = code_ < kAllFill || take_masks();
    if (is_sparse(static_cast<std::uint8_t>(code_))) plane_ = spread(bits_at(8 * bytes_before_));
    share_signs(good);
  }
  __device__ bool has_shared_parts() const { return has_masks_ || magnitude_bytes_ != 0; }
  __device__ bool finish_masks(u32 value_words) {
    if (!has_shared_parts()) {
      take_dense();
      return sparse_at_ == words_;
    }
    if (!take_signs(value_words)) return false;
    take_dense();
    return true;
  }

  // ---- The chunk

  __device__ Orders orders() const {
    return orders_of(coded_[0] & 0xff, (coded_[0] & ChunkHead::kHasBase) != 0 ? coded_[1] : 0);
  }
  __device__ u32 range() const { return coded_[0] >> 8 & 0xff; }
  __device__ u32 widest() const { return widest_; }  // at least the width of each block
  __device__ bool has_exact() const { return has_exact_; }
  __device__ bool has_masks() const { return has_masks_; }
  __device__ u32 values_at() const { return values_at_; }  // words in front of the exact values

  // ---- The block

  __device__ u32 width() const { return width_; }
  __device__ u32 signs() const { return signs_; }
  __device__ u32 plane(u32 k) const { return k == 0 ? plane_ : k < width_ ? at_[1 + k] : 0; }
  __device__ u32 fill() const { return fill_; }
  __device__ u32 exact() const { return exact_; }
  __device__ u32 values_before() const { return values_before_; }  // exact ones, of blocks in front

  __device__ void read_residuals(u32 (&v)[kBlock]) const {
    read_planes(at_ + 1, plane_, width_, v);
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i)
      if ((signs_ >> i & 1) != 0) v[i] = 0 - v[i];
  }

 private:
  enum Flags : u32 { kWrong = 1, kExacts = 2, kMasks = 4 };  // and bit w from 3 on: a width, or 32

  // Reads anywhere in the head's largest extent stay within shared memory; what is behind the chunk's end is
  // found out afterwards.
  __device__ u32 byte_at(u32 at) const {
    return reinterpret_cast<const unsigned char*>(coded_)[at];
  }

  // Of the bits of all bitmaps, and of those that belong to warps in front of this one.
  __device__ void count_codes(u32 bitmaps_at, u32 top, u32& all, u32& before) const {
    const u32 lane = lane_id(), bits = lane < 16 ? count_bits(byte_at(bitmaps_at + lane)) : 0;
    const u32 groups_before = count_bits(top & ((1u << threadIdx.x / 32 * 4) - 1));
    const u32 counts = __reduce_add_sync(
        kAllLanes, (lane < count_bits(top) ? bits : 0) | (lane < groups_before ? bits << 16 : 0));
    all += counts & 0xffff;
    before += counts >> 16;
  }

  // Sizes of the blocks' parts, summed up to this one.
  __device__ void share_sizes(bool good) {
    const u32 form = code_ & 63, warp = threadIdx.x / 32;
    const bool sparse = form - 1 < kDense - 1u, dense = form > kDense && form != kAllFill;
    u32 own = dense ? form - kDense + 1 : sparse ? count_bits(form) << 16 : 0;
    if (code_ > kAllFill) own += count_bits(code_ >> 6);
    if (!good) own = 0;
    const u32 up_to = sums_up_to(own);
    words_before_ = up_to - own;
    u32 flags = dense && form > kDense + 2 ? 1u << (form < kDense + 31 ? form - kDense : 31) : 0;
    if (!good) flags |= kWrong;
    if ((code_ & kExactMask) != 0) flags |= kExacts;
    if (code_ >= kAllFill) flags |= kMasks;
    flags = __reduce_or_sync(kAllLanes, flags);
    if (lane_id() == 31) room_.totals[warp] = {up_to, flags};
  }

  __device__ bool take_masks() {
    if (code_ == kAllFill) {
      fill_ = valid_;
      return true;
    }
    if ((code_ & kFillMask) != 0) fill_ = *at_++;
    if ((code_ & kExactMask) != 0) exact_ = *at_++;
    return (fill_ & exact_) == 0 && ((fill_ | exact_) & ~valid_) == 0;
  }

  __device__ void take_dense() {
    const u32 form = code_ & 63;
    const bool dense = form > kDense && form != kAllFill;
    width_ = dense ? form - kDense : plane_ != 0 ? 1 : 0;
    if (dense) signs_ = at_[0], plane_ = at_[1];
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

  __device__ void share_signs(bool good) {
    const u32 parts = count_bits(plane_) | count_bits(exact_) << 16;
    const u32 up_to = sums_up_to(parts), wrong = __ballot_sync(kAllLanes, !good);
    values_before_ = up_to - parts;
    if (lane_id() == 31) room_.signs[threadIdx.x / 32] = up_to | (wrong != 0 ? BlockRoom::kWrong : 0);
  }
  __device__ bool take_signs(u32 value_words) {
    uint4 signs = *reinterpret_cast<const uint4*>(room_.signs);
    if (((signs.x | signs.y | signs.z | signs.w) & BlockRoom::kWrong) != 0) return false;
    const OverWarps parts(signs);
    const u32 before = values_before_ + parts.before, all = parts.all;
    const u32 signs_before = before & 0xffff, bits = 8 * magnitude_bytes_ + (all & 0xffff);
    values_before_ = before >> 16;
    values_at_ = sparse_at_ + (bits + 31) / 32;
    if (values_at_ + (all >> 16) * value_words != words_) return false;
    if (bits % 32 != 0 && coded_[values_at_ - 1] >> bits % 32 != 0) return false;
    if (plane_ != 0) signs_ = spread_bits(bits_at(8 * magnitude_bytes_ + signs_before), plane_);
    return true;
  }

  const u32* const coded_;
  const u32 words_, blocks_, valid_;
  const bool has_fill_;
  BlockRoom& room_;
  const u32* at_;  // the planes of a dense block, its signs in front
  u32 widest_, code_, head_words_, words_before_, bytes_before_, sparse_at_, magnitude_bytes_;
  u32 width_, fill_, exact_, plane_, signs_, values_at_ = 0, values_before_ = 0;
  bool has_exact_, has_masks_;
};

}  // namespace homz::homcomp::device
