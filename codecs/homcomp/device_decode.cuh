// Decodes a field on the device: a CTA a chunk, a thread a block. Nothing in the payload is trusted.
#pragma once

#include "codecs/homcomp/device_lines.cuh"
#include "codecs/homcomp/device_state.cuh"
#include "core/status.hpp"

namespace homz::homcomp::device {

template <class T>
struct DecodeCall {
  DeviceGrid grid;
  FillValue<T> fill;
  Tables tables;  // of a payload that is not written to
  T* data;
  u64 words;  // of all chunk data
  GroupState* groups;
  u32* fault;

  __device__ const u32* chunk_data() const {
    return reinterpret_cast<const u32*>(tables.payload + tables.data);
  }
  __device__ void refuse() const {
    if (fault != nullptr) *static_cast<volatile u32*>(fault) = static_cast<u32>(Code::corrupt_stream);
  }
};

// Where a chunk stands, from its group's offset and the sizes in front of it. The same in all lanes of a warp.
struct ChunkPlace {
  u64 group_first;     // word
  u32 before, words;   // of the group's chunks in front of it, and its own
  bool is_raw, is_good;

  template <class T>
  __device__ static ChunkPlace find(const DecodeCall<T>& call, u32 chunk) {
    const Tables& tables = call.tables;
    const u64 group = chunk / kGroup;
    const u32 begin = chunk - chunk % kGroup, index = chunk % kGroup;
    const u64 start = tables.row(group)[0], end = group + 1 < tables.groups ? tables.row(group + 1)[0] : call.words;
    u32 words[2], sizes[2];
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
      const u32 other = begin + 32 * k + lane_id();
      const bool is_chunk = other < call.grid.chunks;
      sizes[k] = is_chunk ? *tables.size(other) : 0;
      words[k] = !is_chunk || sizes[k] != 0 ? sizes[k] : call.grid.count(other) * static_cast<u32>(sizeof(T) / 4);
    }
    const u32 all = __reduce_add_sync(kAllLanes, words[0] + words[1]);
    ChunkPlace place;
    place.group_first = start;
    place.before = __reduce_add_sync(
        kAllLanes, (lane_id() < index ? words[0] : 0) + (lane_id() + 32 < index ? words[1] : 0));
    place.words = __shfl_sync(kAllLanes, index < 32 ? words[0] : words[1], index % 32);
    place.is_raw = __shfl_sync(kAllLanes, index < 32 ? sizes[0] : sizes[1], index % 32) == 0;
    place.is_good = start <= end && end <= call.words && all == end - start && (group != 0 || start == 0);
    return place;
  }
};

struct DecodeTotals {  // of a warp's blocks
  u32 words, bytes;    // of masks and planes; of sparse magnitudes
  u32 wrong, exact;    // blocks: masks
  u32 signs, values;   // of sparse blocks; exact ones
};

template <class T>
struct DecodeRoom {  // shared memory
  alignas(128) u32 words[Stage<T>::kWords + 8];  // the chunk, then its quanta and values
  DecodeTotals totals[kWarps];
  RowEnd ends[kWarps];
  DeviceBox box;
};

template <class T, bool kFlat>
class ChunkDecoder {
 public:
  __device__ ChunkDecoder(const DecodeCall<T>& call, DecodeRoom<T>& room, const DeviceBox& box, T step)
      : call_(call), room_(room), box_(box), step_(step), valid_(box.valid(threadIdx.x)) {}

  // Returns whether the chunk is one. The same in all threads.
  __device__ bool decode(const ChunkPlace& place, u64* group_sums) {
    words_ = place.words;
    from_ = call_.chunk_data() + place.group_first + place.before;
    if (words_ > box_.count * (sizeof(T) / 4)) return false;
    load(place.before, group_sums);
    __syncthreads();
    if (place.is_raw) {
      copy_raw();
      return true;
    }
    if (!read_head() || !read_sizes()) return false;
    u32 v[kBlock];
    read_residuals(v);
    sum_up(v);
    if (kFlat || (orders_.y | orders_.z) == 0)
      restore_values(v);
    else
      restore_lines(v);
    __syncwarp();
    store_values(box_, room_.words, call_.data);
    return true;
  }

 private:
  // ---- The chunk, to shared memory, by pieces that stand on 16 bytes

