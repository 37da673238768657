// From values to residuals, four groups of a warp at a time, and which values need the exception list.
#pragma once

#include "codecs/cuszp/device_lanes.cuh"

namespace homz::cuszp {

// What a field is coded by; a parameter of the kernels.
template <class T, unsigned kDim>
struct Coding {
  using Layout = typename LayoutOf<kDim>::Type;

  const T* data;
  Layout layout;
  Quantiser<T> quantiser;
  double abs_error;
  T safe;  // differences below it, taken by one fused operation, are within abs_error
  bool has_fill;
  BitsOf<T> fill;
  Mode mode;
  bool v1;
};

// Whether |x - 2 half| is not below the safe distance. The product is exact, so the fused operation rounds
// once, as a subtraction does.
template <class T, unsigned kDim>
__device__ __forceinline__ bool is_doubtful(const Coding<T, kDim>& coding, T x, std::uint32_t quantum) {
  const T half = static_cast<T>(static_cast<std::int32_t>(quantum)) * coding.quantiser.bound;
  if constexpr (sizeof(T) == 4)
    return !(fabsf(__fmaf_rn(-2.0f, half, x)) < coding.safe);
  else
    return !(fabs(__fma_rn(-2.0, half, x)) < coding.safe);
}

// Values of four positions a lane.
template <class T>
struct RoundValues {
  T values[4];
  unsigned coded, owned;  // a bit each

  __device__ __forceinline__ void load(const T* data, const Elements& elements) {
    coded = elements.coded;
    owned = elements.owned;
    for (unsigned c = 0; c < 4; ++c) values[c] = __ldcs(data + elements.at[c]);
  }
  __device__ __forceinline__ bool is_coded(unsigned c) const { return (coded >> c & 1) != 0; }
  __device__ __forceinline__ bool is_owned(unsigned c) const { return (owned >> c & 1) != 0; }
};

// The magnitudes of four residuals.
struct RoundSizes {
  std::uint32_t all = 0;     // the union of their bits
  std::uint32_t others = 0;  // the same without position 0
  std::uint32_t first;       // magnitude of position 0, in the lane that has it

  __device__ __forceinline__ RoundSizes(const std::uint32_t (&residuals)[4], bool holds_first) {
    std::uint32_t size[4];
    for (unsigned c = 0; c < 4; ++c)
      size[c] = static_cast<std::uint32_t>(abs(static_cast<std::int32_t>(residuals[c])));  // of -2^31: 2^31
    first = size[0];
    others = size[1] | size[2] | size[3] | (holds_first ? 0 : size[0]);
    all = others | size[0];
  }
};

// Blocks in shared memory, one lane on each: what is rare is left to the host's own functions. They are
// called, not inlined: their registers must not crowd the caller's.
template <unsigned kDim>
__device__ __noinline__ void settle_block(std::uint32_t* quanta, std::uint64_t vacant, Mode mode) {
  settle_vacant<kDim>(*reinterpret_cast<typename Block<kDim>::Values*>(quanta), vacant, mode);
}
template <unsigned kDim>
__device__ __noinline__ void lose_in_block(std::uint32_t* residuals, Mode mode, std::uint32_t* quanta) {
  using Values = typename Block<kDim>::Values;
  lose_magnitudes<kDim>(*reinterpret_cast<Values*>(residuals));
  undo_residuals<kDim>(*reinterpret_cast<Values*>(residuals), mode, *reinterpret_cast<Values*>(quanta));
}

template <class T, unsigned kDim>
struct Round {
  // Residuals with fill values settled, and exceptions found. `quanta_space` and `residual_space` are
  // for 128 values each.
  struct Exceptions {
    std::uint32_t exact = 0, fill = 0;  // bit p: position p of the group
  };
  __device__ static __forceinline__ Exceptions code_again(const Coding<T, kDim>& coding, const Lane& lane,
                                                          const RoundValues<T>& in,
                                                          std::uint32_t (&residuals)[4],
                                                          std::uint32_t* quanta_space,
                                                          std::uint32_t* residual_space) {
    std::uint32_t quanta[4];
    for (unsigned c = 0; c < 4; ++c) quanta[c] = coding.quantiser.quantise(in.values[c]);
    Exceptions found;
    bool fills[4] = {};
    if (coding.has_fill) {
      for (unsigned c = 0; c < 4; ++c)
        fills[c] = bits_of(in.values[c]) == coding.fill && (in.is_coded(c) || in.is_owned(c));
      if (__any_sync(~0u, fills[0] || fills[1] || fills[2] || fills[3]) != 0) {
        settle(coding, lane, in, fills, quanta, quanta_space);
        found.fill = find_fill(coding, lane, in);
      }
    }
    for (unsigned c = 0; c < 4; ++c) quanta[c] = in.is_coded(c) ? quanta[c] : 0;
    subtract(coding, lane, in, quanta, residuals);
    std::uint32_t decoded[4] = {quanta[0], quanta[1], quanta[2], quanta[3]};
    if constexpr (kDim == 1) {
      bool lossy = false;
      for (unsigned c = 0; c < 4; ++c) lossy |= residuals[c] == kTopBit;
      if (__any_sync(~0u, lossy) != 0) lose(coding, lane, residuals, decoded, quanta_space, residual_space);
    }
    found.exact = find_exact(coding, lane, in, fills, decoded);
    return found;
  }

