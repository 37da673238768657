#include "codecs/cuszp/kernels.hpp"

#include "codecs/simd/dispatch.hpp"

namespace homz::cuszp {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels, kAvx512Kernels;
#endif

std::span<const Kernels* const> available_kernels() {
#if defined(__x86_64__)
  static const simd::Available<Kernels> available(&kScalarKernels, &kAvx2Kernels, &kAvx512Kernels);
#else
  static const simd::Available<Kernels> available(&kScalarKernels, nullptr, nullptr);
#endif
  return available.all();
}

const Kernels& kernels() {
  static const Kernels& chosen = simd::choose(available_kernels());
  return chosen;
}

}  // namespace homz::cuszp
