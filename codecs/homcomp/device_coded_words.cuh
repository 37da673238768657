// Where the chunks of a payload are, on the device, and their words in shared memory. Nothing in it is
// trusted.
#pragma once

#include "codecs/homcomp/device_state.cuh"

namespace homz::homcomp::device {

template <class T>
struct DecodeCall {
  DeviceGrid grid;
  FillValue<T> fill;
  Tables tables;  // of a payload that is not written to
  T* data;
  u64 words;             // of all chunk data
  WordSums* chunk_sums;  // words numbered from the chunk's first; kWrong for a chunk that is none
  ChecksumState* sums;   // of the payload, or null
  u32* fault;

  __device__ const u32* chunk_data() const {
    return reinterpret_cast<const u32*>(tables.payload + tables.data);
  }
};
inline constexpr u64 kWrong = ~0ull;

// Where a chunk stands.
struct ChunkPlace {
  u64 first;  // word
  u32 words;
  bool is_raw, is_good;
};

// Finds it from the group's offset and the sizes of the group's chunks, by one warp. What it reads is asked
// for at once and looked at later.
template <class T>
class PlaceQuery {
 public:
  __device__ explicit PlaceQuery(const DecodeCall<T>& call) : call_(call) {}

  __device__ void ask(u32 chunk) {
    chunk_ = chunk;
    const Tables& tables = call_.tables;
    const u64 group = chunk / kGroup;
    start_ = tables.row(group)[0];
    end_ = group + 1 < tables.groups ? tables.row(group + 1)[0] : call_.words;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
      const u32 other = chunk - chunk % kGroup + 32 * k + lane_id();
      sizes_[k] = other < call_.grid.chunks ? *tables.size(other) : kNone;
    }
  }

  // In lane 0.
  __device__ ChunkPlace place() const {
    const u32 index = chunk_ % kGroup, begin = chunk_ - index;
    u32 words[2];
#pragma unroll
    for (u32 k = 0; k < 2; ++k) words[k] = words_of(call_.grid, begin + 32 * k + lane_id(), sizes_[k]);
    const u32 all = __reduce_add_sync(kAllLanes, words[0] + words[1]);
    const u32 before = __reduce_add_sync(
        kAllLanes, (lane_id() < index ? words[0] : 0) + (lane_id() + 32 < index ? words[1] : 0));
    ChunkPlace place;
    place.first = start_ + before;
    place.words = __shfl_sync(kAllLanes, index < 32 ? words[0] : words[1], index % 32);
    place.is_raw = __shfl_sync(kAllLanes, index < 32 ? sizes_[0] : sizes_[1], index % 32) == 0;
    place.is_good =
        start_ <= end_ && end_ <= call_.words && all == end_ - start_ && (begin != 0 || start_ == 0);
    return place;
  }

  static constexpr u32 kNone = ~0u;
  __device__ static u32 words_of(const DeviceGrid& grid, u32 chunk, u32 size) {
    return size == kNone ? 0 : size != 0 ? size : grid.count(chunk) * static_cast<u32>(sizeof(T) / 4);
  }

 private:
  const DecodeCall<T>& call_;
  u32 chunk_;
  u64 start_, end_;
  u32 sizes_[2];
};

// What shared memory has room for: head, masks, planes and sparse parts. Exact values need not be there.
template <class T>
inline constexpr unsigned kMostCoded = std::min(Stage<T>::kWords,
                                                kBlocks * 36 + kChunk / 32 + ChunkHead::kMax / 4 + 2);

// The words of a chunk in shared memory, by pieces that stand on 16 bytes.
template <class T>
class CodedWords {
 public:
  CodedWords() = default;  // none
  __device__ CodedWords(const DecodeCall<T>& call, const ChunkPlace& place)
      : from_(call.chunk_data() + place.first),
        words_(place.words),
        shift_(static_cast<u32>(reinterpret_cast<u64>(from_) / 4 % 4)),
        behind_(call.words - place.first) {}

  // To be waited for.
  __device__ void fetch(u32* to) const {
    const u32 here = pieces(), whole = behind_ + shift_ >= 4 * here ? here : here - 1;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < whole; i += kThreads) copy_async<16>(to + 4 * i, from_ - shift_ + 4 * i);
    if (whole == here || threadIdx.x != whole % kThreads) return;
    for (u32 k = 4 * whole; k < behind_ + shift_; ++k)  // by the thread that will sum it
      if (k >= shift_) to[k] = from_[k - shift_];
  }

  // The sums of what this thread has fetched, and of what there was no room for.
  __device__ WordSums sum(const u32* fetched) const {
    WordSums sums;
    for (u32 i = threadIdx.x; i < pieces(); i += kThreads) {
      const uint4 piece = *reinterpret_cast<const uint4*>(fetched + 4 * i);
      const u32 first = 4 * i - shift_;
      if (i == 0 || 4 * i + 4 > shift_ + words_) {
        const u32 words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
        for (u32 k = 0; k < 4; ++k)
          if (first + k < words_) sums.add(first + k, words[k]);
      } else {
        sums.add(first, piece.x);
        sums.add(first + 1, piece.y);
        sums.add(first + 2, piece.z);
        sums.add(first + 3, piece.w);
      }
    }
    for (u32 i = 4 * pieces() - shift_ + threadIdx.x; i < words_; i += kThreads) sums.add(i, from_[i]);
    return sums;
  }

  __device__ bool has_none_of_warp() const {
    return (threadIdx.x & ~31u) * 4 >= shift_ + words_;
  }
  __device__ const u32* from() const {
    return from_;
  }
  __device__ u32 shift() const {
    return shift_;
  }
  __device__ u32 words() const {
    return words_;
  }
  __device__ u32 room() const {  // words that fetch() writes to
    return 4 * pieces();
  }

 private:
  __device__ u32 pieces() const {
    const u32 all = (shift_ + words_ + 3) / 4;
    return all < (kMostCoded<T> + 8) / 4 ? all : (kMostCoded<T> + 8) / 4;
  }

  const u32* from_ = nullptr;
  u32 words_ = 0, shift_ = 0;
  u64 behind_ = 0;  // words from the chunk on
};

}  // namespace homz::homcomp::device
