// The vector primitives (portable.hpp tells what they are) with AVX2. To be included between
// HOMZ_TARGET_BEGIN and HOMZ_TARGET_END, with <immintrin.h> in front of them.
#pragma once

namespace homz::simd {
namespace {  // each file that includes it has its own: none may reach a machine of the other

struct Avx2 {
  static constexpr unsigned kLanes = 8;
  using Vec = std::uint32_t __attribute__((vector_size(4 * kLanes)));
  static constexpr unsigned kVectors = kBlock / kLanes;
  static constexpr std::uint32_t kAll = 0xff;

  static Vec load(const std::uint32_t* from) {
    return reinterpret_cast<Vec>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(std::uint32_t* to, Vec value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), raw(value));
  }
  static Vec load_bytes(const std::uint8_t* from) {
    return vec(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
  }
  static void store_bytes(std::byte* to, Vec value) {
    const __m256i low = _mm256_shuffle_epi8(raw(value), _mm256_set1_epi32(0x0c080400));
    const __m128i all = _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), all);
  }
  static Vec above(Vec a, Vec b) { return vec(_mm256_cmpgt_epi32(raw(a), raw(b))); }
  static Vec where_not_zero(Vec condition, Vec value) {
    return vec(_mm256_andnot_si256(_mm256_cmpeq_epi32(raw(condition), _mm256_setzero_si256()), raw(value)));
  }
  static Vec gather(const std::byte* const (&from)[kLanes]) {  // the instruction of this name is slower
    return vec(_mm256_setr_epi32(word(from[0]), word(from[1]), word(from[2]), word(from[3]), word(from[4]),
                                 word(from[5]), word(from[6]), word(from[7])));
  }
  static Vec all(std::uint32_t value) { return Vec{} + value; }

