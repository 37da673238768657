// The kernels in front of and behind those of the chunks: what follows from the step, and where the operands'
// chunks stand; the checksums of the operands.
#pragma once

#include "homomorphic/bounds.hpp"
#include "homomorphic/homcomp/device_call.cuh"

namespace homz::homcomp::device {

// ---- In front of it

struct SumSource {
  const std::byte* payload;
  u64 words;  // of all chunk data
  i32 factor;
};
template <class T>
struct SumSources {
  SumSource sources[kMostOperands];
  Tables tables;         // of any of them, but for its payload
  WordSums* chunk_sums;  // of all
  double shift, scale;
};

// What follows from the step: linear_of() of engine.cpp. Tells what is wrong.
template <class T>
__device__ inline u32 find_linear(const SumSources<T>& sources, SumState<T>& state) {
  const double step = value_of<double>(*reinterpret_cast<const u64*>(sources.sources[0].payload));
  const double scaled = step * sources.scale, quanta = sources.shift / step;
  const bool is_in_range = quanta < kQuantumLimit && quanta > -kQuantumLimit;
  const T scaled_step = static_cast<T>(scaled);
  state.linear.shift = is_in_range ? round_to_even(quanta) : 0;
  state.linear.shift_value = static_cast<T>(sources.shift);
  state.linear.scale = static_cast<T>(sources.scale);
  state.linear.step = static_cast<T>(step);
  state.linear.scaled_step = scaled_step;
  state.missed = missed_by(sources.shift, state.linear.shift, step);
  const bool is_sound = sources.scale == 1 || scaled_step >= std::numeric_limits<T>::min();
  return is_in_range && is_sound && scaled_step <= kMost<T> ? 0 : kBeyondRange;
}

// Where the chunks of a group stand, by one warp.
template <class T>
__device__ inline void find_places(const DecodeCall<T>& call, u64 group, u64* places) {
  const Tables& tables = call.tables;
  const u64 start = tables.row(group)[0],
            end = group + 1 < tables.groups ? tables.row(group + 1)[0] : call.words;
  const u32 begin = static_cast<u32>(group * kGroup), chunks = tables.chunks_of(group);
  u32 sizes[2], words[2], up_to[2];
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = 32 * k + lane_id();
    sizes[k] = i < chunks ? *tables.size(begin + i) : 0;
    words[k] = i < chunks ? PlaceQuery<T>::words_of(call.grid, begin + i, sizes[k]) : 0;
    up_to[k] = sums_up_to(words[k]);
  }
  up_to[1] += __shfl_sync(kAllLanes, up_to[0], 31);
  const u32 all = __shfl_sync(kAllLanes, up_to[1], 31);
  const bool is_good = start <= end && end <= call.words && all == end - start && (group != 0 || start == 0);
#pragma unroll
  for (u32 k = 0; k < 2; ++k)
    if (32 * k + lane_id() < chunks)
      places[begin + 32 * k + lane_id()] =
          pack_place({start + up_to[k] - words[k], words[k], sizes[k] == 0, is_good});
}

template <class T>
__device__ inline DecodeCall<T> operand_of(const SumCall<T>& call, const SumSources<T>& sources, u32 i) {
  Tables tables = sources.tables;
  tables.payload = const_cast<std::byte*>(sources.sources[i].payload);
  return {.grid = call.to.grid,
          .fill = call.to.fill,
          .tables = tables,
          .data = nullptr,
          .words = sources.sources[i].words,
          .chunk_sums = sources.chunk_sums + i * call.to.tables.chunks,
          .sums = nullptr,
          .fault = nullptr};
}

template <class T>
__global__ void __launch_bounds__(1024)
    prepare_sum(const __grid_constant__ SumCall<T> call, const __grid_constant__ SumSources<T> sources,
                SumOperand<T>* operands) {
  let_next_start();
  const u64 first = blockIdx.x * u64{blockDim.x} + threadIdx.x, stride = gridDim.x * u64{blockDim.x};
  for (u64 i = first; i < call.to.tables.chunks; i += stride) call.to.places[i] = 0;
  const u64 groups = call.to.tables.groups;
  for (u64 n = first / 32; n < groups * call.streams; n += stride / 32) {
    const u32 i = static_cast<u32>(n / groups);
    find_places(operand_of(call, sources, i), n - i * groups, call.places + i * call.to.tables.chunks);
  }
  if (blockIdx.x != 0) return;
  for (u32 i = threadIdx.x; i < call.count; i += blockDim.x) {
    operands[i].from = operand_of(call, sources, i);
    operands[i].factor = sources.sources[i].factor;
  }
  if (threadIdx.x != 0) return;
  *call.to.call = CallState{};
  SumState<T>& state = *call.state;
  state.faults = find_linear(sources, state);
  state.order_matters = state.verified = 0;
  call.to.call->step_bits = bits_of(static_cast<double>(state.linear.scaled_step));
}

// ---- Behind it: the groups of all operands, those of one a row of CTAs. Whoever is last tells the verdict.

template <class T>
__device__ inline bool has_first_step(const SumCall<T>& call, u32 i) {
  const auto step = [&](u32 k) {
    return *reinterpret_cast<const u64*>(call.operands[k].from.tables.payload);
  };
  return step(i) == step(0);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    verify_sum(const __grid_constant__ SumCall<T> call, Combined* combined, u32* fault) {
  wait_for_last();
  const DecodeCall<T>& from = call.operands[blockIdx.y].from;
  u32 faults = 0;
  const u64 group = (blockIdx.x - 1) * u64{kWarps} + threadIdx.x / 32;
  if (blockIdx.x == 0)
    faults = (is_front_good(from) ? 0 : kDamaged) | (has_first_step(call, blockIdx.y) ? 0 : kStepsDiffer);
  else if (group < from.tables.groups)
    faults = is_group_good(from, group) ? 0 : kDamaged;
  SumState<T>& state = *call.state;
  if (faults != 0 && lane_id() == 0) atomicOr(&state.faults, faults);
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state.verified, 1) + 1 != gridDim.x * gridDim.y) return;
  faults = atomicOr(&state.faults, 0);
  combined->order_matters = state.order_matters != 0;
  combined->missed = state.missed;
  if (fault == nullptr) return;
  *fault = static_cast<u32>((faults & kDamaged) != 0       ? Code::corrupt_stream
                            : (faults & kStepsDiffer) != 0 ? Code::invalid_argument
                            : (faults & kBeyondRange) != 0 ? Code::unsupported
                                                           : Code::ok);
}

}  // namespace homz::homcomp::device