  __device__ void load(u32 before, u64* group_sums) {
    shift_ = static_cast<u32>(reinterpret_cast<u64>(from_) / 4 % 4);
    const u32 pieces = (shift_ + words_ + 3) / 4;
    WordSums sums;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < pieces; i += kThreads) {
      const uint4 piece = load_piece(i);
      *reinterpret_cast<uint4*>(room_.words + 4 * i) = piece;
      const u32 first = 4 * i - shift_, words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
      for (u32 k = 0; k < 4; ++k)
        if (first + k < words_) sums.add(first + k, words[k]);
    }
    sums.flush(before, group_sums);
  }

  __device__ uint4 load_piece(u32 i) const {
    const u32* const at = from_ - shift_ + 4 * i;
    if (4 * i >= shift_ && 4 * i + 4 <= shift_ + words_) return __ldcs(reinterpret_cast<const uint4*>(at));
    u32 words[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) words[k] = 4 * i + k - shift_ < words_ ? at[k] : 0;
    return {words[0], words[1], words[2], words[3]};
  }

  __device__ void copy_raw() const {
    constexpr u32 kOfValue = sizeof(T) / 4;
    for (u32 n = threadIdx.x; n < box_.count; n += kThreads) {
      BitsOf<T> bits = room_.words[shift_ + kOfValue * n];
      if (kOfValue == 2) bits |= static_cast<BitsOf<T>>(u64{room_.words[shift_ + kOfValue * n + 1]} << 32);
      call_.data[box_.position(n)] = value_of<T>(bits);
    }
  }

  // ---- Head. Reads anywhere in the head's largest extent stay within shared memory; what is behind the chunk's end
  // is found out afterwards.

  __device__ u32 byte_at(u32 at) const { return reinterpret_cast<const unsigned char*>(room_.words + shift_)[at]; }

  __device__ bool read_head() {
    const u32 first = room_.words[shift_], flags = first & 0xff, top = first >> 16;
    bool good = flags < 2 * ChunkHead::kElseFill && (flags & ChunkHead::kOrderX) != 3 &&
                (first >> 8 & 0xff) <= ChunkHead::kMaxRange && top >> (box_.blocks() + 7) / 8 == 0;
    const bool has_base = (flags & ChunkHead::kHasBase) != 0;
    orders_ = Orders{flags & ChunkHead::kOrderX, (flags & ChunkHead::kOrderY) != 0, (flags & ChunkHead::kOrderZ) != 0,
                     has_base ? static_cast<i32>(room_.words[shift_ + 1]) : 0};
    const u32 bitmap_at = ChunkHead::kBytes + (has_base ? 4 : 0), codes_at = bitmap_at + count_bits(top);
    u32 codes = 0, own = 0, rank = 0;
#pragma unroll
    for (u32 warp = 0; warp < kWarps; ++warp) {
      const u32 group = 4 * warp + lane_id() / 8;
      const bool is_there = (top >> group & 1) != 0;
      const u32 bitmap = is_there ? byte_at(bitmap_at + count_bits(top & ((1u << group) - 1))) : 0;
      good = good && (!is_there || bitmap != 0);
      const u32 coded = __ballot_sync(kAllLanes, (bitmap >> lane_id() % 8 & 1) != 0);
      if (warp == threadIdx.x / 32) {
        own = coded >> lane_id() & 1;
        rank = codes + count_bits(coded & lanes_before());
        good = good && (own == 0 || valid_ != 0);
      }
      codes += count_bits(coded);
    }
    const u32 otherwise = (flags & ChunkHead::kElseFill) != 0 ? kAllFill : kZero;
    code_ = valid_ == 0 ? kZero : own != 0 ? byte_at(codes_at + rank) : otherwise;
    good = good && is_code(static_cast<std::uint8_t>(code_));
    if (!call_.fill.is_declared) good = good && otherwise == kZero && code_ != kAllFill && (code_ & kFillMask) == 0;
    const u32 bytes = codes_at + codes;
    for (u32 at = bytes; at % 4 != 0; ++at) good = good && byte_at(at) == 0;
    head_words_ = (bytes + 3) / 4;
    return share_sizes(good && head_words_ <= words_);
  }

  // Sizes of the blocks' parts, summed up to this one.
  __device__ bool share_sizes(bool good) {
    const auto code = static_cast<std::uint8_t>(code_);
    const u32 parts = (good ? words_of(code) : 0) | (good && is_sparse(code) ? count_bits(code & 15) : 0) << 16;
    const u32 up_to = sums_up_to(parts), before = up_to - parts;
    const u32 wrong = __ballot_sync(kAllLanes, !good), exact = __ballot_sync(kAllLanes, (code_ & kExactMask) != 0);
    if (lane_id() == 31) {
      DecodeTotals& totals = room_.totals[threadIdx.x / 32];
      totals.words = up_to & 0xffff;
      totals.bytes = up_to >> 16;
      totals.wrong = wrong;
      totals.exact = exact;
    }
    __syncthreads();
    words_before_ = before & 0xffff;
    bytes_before_ = before >> 16;
    u32 all_wrong = 0, all_exact = 0, words = 0, bytes = 0;
#pragma unroll
    for (u32 w = 0; w < kWarps; ++w) {
      const DecodeTotals& totals = room_.totals[w];
      if (w == threadIdx.x / 32) words_before_ += words, bytes_before_ += bytes;
      words += totals.words;
      bytes += totals.bytes;
      all_wrong |= totals.wrong;
      all_exact |= totals.exact;
    }
    sparse_at_ = head_words_ + words;
    magnitude_bytes_ = bytes;
    has_exact_ = all_exact != 0;
    return all_wrong == 0 && sparse_at_ + (bytes + 3) / 4 <= words_;
  }

  // ---- Masks, planes of sparse blocks, and whether all parts add up to the chunk

  __device__ bool read_sizes() {
    at_ = room_.words + shift_ + head_words_ + words_before_;
    fill_ = exact_ = plane_ = signs_ = 0;
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
    const u32* const from = room_.words + shift_ + sparse_at_ + bit / 32;
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
    const u32 up_to = sums_up_to(parts), before = up_to - parts;
    const u32 wrong = __ballot_sync(kAllLanes, !good);
    DecodeTotals& totals = room_.totals[threadIdx.x / 32];
    __syncwarp();
    if (lane_id() == 31) totals.signs = up_to & 0xffff, totals.values = up_to >> 16;
    if (__syncthreads_or(wrong != 0)) return false;
    u32 signs = 0, values = 0, signs_before = before & 0xffff;
    values_before_ = before >> 16;
#pragma unroll
    for (u32 w = 0; w < kWarps; ++w) {
      if (w == threadIdx.x / 32) signs_before += signs, values_before_ += values;
      signs += room_.totals[w].signs;
      values += room_.totals[w].values;
    }
    const u32 bits = 8 * magnitude_bytes_ + signs;
    values_at_ = sparse_at_ + (bits + 31) / 32;
    if (values_at_ + values * (sizeof(T) / 4) != words_) return false;
    if (bits % 32 != 0 && room_.words[shift_ + values_at_ - 1] >> bits % 32 != 0) return false;
    if (plane_ != 0) signs_ = bits_to(bits_at(8 * magnitude_bytes_ + signs_before), plane_);
    return true;
  }

  // ---- Residuals, and their sums

  __device__ void read_residuals(u32 (&v)[kBlock]) {
    const auto code = static_cast<std::uint8_t>(code_);
    const bool dense = is_dense(code);
    if (__any_sync(kAllLanes, dense)) {
      read_planes(dense ? at_ + 1 : at_, dense ? width_of(code) : 0, v);
      if (dense) signs_ = *at_;
    } else {
#pragma unroll
      for (u32& number : v) number = 0;
    }
    if (plane_ != 0)
#pragma unroll
      for (u32 i = 0; i < kBlock; ++i) v[i] = plane_ >> i & 1;
#pragma unroll
    for (u32 i = 0; i < kBlock; ++i)
      if ((signs_ >> i & 1) != 0) v[i] = 0 - v[i];
  }

  // Along x. All threads meet in it, after which the chunk's words may be overwritten.
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

  __device__ void restore_lines(u32 (&v)[kBlock]) const {
#pragma unroll
    for (u32 i = 0; i < 8; ++i)
      *reinterpret_cast<uint4*>(room_.words + Stage<T>::piece(threadIdx.x, i)) =
          uint4{v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]};
    __syncthreads();
    const u32 base = static_cast<u32>(orders_.base);
    if (orders_.y != 0) sum_lines<T>(room_.words, box_, box_.rows, box_.row, orders_.z != 0 ? 0 : base);
    if (orders_.z != 0) sum_lines<T>(room_.words, box_, box_.planes, box_.plane(), base);
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      const uint4 piece = *reinterpret_cast<const uint4*>(room_.words + Stage<T>::piece(threadIdx.x, i));
      v[4 * i] = piece.x, v[4 * i + 1] = piece.y, v[4 * i + 2] = piece.z, v[4 * i + 3] = piece.w;
    }
    restore_values(v);
  }

  // ---- Values

  __device__ void restore_values(const u32 (&v)[kBlock]) const {
    constexpr u32 kPiece = Stage<T>::kPiece;
#pragma unroll
    for (u32 i = 0; i < kBlock / kPiece; ++i) {
      alignas(16) T values[kPiece];
#pragma unroll
      for (u32 k = 0; k < kPiece; ++k) values[k] = restore(static_cast<i32>(v[kPiece * i + k]), step_);
      *reinterpret_cast<uint4*>(room_.words + Stage<T>::piece(threadIdx.x, i)) =
          *reinterpret_cast<const uint4*>(values);
    }
    if ((fill_ | exact_) != 0) patch();
  }

  __device__ void patch() const {
    const u32 block = kBlock * threadIdx.x;
    const auto value = [&](u32 i) -> BitsOf<T>& {
      return *reinterpret_cast<BitsOf<T>*>(room_.words + Stage<T>::value(block + i));
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
  const T step_;
  const u32 valid_;
  const u32* from_;
  const u32* at_;
  Orders orders_;
  u32 words_, shift_, code_, head_words_, words_before_, bytes_before_, sparse_at_, magnitude_bytes_;
  u32 fill_, exact_, plane_, signs_, values_at_, values_before_;
  bool has_exact_;
};

// By one warp, when a chunk's words are summed: whoever is the last of a group compares its checksum.
template <class T>
__device__ inline void complete_chunk(const DecodeCall<T>& call, u32 chunk, u32 words) {
  const u64 group = chunk / kGroup, begin = group * kGroup;
  const u64 left = call.tables.chunks - begin;
  const u32 chunks = static_cast<u32>(left < kGroup ? left : kGroup);
  GroupState* const state = call.groups + group;
  u64 done = 0;
  if (lane_id() == 0) {
    __threadfence();
    done = atomicAdd(&state->words_and_chunks, kOneChunk + words) + kOneChunk + words;
    __threadfence();
  }
  done = __shfl_sync(kAllLanes, done, 0);
  if (done >> 32 != chunks) return;
  ChecksumState of_payload;
  const ChecksumState sizes = sum_sizes(call.tables, begin, chunks, of_payload);
  if (lane_id() != 0) return;
  const u32 all_words = static_cast<u32>(done);
  ChecksumState sums;
  sums.sum = __ldcg(&state->sum);
  sums.weighted = __ldcg(&state->weighted);
  sums.join(sizes, all_words);
  if (sums.finish(4 * (u64{all_words} + chunks)) != call.tables.row(group)[1]) call.refuse();
}

template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, 6) decode_chunks(const __grid_constant__ DecodeCall<T> call) {
  __shared__ DecodeRoom<T> room;
  const u32 chunk = blockIdx.x;
  if (threadIdx.x == 0) room.box = call.grid.box(chunk);
  const T step = static_cast<T>(value_of<double>(*reinterpret_cast<const u64*>(call.tables.payload)));
  const ChunkPlace place = ChunkPlace::find(call, chunk);
  __syncthreads();
  DeviceBox flat;
  flat.first = u64{chunk} * call.grid.sides[3];
  flat.row = flat.count = room.box.count;
  ChunkDecoder<T, kFlat> decoder(call, room, kFlat ? flat : room.box, step);
  if (!place.is_good || !decoder.decode(place, &call.groups[chunk / kGroup].sum)) {
    if (threadIdx.x == 0) call.refuse();
    return;
  }
  if (threadIdx.x < 32) complete_chunk(call, chunk, place.words);
}

