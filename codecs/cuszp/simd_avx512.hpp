// What cuszp adds to the vector primitives (simd_portable.hpp tells what that is) with AVX-512 (F, BW, DQ,
// VL). To be included between HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front of them.
#pragma once

#include "codecs/cuszp/simd_avx2.hpp"
#include "codecs/simd/avx512.hpp"

namespace homz::cuszp {
namespace {

struct Avx512 : simd::Avx512 {
  using ForTiles = Avx2;  // rows of 8 and 4 values are no whole vectors

  template <class T>
  static Doubt quantise(const std::byte* from, const Coding<T>& coding, Vec& quanta) {
    quanta = quantise_unchecked(from, coding);
    if constexpr (sizeof(T) == 4) {
      const __m512 restored = _mm512_mul_ps(_mm512_cvtepi32_ps(raw(quanta)), _mm512_set1_ps(coding.step));
      const __m512 error = _mm512_abs_ps(_mm512_sub_ps(_mm512_loadu_ps(from), restored));
      return _mm512_cmp_ps_mask(error, _mm512_set1_ps(coding.safe), _CMP_NLT_UQ);
    } else {
      return join(check_half(from, coding, _mm512_castsi512_si256(raw(quanta))),
                  check_half(from + 64, coding, _mm512_extracti64x4_epi64(raw(quanta), 1)));
    }
  }
  template <class T>
  static Vec quantise_unchecked(const std::byte* from, const Coding<T>& coding) {
    if constexpr (sizeof(T) == 4) {
      const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(from), _mm512_set1_ps(coding.by.reciprocal));
      const __mmask16 below = _mm512_cmp_ps_mask(scaled, _mm512_set1_ps(-0.5f), _CMP_NGE_UQ);
      const __m512i whole = _mm512_cvttps_epi32(_mm512_add_ps(scaled, _mm512_set1_ps(0.5f)));
      return vec(_mm512_mask_sub_epi32(whole, below, whole, _mm512_set1_epi32(1)));
    } else {
      const __m512i low = _mm512_castsi256_si512(quantise_half(from, coding));
      return vec(_mm512_inserti64x4(low, quantise_half(from + 64, coding), 1));
    }
  }

  static Vec behind(Vec before, Vec here) { return vec(_mm512_alignr_epi32(raw(here), raw(before), 15)); }
  static std::uint32_t first(Vec value) {
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(raw(value))));
  }
  static Vec with_first(Vec value, std::uint32_t lane) {
    return vec(_mm512_mask_set1_epi32(raw(value), 1, static_cast<int>(lane)));
  }
  static Vec without_first(Vec value) { return vec(_mm512_maskz_mov_epi32(0xfffe, raw(value))); }

  template <unsigned kStride>
  static void write_planes(const Vec (&residuals)[kVectors], unsigned width, std::byte* to) {
    Avx2::Vec halves[4];
    split(residuals, halves);
    Avx2::write_planes<kStride>(halves, width, to);
  }
  template <unsigned kStride>
  static void read_planes(const std::byte* from, unsigned width, Vec (&residuals)[kVectors]) {
    Avx2::Vec halves[4];
    Avx2::read_planes<kStride>(from, width, halves);
    unite(halves, residuals);
  }

 private:
  static __m256i quantise_half(const std::byte* from, const Coding<double>& coding) {
    const __m512d scaled = _mm512_mul_pd(_mm512_loadu_pd(from), _mm512_set1_pd(coding.by.reciprocal));
    const __mmask8 below = _mm512_cmp_pd_mask(scaled, _mm512_set1_pd(-0.5), _CMP_NGE_UQ);
    const __m256i whole = _mm512_cvttpd_epi32(_mm512_add_pd(scaled, _mm512_set1_pd(0.5)));
    return _mm256_mask_sub_epi32(whole, below, whole, _mm256_set1_epi32(1));
  }
  static __mmask8 check_half(const std::byte* from, const Coding<double>& coding, __m256i quanta) {
    const __m512d restored = _mm512_mul_pd(_mm512_cvtepi32_pd(quanta), _mm512_set1_pd(coding.step));
    const __m512d error = _mm512_abs_pd(_mm512_sub_pd(_mm512_loadu_pd(from), restored));
    return _mm512_cmp_pd_mask(error, _mm512_set1_pd(coding.safe), _CMP_NLT_UQ);
  }
};

}  // namespace
}  // namespace homz::cuszp
