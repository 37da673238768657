// The vector primitives (portable.hpp tells what they are) with AVX-512 (F, BW, DQ, VL). To be
// included between HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front of them. Bit planes are
// cut and joined in 256 bits: 32 bytes.
#pragma once

#include "codecs/simd/avx2.hpp"

namespace homz::simd {
namespace {

struct Avx512 {
  static constexpr unsigned kLanes = 16;
  using Vec = std::uint32_t __attribute__((vector_size(4 * kLanes)));
  static constexpr unsigned kVectors = kBlock / kLanes;
  static constexpr std::uint32_t kAll = 0xffff;

  static Vec load(const std::uint32_t* from) { return vec(_mm512_loadu_si512(from)); }
  static void store(std::uint32_t* to, Vec value) { _mm512_storeu_si512(to, raw(value)); }
  static Vec load_bytes(const std::uint8_t* from) {
    return vec(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  static void store_bytes(std::byte* to, Vec value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(raw(value)));
  }
  static Vec above(Vec a, Vec b) { return vec(_mm512_movm_epi32(_mm512_cmpgt_epi32_mask(raw(a), raw(b)))); }
  static Vec where_not_zero(Vec condition, Vec value) {
    return vec(_mm512_maskz_mov_epi32(_mm512_test_epi32_mask(raw(condition), raw(condition)), raw(value)));
  }
  static Vec gather(const std::byte* const (&from)[kLanes]) {
    return vec(_mm512_inserti64x4(_mm512_castsi256_si512(half_from(from)), half_from(from + 8), 1));
  }
  static Vec all(std::uint32_t value) { return Vec{} + value; }

  static Vec lesser(Vec a, Vec b) { return vec(_mm512_min_epi32(raw(a), raw(b))); }
  static Vec greater(Vec a, Vec b) { return vec(_mm512_max_epi32(raw(a), raw(b))); }
  static Vec magnitude(Vec value) { return vec(_mm512_abs_epi32(raw(value))); }
  static Vec negate_where(std::uint32_t mask, Vec value) {
    return vec(
        _mm512_mask_sub_epi32(raw(value), static_cast<__mmask16>(mask), _mm512_setzero_si512(), raw(value)));
  }
  static Vec select(std::uint32_t mask, Vec yes, Vec no) {
    return vec(_mm512_mask_blend_epi32(static_cast<__mmask16>(mask), raw(no), raw(yes)));
  }
  static std::uint32_t negative(Vec value) { return wide(_mm512_movepi32_mask(raw(value))); }
  static std::uint32_t not_zero(Vec value) { return wide(_mm512_test_epi32_mask(raw(value), raw(value))); }
  static std::uint32_t union_of(Vec value) {
    return Avx2::union_of(half(raw(value)) | half(_mm512_shuffle_i64x2(raw(value), raw(value), 0x4e)));
  }
  static Vec prefix_sums(Vec value) {
    value += vec(_mm512_bslli_epi128(raw(value), 4));
    value += vec(_mm512_bslli_epi128(raw(value), 8));  // within each quarter
    // To each quarter the sums of those in front of it.
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums = _mm512_alignr_epi64(_mm512_shuffle_epi32(raw(value), _MM_PERM_DDDD), zero, 6);
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi64(sums, zero, 6));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi64(sums, zero, 4));
    return value + vec(sums);
  }
  static Vec shift_in(Vec before, Vec value) { return vec(_mm512_alignr_epi32(raw(value), raw(before), 15)); }
  static Vec last(Vec value) { return vec(_mm512_permutexvar_epi32(_mm512_set1_epi32(15), raw(value))); }