// In front of it: sums of 0, the front of the payload and its table.
template <class T>
__global__ void __launch_bounds__(1024) prepare_decode(const __grid_constant__ DecodeCall<T> call) {
  const u64 first = blockIdx.x * u64{blockDim.x} + threadIdx.x, stride = gridDim.x * u64{blockDim.x};
  for (u64 i = first; i < call.tables.groups; i += stride) call.groups[i] = GroupState{};
  if (blockIdx.x != 0) return;
  if (threadIdx.x == 0 && call.fault != nullptr) *static_cast<volatile u32*>(call.fault) = 0;
  __shared__ u64 sums[2];
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  ChecksumState own;
  for (u64 i = threadIdx.x; i < 2 * call.tables.groups; i += blockDim.x)
    add_pair(own, 2 + 2 * i, call.tables.row(0)[i]);
  bool good = true;
  const u64 sizes_end = call.tables.sizes + 2 * call.tables.chunks;
  if (sizes_end + threadIdx.x < call.tables.data) good = call.tables.payload[sizes_end + threadIdx.x] == std::byte{0};
  if (own.sum != 0) add_to(sums, own);
  __syncthreads();
  if (threadIdx.x == 0) {
    const u64* const front = reinterpret_cast<const u64*>(call.tables.payload);
    ChecksumState table;
    table.sum = sums[0];
    table.weighted = sums[1];
    add_pair(table, 0, front[0]);
    const double step = value_of<double>(front[0]);
    good = good && step > 0 && step <= kMost<T> && static_cast<double>(static_cast<T>(step)) == step &&
           table.finish(8 + Layout::kRow * call.tables.groups) == front[1];
  }
  if (!good) call.refuse();
}

}  // namespace homz::homcomp::device