  // Where no value is exact.
  __device__ static __forceinline__ std::uint32_t find_fill(const Coding<T, kDim>& coding, const Lane& lane,
                                                            const RoundValues<T>& in) {
    bool fills[4];
    for (unsigned c = 0; c < 4; ++c) fills[c] = bits_of(in.values[c]) == coding.fill && in.is_owned(c);
    return gather_bits(lane, fills);
  }

 private:
  __device__ static __forceinline__ std::uint32_t find_exact(const Coding<T, kDim>& coding, const Lane& lane,
                                                             const RoundValues<T>& in, const bool (&fills)[4],
                                                             const std::uint32_t (&quanta)[4]) {
    bool exacts[4];
    for (unsigned c = 0; c < 4; ++c) {
      exacts[c] = false;
      if (in.is_owned(c) && !fills[c] && is_doubtful(coding, in.values[c], quanta[c]))
        exacts[c] = !within_bound(in.values[c], coding.quantiser.restore(quanta[c]), coding.abs_error);
    }
    return gather_bits(lane, exacts);
  }

  __device__ static __forceinline__ void subtract(const Coding<T, kDim>& coding, const Lane& lane,
                                                  const RoundValues<T>& in, const std::uint32_t (&quanta)[4],
                                                  std::uint32_t (&residuals)[4]) {
    std::uint32_t predicted[4] = {};
    if (coding.mode != Mode::fixed) predict<kDim>(lane, quanta, predicted);
    for (unsigned c = 0; c < 4; ++c) {
      residuals[c] = quanta[c] - predicted[c];
      if (!in.is_coded(c) && !coding.v1) residuals[c] = 0;
    }
  }

  // Where a lane's block begins in shared memory, and which lane works on it.
  __device__ static unsigned block_at(const Lane& lane) {
    return kGroup * (kDim == 1 ? lane.group : lane.group / 2 * 2);
  }
  __device__ static bool leads(const Lane& lane) { return lane.id % (kDim == 1 ? 8 : 16) == 0; }
  __device__ static void put(const Lane& lane, const std::uint32_t (&from)[4], std::uint32_t* to) {
    __syncwarp();
    for (unsigned c = 0; c < 4; ++c) to[kGroup * lane.group + 8 * c + lane.column] = from[c];
    __syncwarp();
  }
  __device__ static void get(const Lane& lane, const std::uint32_t* from, std::uint32_t (&to)[4]) {
    __syncwarp();
    for (unsigned c = 0; c < 4; ++c) to[c] = from[kGroup * lane.group + 8 * c + lane.column];
    __syncwarp();
  }
  // The bits of both groups of a block.
  __device__ static std::uint64_t block_bits(const Lane& lane, std::uint32_t bits) {
    if constexpr (kDim == 1) return bits;
    const std::uint32_t other = __shfl_xor_sync(~0u, bits, 8);
    return lane.group % 2 == 0 ? bits | std::uint64_t{other} << 32 : other | std::uint64_t{bits} << 32;
  }

  __device__ static __forceinline__ void settle(const Coding<T, kDim>& coding, const Lane& lane,
                                                const RoundValues<T>& in, const bool (&fills)[4],
                                                std::uint32_t (&quanta)[4], std::uint32_t* space) {
    bool absent[4];
    for (unsigned c = 0; c < 4; ++c) absent[c] = !coding.v1 && !in.is_coded(c);
    const std::uint64_t vacant = block_bits(lane, gather_bits(lane, fills) | gather_bits(lane, absent));
    put(lane, quanta, space);
    if (leads(lane) && vacant != 0) settle_block<kDim>(space + block_at(lane), vacant, coding.mode);
    get(lane, space, quanta);
  }

  __device__ static __forceinline__ void lose(const Coding<T, kDim>& coding, const Lane& lane,
                                              const std::uint32_t (&residuals)[4], std::uint32_t (&quanta)[4],
                                              std::uint32_t* quanta_space, std::uint32_t* residual_space) {
    put(lane, residuals, residual_space);
    if (leads(lane))
      lose_in_block<kDim>(residual_space + block_at(lane), coding.mode, quanta_space + block_at(lane));
    get(lane, quanta_space, quanta);
  }
};

// The shape of a block, known in all lanes of it.
template <unsigned kDim>
__device__ __forceinline__ Shape shape_of(const Lane& lane, const RoundSizes& sizes, Mode mode) {
  std::uint32_t others = mode == Mode::outlier ? sizes.others : sizes.all;
  for (unsigned step = 1; step < (kDim == 1 ? 8 : 16); step *= 2)
    others |= __shfl_xor_sync(~0u, others, step);
  std::uint32_t first = __shfl_sync(~0u, sizes.first, (kDim == 1 ? lane.id & 24 : lane.id & 16) | 7);
  if constexpr (kDim == 1) others &= ~kTopBit, first &= ~kTopBit;
  if (mode != Mode::outlier) return Shape{bit_width(others), 0};
  return choose_shape<kDim>(first, others, mode);
}

template <unsigned kDim>
__device__ __forceinline__ bool holds_first(const Lane& lane) {
  return lane.column == 0 && (kDim == 1 || lane.group % 2 == 0);
}

}  // namespace homz::cuszp