  [[gnu::always_inline]] static inline void transpose(Vec (&rows)[kLanes]) {
    __m512i quads[kLanes];  // 4j + i: columns i, 4 + i, 8 + i and 12 + i of rows 4j to 4j + 3
    for (unsigned j = 0; j < kLanes; j += 4) {
      const __m512i low01 = _mm512_unpacklo_epi32(raw(rows[j]), raw(rows[j + 1]));
      const __m512i high01 = _mm512_unpackhi_epi32(raw(rows[j]), raw(rows[j + 1]));
      const __m512i low23 = _mm512_unpacklo_epi32(raw(rows[j + 2]), raw(rows[j + 3]));
      const __m512i high23 = _mm512_unpackhi_epi32(raw(rows[j + 2]), raw(rows[j + 3]));
      quads[j] = _mm512_unpacklo_epi64(low01, low23);
      quads[j + 1] = _mm512_unpackhi_epi64(low01, low23);
      quads[j + 2] = _mm512_unpacklo_epi64(high01, high23);
      quads[j + 3] = _mm512_unpackhi_epi64(high01, high23);
    }
    for (unsigned i = 0; i < 4; ++i) {
      const __m512i even03 = _mm512_shuffle_i32x4(quads[i], quads[4 + i], 0x88);
      const __m512i odd03 = _mm512_shuffle_i32x4(quads[i], quads[4 + i], 0xdd);
      const __m512i even47 = _mm512_shuffle_i32x4(quads[8 + i], quads[12 + i], 0x88);
      const __m512i odd47 = _mm512_shuffle_i32x4(quads[8 + i], quads[12 + i], 0xdd);
      rows[i] = vec(_mm512_shuffle_i32x4(even03, even47, 0x88));
      rows[4 + i] = vec(_mm512_shuffle_i32x4(odd03, odd47, 0x88));
      rows[8 + i] = vec(_mm512_shuffle_i32x4(even03, even47, 0xdd));
      rows[12 + i] = vec(_mm512_shuffle_i32x4(odd03, odd47, 0xdd));
    }
  }

  using Doubt = __mmask16;
  static bool is_any(Doubt doubt) { return doubt != 0; }
  static std::uint32_t mask_of(Doubt doubt) { return wide(doubt); }

  template <class T>
  static void restore(Vec quanta, T step, std::byte* to) {
    if constexpr (sizeof(T) == 4) {
      _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(raw(quanta)), _mm512_set1_ps(step)));
    } else {
      const __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(raw(quanta)));
      const __m512d high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(raw(quanta), 1));
      _mm512_storeu_pd(to, _mm512_mul_pd(low, _mm512_set1_pd(step)));
      _mm512_storeu_pd(to + 64, _mm512_mul_pd(high, _mm512_set1_pd(step)));
    }
  }
  template <class T>
  static std::uint32_t equal(const std::byte* from, BitsOf<T> bits) {
    if constexpr (sizeof(T) == 4) {
      const __m512i wanted = _mm512_set1_epi32(static_cast<int>(bits));
      return wide(_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(from), wanted));
    } else {
      const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(bits));
      return wide(join(_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(from), wanted),
                       _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(from + 64), wanted)));
    }
  }

  static void planes(const Vec (&sizes)[kVectors], unsigned width, std::byte* to) {
    Avx2::Vec halves[4];
    split(sizes, halves);
    Avx2::planes(halves, width, to);
  }
  static void join_planes(const std::byte* from, unsigned width, Vec (&sizes)[kVectors]) {
    Avx2::Vec halves[4];
    Avx2::join_planes(from, width, halves);
    unite(halves, sizes);
  }

 protected:
  static __m256i half_from(const std::byte* const* from) {
    int words[8];
    for (unsigned i = 0; i < 8; ++i) std::memcpy(words + i, from[i], sizeof(int));
    return _mm256_setr_epi32(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]);
  }
  static __m512i raw(Vec value) { return reinterpret_cast<__m512i>(value); }
  static Vec vec(__m512i value) { return reinterpret_cast<Vec>(value); }
  // Where registers run short, GCC 12 may store a mask as 8 or 16 bits and read 32 back, if it is widened by
  // a conversion (seen under ThreadSanitizer). So masks stay masks, and this instruction widens them.
  static std::uint32_t wide(__mmask16 mask) {
    std::uint32_t bits;
    asm("kmovw %1, %0" : "=r"(bits) : "k"(mask));
    return bits;
  }
  static __mmask16 join(__mmask8 low, __mmask8 high) { return _mm512_kunpackb(high, low); }
  static Avx2::Vec half(__m512i value) { return reinterpret_cast<Avx2::Vec>(_mm512_castsi512_si256(value)); }

  static void split(const Vec (&sizes)[kVectors], Avx2::Vec (&halves)[4]) {
    for (unsigned i = 0; i < kVectors; ++i) {
      halves[2 * i] = half(raw(sizes[i]));
      halves[2 * i + 1] = reinterpret_cast<Avx2::Vec>(_mm512_extracti64x4_epi64(raw(sizes[i]), 1));
    }
  }
  static void unite(const Avx2::Vec (&halves)[4], Vec (&sizes)[kVectors]) {
    for (unsigned i = 0; i < kVectors; ++i)
      sizes[i] = vec(_mm512_inserti64x4(_mm512_castsi256_si512(reinterpret_cast<__m256i>(halves[2 * i])),
                                        reinterpret_cast<__m256i>(halves[2 * i + 1]), 1));
  }
};

}  // namespace
}  // namespace homz::simd
