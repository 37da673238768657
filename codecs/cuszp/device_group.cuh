// A group of 32 positions in one thread: its values from shared memory to residuals in registers, and bit
// planes of them. A block is one group, or two of neighbouring threads in tiles and cubes.
#pragma once

#include "codecs/cuszp/device_rows.cuh"

namespace homz::cuszp {

// The position of the same group that predicts position i > 0.
template <unsigned kDim>
constexpr unsigned predictor_in_group(unsigned i) {
  return Block<kDim>::predictor(i);
}
// The position of a block's first group that predicts the first one of its second.
template <unsigned kDim>
inline constexpr unsigned kLinked = kDim == 1 ? 0 : Block<kDim>::predictor(kGroup);

// A thread's group while it is coded.
template <class T, unsigned kDim>
struct Group {
  std::uint32_t sizes[kGroup];  // quanta, then residuals, then their magnitudes
  std::uint32_t signs;          // of the residuals: a plane
  std::uint32_t bits, others;   // the union of the magnitudes; without position 0 of the block

  // What needs a second look: bit p, four values some of which may break the bound; the top bit, fill values.
  static constexpr std::uint32_t kHasFill = kTopBit;

  __device__ __forceinline__ std::uint32_t quantise(const Coding<T, kDim>& coding, const T* row) {
    std::uint32_t doubts = 0;
#pragma unroll
    for (unsigned p = 0; p < kGroup / 4; ++p) {
      const auto quad = Quad<T>::load(row + Rows<T, kDim>::quad(p));
      bool doubtful = false;
      for (unsigned k = 0; k < 4; ++k) {
        sizes[4 * p + k] = coding.quantiser.quantise(quad.values[k]);
        doubtful |= is_doubtful(coding, quad.values[k], sizes[4 * p + k]);
      }
      if (doubtful) doubts |= 1u << p;
      if (coding.has_fill)
        for (unsigned k = 0; k < 4; ++k)
          if (bits_of(quad.values[k]) == coding.fill) doubts |= kHasFill;
    }
    return doubts;
  }

  __device__ __forceinline__ void subtract(const Coding<T, kDim>& coding, const Lane& lane) {
    if (coding.mode == Mode::fixed) return;
    const std::uint32_t linked = kDim == 1 ? 0 : __shfl_up_sync(~0u, sizes[kLinked<kDim>], 1);
#pragma unroll
    for (unsigned i = kGroup; i-- > 1;) sizes[i] -= sizes[predictor_in_group<kDim>(i)];
    if (kDim != 1 && lane.id % 2 != 0) sizes[0] -= linked;
  }

  // From residuals to signs and magnitudes.
  __device__ __forceinline__ void measure(bool holds_first) {
    signs = 0;
#pragma unroll
    for (unsigned k = 4; k-- > 0;)
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) signs = __funnelshift_l(sizes[8 * k + j], signs, 1);
#pragma unroll
    for (unsigned i = 0; i < kGroup; ++i)
      sizes[i] = static_cast<std::uint32_t>(abs(static_cast<std::int32_t>(sizes[i])));  // of -2^31: 2^31
    std::uint32_t behind = 0;
#pragma unroll
    for (unsigned i = 1; i < kGroup; ++i) behind |= sizes[i];
    bits = behind | sizes[0];
    others = holds_first ? behind : bits;
  }

  // Left there by code_block_again().
  __device__ void load_residuals(const T* row) {
#pragma unroll
    for (unsigned i = 0; i < kGroup; ++i)
      sizes[i] = static_cast<std::uint32_t>(bits_of(row[Rows<T, kDim>::position(i)]));
  }
};

// Which of a group's values break the bound, where nothing is fill or lost. `doubts`: the pieces to look at.
template <class T, unsigned kDim>
__device__ __forceinline__ std::uint32_t find_exact(const Coding<T, kDim>& coding, const T* row,
                                                    std::uint32_t doubts) {
  std::uint32_t exact = 0;
  for (; doubts != 0; doubts &= doubts - 1) {
    const unsigned p = static_cast<unsigned>(__ffs(static_cast<int>(doubts))) - 1;
    const auto quad = Quad<T>::load(row + Rows<T, kDim>::quad(p));
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint32_t quantum = coding.quantiser.quantise(quad.values[k]);
      if (is_doubtful(coding, quad.values[k], quantum) &&
          !within_bound(quad.values[k], coding.quantiser.restore(quantum), coding.abs_error))
        exact |= 1u << (4 * p + k);
    }
  }
  return exact;
}

// The exceptions of a block, a bit a position.
struct BlockExceptions {
  std::uint64_t exact, fill;
};

