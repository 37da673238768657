// The values of a warp's 32 groups in shared memory, by quads of four neighbours, and their ways between
// there and the field.
#pragma once

#include "codecs/cuszp/device_round.cuh"

namespace homz::cuszp {

// Where the quads of groups are. Threads side by side reach different banks, with the quads of their groups
// as with those that lie side by side in the field: in a row these are of one group, in tiles and cubes of 16
// blocks. kQuads of the 8 of each group are there at a time, in passes.
template <class T, unsigned kDim, unsigned kQuads = 8>
struct Rows {
  static constexpr unsigned kPieces = 4 * sizeof(T) / sizeof(uint4);  // of a quad
  static constexpr unsigned kPad = kDim == 3 && sizeof(T) == 4 ? 16 : 16 / sizeof(T);
  static constexpr unsigned kStride = 4 * kQuads + kPad;                     // values of a group in a row
  static constexpr unsigned kHalf = 16 * 4 * kQuads + kPad;                  // of all first groups of blocks
  static constexpr unsigned kValues = kDim == 1 ? 32 * kStride : 2 * kHalf;  // of a warp
  static constexpr unsigned kWords = kValues * sizeof(T) / 4;
  static constexpr unsigned kPasses = 8 / kQuads;

  // Of a group's first quad, and what its quad k adds.
  __device__ static __forceinline__ unsigned group(unsigned g) {
    return kDim == 1 ? g * kStride : g % 2 * kHalf + g / 2 * (kDim == 2 ? 8 : 4);
  }
  __device__ static constexpr unsigned quad(unsigned k) {
    return kDim == 1 ? 4 * k : kDim == 2 ? k / 2 * 128 + k % 2 * 4 : 64 * k;
  }
  __device__ static constexpr unsigned position(unsigned i) { return quad(i / 4) + i % 4; }
};

// What a lane moves between rows and field: in 8 / kPasses steps, kPieces times 16 bytes each.
template <class T, unsigned kDim, unsigned kQuads = 8>
class Moves {
 public:
  using TheRows = Rows<T, kDim, kQuads>;
  static constexpr unsigned kPieces = TheRows::kPieces, kHalves = kQuads / 2;

  __device__ __forceinline__ Moves(const Places<kDim>& places, const Lane& lane) : places_(places) {
    for (unsigned i = 0; i < kPieces; ++i) {
      const unsigned n = kPieces == 1 ? lane.id : 16 * i + lane.id / 2;  // quad of a step
      const unsigned inner = kPieces == 1 ? 0 : lane.id % 2 * 2;
      if constexpr (kDim == 1) {
        here_[i] = n / kQuads * TheRows::kStride + 4 * (n % kQuads) + inner;
        there_[i] = places.corner(0) + kGroup * (n / kQuads) + 4 * (n % kQuads) + inner;
      } else {
        here_[i] = 4 * n + inner;
        there_[i] = inner + (kDim == 2 ? places.corner(n / 2) + 4 * (n % 2)
                                       : places.corner(n % 16) + n / 16 * places.layout().dx());
      }
    }
  }
  // In the rows, and in the field.
  __device__ __forceinline__ unsigned here(unsigned i, unsigned j) const {
    if constexpr (kDim == 1)
      return here_[i] + 32 / kQuads * j * TheRows::kStride;
    else
      return here_[i] + j / kHalves * TheRows::kHalf + j % kHalves * 128;
  }
  template <class Field>
  __device__ __forceinline__ Field* there(Field* data, unsigned i, unsigned j, unsigned pass) const {
    const unsigned half = j / kHalves, row = j % kHalves + pass * kHalves;
    Field* const first = data + there_[i];
    if constexpr (kDim == 1)
      return first + (std::size_t{32 / kQuads * kGroup} * j + std::size_t{4 * kQuads} * pass);
    else if constexpr (kDim == 2)
      return first + (4 * half + row) * places_.layout().dx();
    else
      return first + ((2 * half + row / 2) * places_.layout().dy() + row % 2 * 2) * places_.layout().dx();
  }

 private:
  const Places<kDim>& places_;
  unsigned here_[kPieces];
  std::uint64_t there_[kPieces];
};

__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from)
      : "memory");
}
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Which positions of a group have a value in the payload, and which own their element: in a row the same.
template <unsigned kDim>
struct GroupMasksOf {
  static constexpr unsigned kMasks = kDim == 1 ? 1 : 2;
  std::uint32_t masks[kMasks];