  static Vec lesser(Vec a, Vec b) { return vec(_mm256_min_epi32(raw(a), raw(b))); }
  static Vec greater(Vec a, Vec b) { return vec(_mm256_max_epi32(raw(a), raw(b))); }
  static Vec magnitude(Vec value) { return vec(_mm256_abs_epi32(raw(value))); }
  static Vec negate_where(std::uint32_t mask, Vec value) {
    // The lane's bit of the mask on top, as the sign of a number that is not 0.
    const Vec bits =
        vec(_mm256_sllv_epi32(raw(all(mask)), _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24))) | 1;
    return vec(_mm256_sign_epi32(raw(value), raw(bits)));
  }
  static Vec select(std::uint32_t mask, Vec yes, Vec no) {
    const __m256i bits = _mm256_sllv_epi32(raw(all(mask)), _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    return vec(_mm256_castps_si256(_mm256_blendv_ps(ps(no), ps(yes), _mm256_castsi256_ps(bits))));
  }
  static std::uint32_t negative(Vec value) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(ps(value)));
  }
  static std::uint32_t not_zero(Vec value) {
    return negative(vec(_mm256_cmpeq_epi32(raw(value), _mm256_setzero_si256()))) ^ kAll;
  }
  static std::uint32_t union_of(Vec value) {
    __m128i bits = _mm_or_si128(_mm256_castsi256_si128(raw(value)), _mm256_extracti128_si256(raw(value), 1));
    bits = _mm_or_si128(bits, _mm_unpackhi_epi64(bits, bits));
    const auto two = static_cast<std::uint64_t>(_mm_cvtsi128_si64(bits));
    return static_cast<std::uint32_t>(two | two >> 32);
  }
  static Vec prefix_sums(Vec value) {
    value += vec(_mm256_slli_si256(raw(value), 4));
    value += vec(_mm256_slli_si256(raw(value), 8));  // within each half
    const __m256i low =
        _mm256_permute2x128_si256(raw(value), raw(value), 0x08);  // the lower half on top of zeros
    return value + vec(_mm256_shuffle_epi32(low, 0xff));
  }
  static Vec shift_in(Vec before, Vec value) {
    const __m256i middle = _mm256_permute2x128_si256(raw(before), raw(value), 0x21);
    return vec(_mm256_alignr_epi8(raw(value), middle, 12));
  }
  static Vec last(Vec value) { return vec(_mm256_permutevar8x32_epi32(raw(value), _mm256_set1_epi32(7))); }

  [[gnu::always_inline]] static inline void transpose(Vec (&rows)[kLanes]) {
    __m256i quads[kLanes];  // 4j + i: column i (and 4 + i) of rows 4j to 4j + 3
    for (unsigned j = 0; j < kLanes; j += 4) {
      const __m256i low01 = _mm256_unpacklo_epi32(raw(rows[j]), raw(rows[j + 1]));
      const __m256i high01 = _mm256_unpackhi_epi32(raw(rows[j]), raw(rows[j + 1]));
      const __m256i low23 = _mm256_unpacklo_epi32(raw(rows[j + 2]), raw(rows[j + 3]));
      const __m256i high23 = _mm256_unpackhi_epi32(raw(rows[j + 2]), raw(rows[j + 3]));
      quads[j] = _mm256_unpacklo_epi64(low01, low23);
      quads[j + 1] = _mm256_unpackhi_epi64(low01, low23);
      quads[j + 2] = _mm256_unpacklo_epi64(high01, high23);
      quads[j + 3] = _mm256_unpackhi_epi64(high01, high23);
    }
    for (unsigned i = 0; i < 4; ++i) {
      rows[i] = vec(_mm256_permute2x128_si256(quads[i], quads[4 + i], 0x20));
      rows[4 + i] = vec(_mm256_permute2x128_si256(quads[i], quads[4 + i], 0x31));
    }
  }

  using Doubt = Vec;  // lanes of ones
  static bool is_any(Doubt doubt) { return _mm256_testz_si256(raw(doubt), raw(doubt)) == 0; }
  static std::uint32_t mask_of(Doubt doubt) { return negative(doubt); }

  template <class T>
  static void restore(Vec quanta, T step, std::byte* to) {
    if constexpr (sizeof(T) == 4) {
      _mm256_storeu_ps(reinterpret_cast<float*>(to),
                       _mm256_mul_ps(_mm256_cvtepi32_ps(raw(quanta)), _mm256_set1_ps(step)));
    } else {
      const __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(raw(quanta)));
      const __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(raw(quanta), 1));
      _mm256_storeu_pd(reinterpret_cast<double*>(to), _mm256_mul_pd(low, _mm256_set1_pd(step)));
      _mm256_storeu_pd(reinterpret_cast<double*>(to + 32), _mm256_mul_pd(high, _mm256_set1_pd(step)));
    }
  }
  template <class T>
  static std::uint32_t equal(const std::byte* from, BitsOf<T> bits) {
    const auto* at = reinterpret_cast<const __m256i*>(from);
    if constexpr (sizeof(T) == 4) {
      const __m256i same =
          _mm256_cmpeq_epi32(_mm256_loadu_si256(at), _mm256_set1_epi32(static_cast<int>(bits)));
      return negative(vec(same));
    } else {
      const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(bits));
      const __m256d low = _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256(at), wanted));
      const __m256d high = _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256(at + 1), wanted));
      return static_cast<std::uint32_t>(_mm256_movemask_pd(low) | _mm256_movemask_pd(high) << 4);
    }
  }

  // Without a branch on the width within a byte: it is as good as random.
  static void planes(const Vec (&sizes)[kVectors], unsigned width, std::byte* to) {
    planes_of_byte<0>(sizes, to);
    if (width > 8) planes_of_byte<1>(sizes, to + 32);
    if (width > 16) planes_of_byte<2>(sizes, to + 64);
    if (width > 24) planes_of_byte<3>(sizes, to + 96);
  }
  static void join_planes(const std::byte* from, unsigned width, Vec (&sizes)[kVectors]) {
    const __m256i byte0 = byte_of_planes(from, width);
    if (width <= 8) {
      widen_bytes(byte0, sizes);
      return;
    }
    const __m256i byte1 = byte_of_planes(from + 32, width - 8);
    const __m256i pairs_low = _mm256_unpacklo_epi8(byte0, byte1);   // of values 0-7, 16-23
    const __m256i pairs_high = _mm256_unpackhi_epi8(byte0, byte1);  // of values 8-15, 24-31
    if (width <= 16) {
      sizes[0] = vec(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(pairs_low)));
      sizes[1] = vec(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(pairs_high)));
      sizes[2] = vec(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(pairs_low, 1)));
      sizes[3] = vec(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(pairs_high, 1)));
      return;
    }
    const __m256i byte2 = byte_of_planes(from + 64, width - 16);
    const __m256i byte3 = width <= 24 ? _mm256_setzero_si256() : byte_of_planes(from + 96, width - 24);
    join_pairs(pairs_low, _mm256_unpacklo_epi8(byte2, byte3), sizes[0], sizes[2]);
    join_pairs(pairs_high, _mm256_unpackhi_epi8(byte2, byte3), sizes[1], sizes[3]);
  }

 protected:
  static __m256i raw(Vec value) { return reinterpret_cast<__m256i>(value); }
  static __m256 ps(Vec value) { return reinterpret_cast<__m256>(value); }
  static Vec vec(__m256i value) { return reinterpret_cast<Vec>(value); }
  static int word(const std::byte* from) {
    int value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }

  // Lanes of ones or zeros: from 64 bits to 32, in order.
  static Vec join_wide(__m256 low, __m256 high) {
    const __m256i lower_halves = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
    return vec(_mm256_permute4x64_epi64(lower_halves, 0xd8));
  }

  // Byte kByte of the 32 magnitudes, in order.
  template <int kByte>
  static __m256i bytes_of(const Vec (&sizes)[kVectors]) {
    const Vec ff = all(0xff);
    const __m256i low = _mm256_packus_epi32(raw(sizes[0] >> 8 * kByte & ff), raw(sizes[1] >> 8 * kByte & ff));
    const __m256i high =
        _mm256_packus_epi32(raw(sizes[2] >> 8 * kByte & ff), raw(sizes[3] >> 8 * kByte & ff));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }

  // The eight planes of a byte: each in turn is shifted to the top bit.
  template <int kByte>
  static void planes_of_byte(const Vec (&sizes)[kVectors], std::byte* to) {
    __m256i bits = bytes_of<kByte>(sizes);
    for (unsigned plane = 8; plane-- > 0;) {
      const auto word = static_cast<std::uint32_t>(_mm256_movemask_epi8(bits));
      std::memcpy(to + 4 * plane, &word, 4);
      bits = _mm256_add_epi8(bits, bits);
    }
  }

  // The byte of each of the 32 values that up to 8 planes make.
  static __m256i byte_of_planes(const std::byte* from, unsigned count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
    __m256i planes = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), there);
    // Bytes g of the planes together: a matrix of 8 planes x 8 values in each of four 64-bit lanes.
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    planes = _mm256_shuffle_epi8(planes, _mm256_broadcastsi128_si256(order));
    planes = _mm256_permutevar8x32_epi32(planes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    planes = swap_bits<7>(planes, 0x00aa00aa00aa00aall);
    planes = swap_bits<14>(planes, 0x0000cccc0000ccccll);
    return swap_bits<28>(planes, 0x00000000f0f0f0f0ll);
  }

  // A step of the transposition of 8 x 8 bits: exchanges the bits of `mask` with those kShift above them.
  template <int kShift>
  static __m256i swap_bits(__m256i rows, long long mask) {
    const __m256i changed =
        _mm256_and_si256(_mm256_xor_si256(rows, _mm256_srli_epi64(rows, kShift)), _mm256_set1_epi64x(mask));
    return _mm256_xor_si256(rows, _mm256_xor_si256(changed, _mm256_slli_epi64(changed, kShift)));
  }

  static void widen_bytes(__m256i bytes, Vec (&sizes)[kVectors]) {
    const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    sizes[0] = vec(_mm256_cvtepu8_epi32(low));
    sizes[1] = vec(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(low, low)));
    sizes[2] = vec(_mm256_cvtepu8_epi32(high));
    sizes[3] = vec(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(high, high)));
  }

  // 16-bit halves of values a-a+7 and a+16-a+23 to whole numbers.
  static void join_pairs(__m256i low, __m256i high, Vec& first, Vec& second) {
    const __m256i even = _mm256_unpacklo_epi16(low, high), odd = _mm256_unpackhi_epi16(low, high);
    first = vec(_mm256_permute2x128_si256(even, odd, 0x20));
    second = vec(_mm256_permute2x128_si256(even, odd, 0x31));
  }
};

}  // namespace
}  // namespace homz::simd
