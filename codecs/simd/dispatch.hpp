// The choice among kernels for several instruction sets: what the machine has, the best of it unless the
// environment variable HOMZ_SIMD names another (scalar, avx2, avx512). `Kernels` has a member `name`.
#pragma once

#include <array>
#include <cstdlib>
#include <span>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace homz::simd {

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports knows it.
inline bool machine_has_lzcnt() {
  constexpr unsigned kExtended = 0x80000001, kLzcnt = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kExtended, &a, &b, &c, &d) != 0 && (c & kLzcnt) != 0;
}
#endif

inline bool machine_has_avx2() {
#if defined(__x86_64__)
  // lzcnt, too: where it is missing it executes as another instruction
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("popcnt") && machine_has_lzcnt();
#else
  return false;
#endif
}

inline bool machine_has_avx512() {
#if defined(__x86_64__)
  return machine_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

// Those that this machine can run, slowest first; nullptr for a set that was not compiled.
template <class Kernels>
class Available {
 public:
  Available(const Kernels* scalar, const Kernels* avx2, const Kernels* avx512) {
    add(scalar);
    if (avx2 != nullptr && machine_has_avx2()) add(avx2);
    if (avx512 != nullptr && machine_has_avx512()) add(avx512);
  }
  std::span<const Kernels* const> all() const { return std::span(kernels_).first(count_); }

 private:
  void add(const Kernels* kernels) { kernels_[count_++] = kernels; }

  std::array<const Kernels*, 3> kernels_{};
  std::size_t count_ = 0;
};

// "scalar, avx2": what HOMZ_SIMD may say here, slowest first. All codecs have all sets: they are compiled for
// every x86-64, whatever the compiler's target, and no other machine has any.
inline std::string names_of_machine() {
  return std::string("scalar") + (machine_has_avx2() ? ", avx2" : "") +
         (machine_has_avx512() ? ", avx512" : "");
}

template <class Kernels>
const Kernels& choose(std::span<const Kernels* const> available) {
  const char* const wanted = std::getenv("HOMZ_SIMD");
  for (const Kernels* kernels : available)
    if (wanted != nullptr && kernels->name == wanted) return *kernels;
  return *available.back();
}

}  // namespace homz::simd