  __device__ GroupMasksOf() : GroupMasksOf(~0u, ~0u) {}
  __device__ GroupMasksOf(std::uint32_t coded, std::uint32_t owned) {
    masks[kMasks - 1] = owned;
    masks[0] = coded;
  }
  __device__ std::uint32_t coded() const { return masks[0]; }
  __device__ std::uint32_t owned() const { return masks[kMasks - 1]; }
  __device__ bool whole() const { return (coded() & owned()) == ~0u; }
};

template <class T>
__device__ __forceinline__ bool is_aligned(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// Fetches the values of a warp's groups; to be waited for, and met behind by the warp. True if they are all
// whole; else `masks` receives those of this lane's group.
template <class T, unsigned kDim>
__device__ __forceinline__ bool fetch_groups(const T* data, const Places<kDim>& places, const Lane& lane,
                                             T* rows, GroupMasksOf<kDim>& masks) {
  using Rows = Rows<T, kDim>;
  if (places.all_whole() && is_aligned(data)) {
    const Moves<T, kDim> moves(places, lane);
#pragma unroll
    for (unsigned j = 0; j < 8; ++j)
      for (unsigned i = 0; i < Rows::kPieces; ++i)
        copy_async(rows + moves.here(i, j), moves.there(data, i, j, 0));
    return true;
  }
#pragma unroll 1
  for (unsigned r = 0; r < kRounds; ++r) {
    const Elements elements = places.of(lane, r);
    T* const to = rows + Rows::group(4 * r + lane.group);
    bool coded[4], owned[4];
    for (unsigned c = 0; c < 4; ++c) {
      coded[c] = (elements.coded >> c & 1) != 0;
      owned[c] = (elements.owned >> c & 1) != 0;
      to[Rows::position(8 * c + lane.column)] = __ldcs(data + elements.at[c]);
    }
    const std::uint32_t is_coded = __shfl_sync(~0u, gather_bits(lane, coded), 8 * (lane.id % 4));
    const std::uint32_t is_owned = __shfl_sync(~0u, gather_bits(lane, owned), 8 * (lane.id % 4));
    if (lane.id / 4 == r) masks = GroupMasksOf<kDim>(is_coded, is_owned);
  }
  return false;
}

// The way back, for the quads of one pass.
template <class T, unsigned kDim, unsigned kQuads>
__device__ __forceinline__ void store_groups(BitsOf<T>* data, const Places<kDim>& places, const Lane& lane,
                                             const T* rows, unsigned pass) {
  using Rows = Rows<T, kDim, kQuads>;
  if (places.all_whole() && is_aligned(data)) {
    const Moves<T, kDim, kQuads> moves(places, lane);
#pragma unroll
    for (unsigned j = 0; j < kQuads; ++j)
      for (unsigned i = 0; i < Rows::kPieces; ++i)
        __stcs(reinterpret_cast<uint4*>(moves.there(data, i, j, pass)),
               *reinterpret_cast<const uint4*>(rows + moves.here(i, j)));
    return;
  }
#pragma unroll 1
  for (unsigned r = 0; r < kRounds; ++r) {
    const Elements elements = places.of(lane, r);
    const T* const from = rows + Rows::group(4 * r + lane.group);
    for (unsigned c = 0; c < 4; ++c)
      if (c / (4 / Rows::kPasses) == pass && (elements.owned >> c & 1) != 0)
        data[elements.at[c]] = bits_of(from[Rows::position((8 * c + lane.column) % (4 * kQuads))]);
  }
}

// Four values.
template <class T>
struct Quad {
  T values[4];

  __device__ __forceinline__ static Quad load(const T* from) {
    Quad quad;
    if constexpr (sizeof(T) == 4) {
      const float4 is = *reinterpret_cast<const float4*>(from);
      quad.values[0] = is.x, quad.values[1] = is.y, quad.values[2] = is.z, quad.values[3] = is.w;
    } else {
      const auto* const halves = reinterpret_cast<const double2*>(from);
      const double2 low = halves[0], high = halves[1];
      quad.values[0] = low.x, quad.values[1] = low.y, quad.values[2] = high.x, quad.values[3] = high.y;
    }
    return quad;
  }
  __device__ __forceinline__ void store(T* to) const {
    if constexpr (sizeof(T) == 4) {
      *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    } else {
      reinterpret_cast<double2*>(to)[0] = make_double2(values[0], values[1]);
      reinterpret_cast<double2*>(to)[1] = make_double2(values[2], values[3]);
    }
  }
};

}  // namespace homz::cuszp
