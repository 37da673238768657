#include "homomorphic/homcomp/kernels.hpp"

#include "codecs/simd/dispatch.hpp"

namespace homz::homcomp {

extern const SumKernels kScalarSumKernels;
#if defined(__x86_64__)
extern const SumKernels kAvx2SumKernels, kAvx512SumKernels;
#endif

std::span<const SumKernels* const> available_sum_kernels() {
#if defined(__x86_64__)
  static const simd::Available<SumKernels> available(&kScalarSumKernels, &kAvx2SumKernels,
                                                     &kAvx512SumKernels);
#else
  static const simd::Available<SumKernels> available(&kScalarSumKernels, nullptr, nullptr);
#endif
  return available.all();
}

const SumKernels& sum_kernels() {
  static const SumKernels& chosen = simd::choose(available_sum_kernels());
  return chosen;
}

}  // namespace homz::homcomp
