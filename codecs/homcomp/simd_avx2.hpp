// What homcomp adds to the vector primitives (simd_portable.hpp tells what that is) with AVX2 and BMI2. To be
// included between HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front of them.
#pragma once

#include "codecs/simd/avx2.hpp"

namespace homz::homcomp {
namespace {  // each file that includes it has its own: none may reach a machine of the other

struct Avx2 : simd::Avx2 {
  template <class T>
  static Doubt quantise(const std::byte* from, const Quantiser<T>& by, Vec& quanta) {
    if constexpr (sizeof(T) == 4) {
      const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
      const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(values, _mm256_set1_ps(by.reciprocal)));
      const __m256 restored = _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(by.step));
      const __m256 error = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(values, restored));
      quanta = vec(q);
      return vec(_mm256_castps_si256(_mm256_cmp_ps(error, _mm256_set1_ps(by.safe), _CMP_NLE_UQ)));
    } else {
      __m128i low, high;
      const __m256 bad_low = quantise_half(from, by, low), bad_high = quantise_half(from + 32, by, high);
      quanta = vec(_mm256_set_m128i(high, low));
      return join_wide(bad_low, bad_high);
    }
  }

  static std::uint32_t bits_where(std::uint32_t bits, std::uint32_t mask) { return _pext_u32(bits, mask); }
  static std::uint32_t bits_to(std::uint32_t packed, std::uint32_t mask) { return _pdep_u32(packed, mask); }
  static std::uint64_t bytes_to(std::uint64_t packed, std::uint8_t mask) {
    return _pdep_u64(packed, _pdep_u64(mask, 0x0101010101010101u) * 0xff);
  }

 private:
  static __m256 quantise_half(const std::byte* from, const Quantiser<double>& by, __m128i& quanta) {
    const __m256d values = _mm256_loadu_pd(reinterpret_cast<const double*>(from));
    quanta = _mm256_cvtpd_epi32(_mm256_mul_pd(values, _mm256_set1_pd(by.reciprocal)));
    const __m256d restored = _mm256_mul_pd(_mm256_cvtepi32_pd(quanta), _mm256_set1_pd(by.step));
    const __m256d error = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(values, restored));
    return _mm256_castpd_ps(_mm256_cmp_pd(error, _mm256_set1_pd(by.safe), _CMP_NLE_UQ));
  }
};

}  // namespace
}  // namespace homz::homcomp
