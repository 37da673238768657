// What cuszp adds to the vector primitives (simd_portable.hpp tells what that is) with AVX2. To be included
// between HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front of them.
#pragma once

#include "codecs/simd/avx2.hpp"

namespace homz::cuszp {
namespace {  // each file that includes it has its own: none may reach a machine of the other

struct Avx2 : simd::Avx2 {
  using ForTiles = Avx2;

  template <class T>
  static Doubt quantise(const std::byte* from, const Coding<T>& coding, Vec& quanta) {
    quanta = quantise_unchecked(from, coding);
    if constexpr (sizeof(T) == 4) {
      const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
      const __m256 restored = _mm256_mul_ps(_mm256_cvtepi32_ps(raw(quanta)), _mm256_set1_ps(coding.step));
      const __m256 error = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(values, restored));
      return vec(_mm256_castps_si256(_mm256_cmp_ps(error, _mm256_set1_ps(coding.safe), _CMP_NLT_UQ)));
    } else {
      return join_wide(check_half(from, coding, _mm256_castsi256_si128(raw(quanta))),
                       check_half(from + 32, coding, _mm256_extracti128_si256(raw(quanta), 1)));
    }
  }

  // Rounded down after 1/2 is added, and 1 less where there is less than -1/2.
  template <class T>
  static Vec quantise_unchecked(const std::byte* from, const Coding<T>& coding) {
    if constexpr (sizeof(T) == 4) {
      const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
      const __m256 scaled = _mm256_mul_ps(values, _mm256_set1_ps(coding.by.reciprocal));
      const __m256 below = _mm256_cmp_ps(scaled, _mm256_set1_ps(-0.5f), _CMP_NGE_UQ);
      const __m256i whole = _mm256_cvttps_epi32(_mm256_add_ps(scaled, _mm256_set1_ps(0.5f)));
      return vec(whole) + vec(_mm256_castps_si256(below));
    } else {
      const __m256d r = _mm256_set1_pd(coding.by.reciprocal), half = _mm256_set1_pd(0.5);
      const __m256d low = _mm256_mul_pd(_mm256_loadu_pd(reinterpret_cast<const double*>(from)), r);
      const __m256d high = _mm256_mul_pd(_mm256_loadu_pd(reinterpret_cast<const double*>(from + 32)), r);
      const Vec below = join_wide(_mm256_castpd_ps(_mm256_cmp_pd(low, _mm256_set1_pd(-0.5), _CMP_NGE_UQ)),
                                  _mm256_castpd_ps(_mm256_cmp_pd(high, _mm256_set1_pd(-0.5), _CMP_NGE_UQ)));
      return vec(_mm256_set_m128i(_mm256_cvttpd_epi32(_mm256_add_pd(high, half)),
                                  _mm256_cvttpd_epi32(_mm256_add_pd(low, half)))) +
             below;
    }
  }

  static Vec behind(Vec before, Vec here) {
    const __m256i middle = _mm256_permute2x128_si256(raw(before), raw(here), 0x21);
    return vec(_mm256_alignr_epi8(raw(here), middle, 12));
  }
  template <unsigned kDim>
  static Vec behind_in_tile(const Vec (&v)[2 * kVectors], unsigned i) {
    const __m256i here = raw(v[i]), zero = _mm256_setzero_si256();
    if constexpr (kDim == 2) {  // a row a vector
      const __m256i shifted = _mm256_permutevar8x32_epi32(here, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
      return vec(_mm256_blend_epi32(shifted, i == 0 ? zero : raw(v[i - (i != 0)]), 1));
    } else {  // two rows a vector, two vectors a slice
      const __m256i shifted = _mm256_shuffle_epi32(here, 0x90);
      const __m256i heads = i == 0       ? _mm256_permute2x128_si256(zero, here, 0x20)
                            : i % 2 == 0 ? _mm256_permute2x128_si256(raw(v[i - 2 * (i > 1)]), here, 0x20)
                                         : _mm256_permute2x128_si256(raw(v[i - (i != 0)]), here, 0x21);
      return vec(_mm256_blend_epi32(shifted, heads, 0x11));
    }
  }
  template <unsigned kDim>
  static void add_up_tile(Vec (&v)[2 * kVectors]) {
    Vec head = all(0), slice = all(0);  // what the rows so far, and the slices before, begin with
    for (unsigned i = 0; i < 2 * kVectors; ++i) {
      if constexpr (kDim == 2) {
        const Vec first = vec(_mm256_broadcastd_epi32(_mm256_castsi256_si128(raw(v[i]))));
        v[i] = prefix_sums(v[i]) + head;
        head += first;
      } else {
        Vec sums = v[i];
        sums += vec(_mm256_slli_si256(raw(sums), 4));
        sums += vec(_mm256_slli_si256(raw(sums), 8));
        const Vec firsts = vec(_mm256_shuffle_epi32(raw(v[i]), 0));
        const Vec lower = vec(_mm256_permute2x128_si256(raw(firsts), raw(firsts), 0x00));
        if (i % 2 == 0) head = slice;
        if (i % 2 == 0) slice += lower;
        v[i] = sums + head + vec(_mm256_permute2x128_si256(raw(firsts), raw(firsts), 0x08));
        head += lower + vec(_mm256_permute2x128_si256(raw(firsts), raw(firsts), 0x11));
      }
    }
  }

  static std::uint32_t first(Vec value) {
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm256_castsi256_si128(raw(value))));
  }
  static Vec with_first(Vec value, std::uint32_t lane) {
    const __m128i one = _mm_cvtsi32_si128(static_cast<int>(lane));
    return vec(_mm256_blend_epi32(raw(value), _mm256_castsi128_si256(one), 1));
  }
  static Vec without_first(Vec value) {
    return vec(_mm256_blend_epi32(raw(value), _mm256_setzero_si256(), 1));
  }

