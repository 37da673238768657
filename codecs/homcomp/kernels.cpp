#include "codecs/homcomp/kernels.hpp"

#include <array>
#include <cstdlib>

namespace homz::homcomp {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels, kAvx512Kernels;
#endif

namespace {

class Available {
 public:
  Available() {
    add(kScalarKernels);
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("bmi"))
      return;
    add(kAvx2Kernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      add(kAvx512Kernels);
#endif
  }
  std::span<const Kernels* const> all() const {
    return std::span(kernels_).first(count_);
  }

 private:
  void add(const Kernels& kernels) {
    kernels_[count_++] = &kernels;
  }

  std::array<const Kernels*, 3> kernels_{};
  std::size_t count_ = 0;
};

const Kernels& choose() {
  const auto available = available_kernels();
  const char* const wanted = std::getenv("HOMZ_SIMD");
  for (const Kernels* kernels : available)
    if (wanted != nullptr && kernels->name == wanted) return *kernels;
  return *available.back();
}

}  // namespace

std::span<const Kernels* const> available_kernels() {
  static const Available available;
  return available.all();
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace homz::homcomp
