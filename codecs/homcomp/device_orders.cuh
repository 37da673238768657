// Chooses the orders of a chunk's differences on the device: the judgement of chunk_orders.hpp, a warp a
// block.
#pragma once

#include "codecs/homcomp/device_quanta.cuh"

namespace homz::homcomp::device {

// The quanta of a chunk in shared memory, and its differences along y and z.
template <class T>
struct Quanta {
  const u32* words;

  __device__ u32 operator[](u32 n) const { return words[Stage<T>::quantum(n)]; }

  // A quantum and those in front of it along y, z and both; where there is none: what stands in front
  // instead.
  struct Corner {
    u32 here, y, z, yz;

    __device__ u32 difference(bool along_y, bool along_z) const {
      return here - (along_y ? y : 0) - (along_z ? z : 0) + (along_y && along_z ? yz : 0);
    }
  };
  // With the difference along z alone `base` is in front, with that along y alone, too; with both base is in
  // front of z, and 0 in front of y.
  __device__ Corner corner(const DeviceBox& box, u32 n, bool has_y, bool has_z, u32 base) const {
    Corner corner{(*this)[n], base, base, 0};
    if (has_y) corner.y = (*this)[n - box.row];
    if (has_z) corner.z = (*this)[n - box.plane()];
    corner.yz = !has_y ? base : has_z ? (*this)[n - box.row - box.plane()] : base;
    return corner;
  }
};

struct TrialRecord {  // in shared memory
  static constexpr unsigned kMostSamples = 24, kOfWhole = 9, kFront = 4;
  u32 base;                   // the chunk's first quantum
  uint4 costs[12];            // by order along x, y and z: 4 x + y + 2 z; of each warp
  int2 ranges[kMostSamples];  // the least and the largest quantum of a sample
  alignas(16) u32 samples[kOfWhole][kFront + kBlock];  // of whole rows, with the quanta in front of each
};

template <class T, bool kFlat>
class OrderTrial {
 public:
  __device__ OrderTrial(const u32* quanta, const DeviceBox& box, TrialRecord& record)
      : quanta_{quanta}, box_(box), record_(record), end_(box.count / kBlock), stride_(kStride), samples_(TrialRecord::kOfWhole) {
    if (end_ == kBlocks) return;
    stride_ = ((end_ < 8 ? 8 : end_) / 8 - 1) | 1;
    samples_ = end_ > stride_ / 2 ? (end_ - stride_ / 2 + stride_ - 1) / stride_ : 0;
  }

  // To be called by all warps; they meet before they call choose(). In whole rows a warp looks at blocks that
  // its threads hold, none of which is its first.
  __device__ void weigh_whole_row(const u32 (&v)[kBlock], u32 v1, u32 v2) const {
    const u32 sample = threadIdx.x / kStride;
    const bool is_sampled = threadIdx.x % kStride == kStride / 2;
    if (is_sampled) hand_out(v, v1, v2, record_.samples[sample]);
    __syncwarp();
    u32 cost = 0;  // lane 0: of differences taken once, lane 1: twice
    for (u32 left = __ballot_sync(kAllLanes, is_sampled); left != 0; left &= left - 1) {
      const u32 own = __shfl_sync(kAllLanes, sample, __ffs(static_cast<int>(left)) - 1);
      const u32* const here = record_.samples[own] + TrialRecord::kFront + lane_id();
      weigh(own, here[0], here[-1], here[-2], cost);
    }
    if (lane_id() < 2) note_cost(4 + 4 * lane_id(), cost);
  }

  // Likewise, of any row in shared memory.
  __device__ void weigh_row() const {
    u32 cost = 0;
    for (u32 sample = threadIdx.x / 32; sample < samples_; sample += kWarps) {
      const u32 n = kBlock * block(sample) + lane_id();
      const u32 before = n >= 1 ? quanta_[n - 1] : record_.base, second = n >= 2 ? quanta_[n - 2] : record_.base;
      weigh(sample, quanta_[n], before, second, cost);
    }
    if (lane_id() < 2) note_cost(4 + 4 * lane_id(), cost);
  }

  // Likewise, of any chunk.
  __device__ void weigh_all() const {
    using Corner = typename Quanta<T>::Corner;
    const u32 base = record_.base;
    u32 cost = 0;  // lane i: of candidate i
    for (u32 sample = threadIdx.x / 32; sample < samples_; sample += kWarps) {
      const u32 n = kBlock * block(sample) + lane_id();
      const auto at = box_.place(n);
      const bool has_y = at.y != 0, has_z = at.z != 0;
      const Corner here = quanta_.corner(box_, n, has_y, has_z, base);
      const Corner before = quanta_.corner(box_, at.x >= 1 ? n - 1 : n, has_y, has_z, base);
      const Corner second = quanta_.corner(box_, at.x >= 2 ? n - 2 : n, has_y, has_z, base);
      note_range(sample, here.here);
      u32 residuals[12];
#pragma unroll
      for (u32 yz = 0; yz < 4; ++yz) {
        const bool y = (yz & 1) != 0, z = (yz & 2) != 0;
        const u32 front = yz == 0 ? base : 0;
        const u32 v = here.difference(y, z), v1 = at.x >= 1 ? before.difference(y, z) : front;
        const u32 v2 = at.x >= 2 ? second.difference(y, z) : front;
        residuals[yz] = v;
        residuals[4 + yz] = v - v1;
        residuals[8 + yz] = v - v1 - (v1 - v2);
      }
      cost += cost_of_each(residuals);
    }
    if (lane_id() < 12) note_cost(lane_id(), cost);
  }