  // Without a branch on the width within a byte: it is as good as random.
  template <unsigned kStride>
  static void write_planes(const Vec (&r)[kVectors], unsigned width, std::byte* to) {
    if (width > 15) {
      write_wide_planes<kStride>(r, width, to);
      return;
    }
    __m256i low = _mm256_packs_epi32(raw(r[0]), raw(r[1])), high = _mm256_packs_epi32(raw(r[2]), raw(r[3]));
    write_plane(in_order(_mm256_packs_epi16(low, high)), to);
    low = _mm256_abs_epi16(low);
    high = _mm256_abs_epi16(high);
    if (width <= 8) {
      write_byte<kStride>(_mm256_packus_epi16(low, high), to + kStride);
    } else {
      write_byte<kStride>(low_bytes(low, high), to + kStride);
      write_byte<kStride>(high_bytes(low, high), to + 9 * kStride);
    }
  }

  template <unsigned kStride>
  static void read_planes(const std::byte* from, unsigned width, Vec (&r)[kVectors]) {
    const __m256i signs = mask_of_plane(from);
    const __m256i byte0 = byte_of_planes<kStride>(from + kStride, width);
    if (width <= 7) {
      widen_bytes(_mm256_sub_epi8(_mm256_xor_si256(byte0, signs), signs), r);
      return;
    }
    const __m256i byte1 = byte_of_planes<kStride>(from + 9 * kStride, width > 8 ? width - 8 : 0);
    __m256i low = _mm256_unpacklo_epi8(byte0, byte1);   // of values 0-7, 16-23
    __m256i high = _mm256_unpackhi_epi8(byte0, byte1);  // of values 8-15, 24-31
    if (width <= 15) {
      const __m256i low_signs = _mm256_unpacklo_epi8(signs, signs);
      const __m256i high_signs = _mm256_unpackhi_epi8(signs, signs);
      low = _mm256_sub_epi16(_mm256_xor_si256(low, low_signs), low_signs);
      high = _mm256_sub_epi16(_mm256_xor_si256(high, high_signs), high_signs);
      r[0] = vec(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(low)));
      r[1] = vec(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(high)));
      r[2] = vec(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(low, 1)));
      r[3] = vec(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(high, 1)));
      return;
    }
    const __m256i byte2 = byte_of_planes<kStride>(from + 17 * kStride, width > 16 ? width - 16 : 0);
    const __m256i byte3 =
        width <= 24 ? _mm256_setzero_si256() : byte_of_planes<kStride>(from + 25 * kStride, width - 24);
    join_pairs(low, _mm256_unpacklo_epi8(byte2, byte3), r[0], r[2]);
    join_pairs(high, _mm256_unpackhi_epi8(byte2, byte3), r[1], r[3]);
    Vec negative[kVectors];
    widen_bytes(signs, negative);
    for (unsigned i = 0; i < kVectors; ++i) r[i] = (r[i] ^ negative[i]) - negative[i];
  }

 private:
  static __m256 check_half(const std::byte* from, const Coding<double>& coding, __m128i quanta) {
    const __m256d values = _mm256_loadu_pd(reinterpret_cast<const double*>(from));
    const __m256d restored = _mm256_mul_pd(_mm256_cvtepi32_pd(quanta), _mm256_set1_pd(coding.step));
    const __m256d error = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(values, restored));
    return _mm256_castpd_ps(_mm256_cmp_pd(error, _mm256_set1_pd(coding.safe), _CMP_NLT_UQ));
  }

  // ---- To planes

  // Bytes as two packings in a row leave them, to the order of planes: from the last of eight to the first.
  static __m256i in_order(__m256i packed) {
    const __m256i dwords = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3));
    const __m128i reversed = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm256_shuffle_epi8(dwords, _mm256_broadcastsi128_si256(reversed));
  }
  static __m256i low_bytes(__m256i low, __m256i high) {
    const __m256i ff = _mm256_set1_epi16(0xff);
    return _mm256_packus_epi16(_mm256_and_si256(low, ff), _mm256_and_si256(high, ff));
  }
  static __m256i high_bytes(__m256i low, __m256i high) {
    return _mm256_packus_epi16(_mm256_srli_epi16(low, 8), _mm256_srli_epi16(high, 8));
  }

  static void write_plane(__m256i tops, std::byte* to) {
    const auto word = static_cast<std::uint32_t>(_mm256_movemask_epi8(tops));
    std::memcpy(to, &word, 4);
  }
  // The eight planes of a byte: each in turn is shifted to the top bit.
  template <unsigned kStride>
  static void write_byte(__m256i packed, std::byte* to) {
    __m256i bits = in_order(packed);
    for (unsigned plane = 8; plane-- > 0;) {
      write_plane(bits, to + kStride * plane);
      bits = _mm256_add_epi8(bits, bits);
    }
  }

  template <unsigned kStride>
  static void write_wide_planes(const Vec (&r)[kVectors], unsigned width, std::byte* to) {
    const Vec ffff = all(0xffff);
    Vec sizes[kVectors];
    for (unsigned i = 0; i < kVectors; ++i) sizes[i] = magnitude(r[i]);
    const __m256i low = _mm256_packus_epi32(raw(sizes[0] & ffff), raw(sizes[1] & ffff));
    const __m256i high = _mm256_packus_epi32(raw(sizes[2] & ffff), raw(sizes[3] & ffff));
    const __m256i upper_low = _mm256_packus_epi32(raw(sizes[0] >> 16), raw(sizes[1] >> 16));
    const __m256i upper_high = _mm256_packus_epi32(raw(sizes[2] >> 16), raw(sizes[3] >> 16));
    write_plane(in_order(_mm256_packs_epi16(_mm256_packs_epi32(raw(r[0]), raw(r[1])),
                                            _mm256_packs_epi32(raw(r[2]), raw(r[3])))),
                to);
    write_byte<kStride>(low_bytes(low, high), to + kStride);
    write_byte<kStride>(high_bytes(low, high), to + 9 * kStride);
    if (width > 16) write_byte<kStride>(low_bytes(upper_low, upper_high), to + 17 * kStride);
    if (width > 24) write_byte<kStride>(high_bytes(upper_low, upper_high), to + 25 * kStride);
  }

  // ---- From planes

  // A plane as bytes of ones or zeros, in the order of the values.
  static __m256i mask_of_plane(const std::byte* from) {
    std::uint32_t word;
    std::memcpy(&word, from, 4);
    const __m256i bytes =
        _mm256_setr_epi64x(0, 0x0101010101010101ll, 0x0202020202020202ll, 0x0303030303030303ll);
    const __m256i bit = _mm256_set1_epi64x(0x0102040810204080ll);
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), bytes);
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  }

  // Words of up to 8 planes, none beyond the last that is read whole.
  template <unsigned kStride>
  static __m256i load_planes(const std::byte* from, unsigned count) {
    if constexpr (kStride == 4) {
      const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
      const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
      return _mm256_maskload_epi32(reinterpret_cast<const int*>(from), there);
    } else {
      static_assert(kStride == 8);
      const auto* const at = reinterpret_cast<const int*>(from);
      const __m256i evens = _mm256_setr_epi32(0, -1, 1, -1, 2, -1, 3, -1);  // of the lanes: plane, none, ...
      const __m256i n = _mm256_set1_epi32(static_cast<int>(count));
      const __m256i odd = _mm256_set1_epi64x(0xffffffff);
      const __m256i low = _mm256_and_si256(_mm256_cmpgt_epi32(n, evens), odd);
      const __m256i high =
          _mm256_and_si256(_mm256_cmpgt_epi32(n, _mm256_add_epi32(evens, _mm256_set1_epi32(4))), odd);
      const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(_mm256_maskload_epi32(at, low)),
                                              _mm256_castsi256_ps(_mm256_maskload_epi32(at + 8, high)), 0x88);
      return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
    }
  }

  // The byte of each of the 32 values that up to 8 planes make.
  template <unsigned kStride>
  static __m256i byte_of_planes(const std::byte* from, unsigned count) {
    __m256i planes = load_planes<kStride>(from, count);
    // Bytes g of the planes together, the last plane first: a matrix of 8 planes x 8 values, these from the
    // last to the first, in each of four 64-bit lanes. So it is transposed about the other diagonal.
    const __m128i order = _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3);
    planes = _mm256_shuffle_epi8(planes, _mm256_broadcastsi128_si256(order));
    planes = _mm256_permutevar8x32_epi32(planes, _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3));
    planes = swap_bits<9>(planes, 0x0055005500550055ll);
    planes = swap_bits<18>(planes, 0x0000333300003333ll);
    return swap_bits<36>(planes, 0x000000000f0f0f0fll);
  }

  static void widen_bytes(__m256i bytes, Vec (&r)[kVectors]) {
    const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    r[0] = vec(_mm256_cvtepi8_epi32(low));
    r[1] = vec(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(low, low)));
    r[2] = vec(_mm256_cvtepi8_epi32(high));
    r[3] = vec(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(high, high)));
  }
};

}  // namespace
}  // namespace homz::cuszp
