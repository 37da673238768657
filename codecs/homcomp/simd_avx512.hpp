// What homcomp adds to the vector primitives (simd_portable.hpp tells what that is) with AVX-512 (F, BW, DQ,
// VL) and BMI2. To be included between HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front.
#pragma once

#include "codecs/simd/avx512.hpp"

namespace homz::homcomp {
namespace {

struct Avx512 : simd::Avx512 {
  template <class T>
  static Doubt quantise(const std::byte* from, const Quantiser<T>& by, Vec& quanta) {
    if constexpr (sizeof(T) == 4) {
      const __m512 values = _mm512_loadu_ps(from);
      const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(values, _mm512_set1_ps(by.reciprocal)));
      const __m512 restored = _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(by.step));
      quanta = vec(q);
      return _mm512_cmp_ps_mask(_mm512_abs_ps(_mm512_sub_ps(values, restored)), _mm512_set1_ps(by.safe),
                                _CMP_NLE_UQ);
    } else {
      __m256i low, high;
      const __mmask16 bad = join(quantise_half(from, by, low), quantise_half(from + 64, by, high));
      quanta = vec(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
      return bad;
    }
  }

  static std::uint32_t bits_where(std::uint32_t bits, std::uint32_t mask) { return _pext_u32(bits, mask); }
  static std::uint32_t bits_to(std::uint32_t packed, std::uint32_t mask) { return _pdep_u32(packed, mask); }
  static std::uint64_t bytes_to(std::uint64_t packed, std::uint8_t mask) {
    return _pdep_u64(packed, _pdep_u64(mask, 0x0101010101010101u) * 0xff);
  }

 private:
  static __mmask8 quantise_half(const std::byte* from, const Quantiser<double>& by, __m256i& quanta) {
    const __m512d values = _mm512_loadu_pd(from);
    quanta = _mm512_cvtpd_epi32(_mm512_mul_pd(values, _mm512_set1_pd(by.reciprocal)));
    const __m512d restored = _mm512_mul_pd(_mm512_cvtepi32_pd(quanta), _mm512_set1_pd(by.step));
    return _mm512_cmp_pd_mask(_mm512_abs_pd(_mm512_sub_pd(values, restored)), _mm512_set1_pd(by.safe),
                              _CMP_NLE_UQ);
  }
};

}  // namespace
}  // namespace homz::homcomp