  __device__ Orders choose() const {
    const bool is_tall = !kFlat && box_.rows > 1, is_deep = !kFlat && box_.planes > 1;
    const i32 base = static_cast<i32>(record_.base - kBias<T>);
    if (end_ == 0) return Orders{1, is_tall, is_deep, base};
    constexpr u32 kCandidates = kFlat ? 2 : 6;
    const u32 candidates[6] = {4, 8, 4 + 1, 4 + 2, 4 + 3, 3};
    u32 best = 4, least = cost_of(4);
#pragma unroll
    for (u32 i = 1; i < kCandidates; ++i) {
      const u32 candidate = candidates[i];
      if (((candidate & 1) == 0 || is_tall) && ((candidate & 2) == 0 || is_deep))
        take(candidate, best, least);
    }
    const u32 yz = best & 3;
    if (!kFlat && (yz == 1 || yz == 2)) take(yz, best, least);
    if (!kFlat && yz != 0) take(8 + yz, best, least);
    Orders orders{best >> 2, best & 1, best >> 1 & 1, base};
    if (yz == 0) prefer_centre(least, orders);
    return orders;
  }

 private:
  static constexpr u32 kStride = 15;  // of whole chunks

  __device__ u32 block(u32 sample) const {
    return stride_ / 2 + sample * stride_;
  }

  __device__ void weigh(u32 sample, u32 here, u32 before, u32 second, u32& cost) const {
    const u32 residuals[2] = {here - before, here - before - (before - second)};
    cost += cost_of_each(residuals);
    note_range(sample, here);
  }

  __device__ static void hand_out(const u32 (&v)[kBlock], u32 v1, u32 v2, u32* to) {
    uint4* const pieces = reinterpret_cast<uint4*>(to);
    pieces[0] = uint4{0, 0, v2, v1};
#pragma unroll
    for (u32 i = 0; i < 8; ++i)
      pieces[1 + i] = uint4{v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]};
  }

  __device__ void note_cost(u32 candidate, u32 cost) const {
    reinterpret_cast<u32*>(record_.costs + candidate)[threadIdx.x / 32] = cost;
  }
  __device__ u32 cost_of(u32 candidate) const {
    const uint4 costs = record_.costs[candidate];
    return costs.x + costs.y + (costs.z + costs.w);
  }
  __device__ void take(u32 candidate, u32& best, u32& least) const {
    const u32 cost = cost_of(candidate);
    if (cost >= least) return;
    least = cost;
    best = candidate;
  }

  static constexpr u32 kLeastSparse = 8 + 8 + 1;  // bits of a sparse block
  __device__ static u32 cost_of_sparse(u32 plane) {
    return 8 + 8 * count_bits(bytes_in_use(plane)) + count_bits(plane);
  }
  __device__ void note_range(u32 sample, u32 quantum) const {
    quantum -= kBias<T>;
    const i32 low = __reduce_min_sync(kAllLanes, static_cast<i32>(quantum));
    const i32 high = __reduce_max_sync(kAllLanes, static_cast<i32>(quantum));
    if (lane_id() == 0) record_.ranges[sample] = int2{low, high};
  }

  // The bits of a block with each of the candidates, a residual a lane; those of the i-th in lane i.
  template <unsigned kCount>
  __device__ static u32 cost_of_each(const u32 (&residuals)[kCount]) {
    u32 bits = 0;
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
      const u32 all = __reduce_or_sync(kAllLanes, magnitude(static_cast<i32>(residuals[i])));
      if (lane_id() == i) bits = all;
    }
    const u32 width = bit_width(bits);
    const u32 cost = width == 0 ? 0 : 8 + 32 * (width + 1);
    if (!__any_sync(kAllLanes, width == 1)) return cost;
    u32 plane = 0;
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) {
      const u32 used = __ballot_sync(kAllLanes, residuals[i] != 0);
      if (lane_id() == i) plane = used;
    }
    return width == 1 ? cost_of_sparse(plane) : cost;
  }

  // Without differences what is subtracted is 0, or the middle of the quanta if they are all on one side of
  // it.
  __device__ void prefer_centre(u32 least, Orders& orders) const {
    const u32 sample = lane_id() < samples_ ? lane_id() : 0;
    const auto [low, high] = record_.ranges[sample];
    const i32 lowest = __reduce_min_sync(kAllLanes, low), highest = __reduce_max_sync(kAllLanes, high);
    const i32 centre = lowest <= 0 && highest >= 0 ? 0 : lowest + (highest - lowest) / 2;
    const u32 below = magnitude(low - centre), above = magnitude(high - centre);
    const u32 width = lane_id() < samples_ ? bit_width(below > above ? below : above) : 0;
    u32 bits = __reduce_add_sync(kAllLanes, width > 1 ? 8 + 32 * (width + 1) : 0);
    const u32 all_narrow = __ballot_sync(kAllLanes, width == 1);
    if (bits + kLeastSparse * count_bits(all_narrow) >= least) return;
    for (u32 narrow = all_narrow; narrow != 0; narrow &= narrow - 1) {
      const u32 of_lane = number(static_cast<u32>(__ffs(static_cast<int>(narrow)) - 1));
      bits += cost_of_sparse(__ballot_sync(kAllLanes, of_lane != static_cast<u32>(centre) + kBias<T>));
    }
    if (bits < least) orders = Orders{0, 0, 0, centre};
  }

  __device__ u32 number(u32 sample) const {  // a lane's quantum of a sampled block
    return kFlat && end_ == kBlocks ? record_.samples[sample][TrialRecord::kFront + lane_id()]
                 : quanta_[kBlock * block(sample) + lane_id()];
  }

  Quanta<T> quanta_;
  const DeviceBox& box_;
  TrialRecord& record_;
  u32 end_, stride_, samples_;
};

}  // namespace homz::homcomp::device