// A whole block, by one thread, with all that is rare in it: fill values, positions outside the field, lost
// magnitudes. Its residuals take the place of its values, `rows` of the warp, of which `group` is the first.
// As on the host, but by loops that stay loops: registers are short.
template <class T, unsigned kDim>
__device__ __noinline__ BlockExceptions code_block_again(const Coding<T, kDim>& coding, T* rows,
                                                         unsigned group, std::uint64_t coded,
                                                         std::uint64_t owned) {
  using Rows = Rows<T, kDim>;
  constexpr unsigned kValues = Block<kDim>::kValues;
  const auto value = [&](unsigned i) -> T& {
    return rows[Rows::group(group + i / kGroup) + Rows::position(i % kGroup)];
  };
  const auto bit = [](std::uint64_t bits, unsigned i) { return (bits >> i & 1) != 0; };
  const bool predicts = coding.mode != Mode::fixed;
  BlockExceptions found{0, 0};
  std::uint32_t quanta[kValues];
#pragma unroll 1
  for (unsigned i = 0; i < kValues; ++i) {
    const T x = value(i);
    quanta[i] = coding.quantiser.quantise(x);
    if (coding.has_fill && bits_of(x) == coding.fill && bit(coded | owned, i))
      found.fill |= std::uint64_t{1} << i;
  }
  const std::uint64_t absent = kValues == 64 ? ~coded : ~coded & 0xffffffffu;
  if (found.fill != 0) settle_block<kDim>(quanta, found.fill | (coding.v1 ? 0 : absent), coding.mode);
  std::uint32_t decoded = 0;  // of a row, whose block code may lose magnitudes
#pragma unroll 1
  for (unsigned i = 0; i < kValues; ++i) {
    const bool is_coded = bit(coded, i);
    if (!is_coded) quanta[i] = 0;
    std::uint32_t residual = quanta[i];
    if (predicts && i != 0) residual -= quanta[Block<kDim>::predictor(i)];
    if (!is_coded && !coding.v1) residual = 0;
    if (kDim == 1) decoded = (predicts ? decoded : 0) + (residual == kTopBit ? 0 : residual);
    const std::uint32_t quantum = kDim == 1 ? decoded : quanta[i];
    if (bit(owned & ~found.fill, i) &&
        !within_bound(value(i), coding.quantiser.restore(quantum), coding.abs_error))
      found.exact |= std::uint64_t{1} << i;
    value(i) = value_of<T>(BitsOf<T>{residual});
  }
  found.fill &= owned;
  return found;
}

// ---- Bit planes

// The bits of a under the mask and those of b elsewhere, by one instruction.
template <std::uint32_t kMask>
__device__ __forceinline__ std::uint32_t choose(std::uint32_t a, std::uint32_t b) {
  std::uint32_t chosen;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(chosen) : "n"(kMask), "r"(a), "r"(b));
  return chosen;
}
// One step of the transposition of four 8 x 8 bit matrices side by side.
template <unsigned kShift, std::uint32_t kLow>
__device__ __forceinline__ void exchange_bits(std::uint32_t& a, std::uint32_t& b) {
  const std::uint32_t low = choose<kLow>(a, b << kShift);
  b = choose<kLow>(a >> kShift, b);
  a = low;
}
// Byte k, bit p of row j becomes byte k, bit j of row p.
__device__ __forceinline__ void transpose_bytes(std::uint32_t (&rows)[8]) {
  for (unsigned i = 0; i < 4; ++i) exchange_bits<4, 0x0f0f0f0fu>(rows[i], rows[i + 4]);
  for (unsigned i = 0; i < 8; ++i)
    if (i % 4 < 2) exchange_bits<2, 0x33333333u>(rows[i], rows[i + 2]);
  for (unsigned i = 0; i < 8; i += 2) exchange_bits<1, 0x55555555u>(rows[i], rows[i + 1]);
}

// Calls put(plane, word) for the planes of the magnitudes: bit 7 - j of byte k is that of position 8 k + j.
template <class Put>
__device__ __forceinline__ void put_planes(const std::uint32_t (&sizes)[kGroup], std::uint32_t width,
                                           Put put) {
#pragma unroll
  for (unsigned s = 0; s < 4; ++s) {
    if (8 * s >= width) break;
    const std::uint32_t there = ~0u >> (32 - width) >> 8 * s;
    const unsigned pick = s | (s + 4) << 4;
    std::uint32_t rows[8];
    for (unsigned j = 0; j < 8; ++j)
      rows[7 - j] = __byte_perm(__byte_perm(sizes[j], sizes[8 + j], pick),
                                __byte_perm(sizes[16 + j], sizes[24 + j], pick), 0x5410);
    transpose_bytes(rows);
    for (unsigned p = 0; p < 8; ++p)
      if ((there >> p & 1) != 0) put(8 * s + p, rows[p]);
  }
}

// The inverse: get(plane) tells the words.
template <class Get>
__device__ __forceinline__ void get_planes(std::uint32_t (&sizes)[kGroup], std::uint32_t width, Get get) {
#pragma unroll
  for (unsigned s = 0; s < 4; ++s) {
    if (s != 0 && 8 * s >= width) break;
    std::uint32_t rows[8];
    for (unsigned p = 0; p < 8; ++p) rows[p] = 8 * s + p < width ? get(8 * s + p) : 0;
    transpose_bytes(rows);
    for (unsigned k = 0; k < 4; ++k)
      for (unsigned j = 0; j < 8; ++j) {
        const std::uint32_t take = 0x3210 & ~(0xfu << 4 * s);
        sizes[8 * k + j] = s == 0 ? __byte_perm(rows[7 - j], 0, 0x4440 | k)
                                  : __byte_perm(sizes[8 * k + j], rows[7 - j], take | (4 + k) << 4 * s);
      }
  }
}

}  // namespace homz::cuszp
