// The kernels for machines without AVX2.
#include "codecs/homcomp/simd_portable.hpp"
#include "homomorphic/homcomp/kernels_of.hpp"

namespace homz::homcomp {

extern const SumKernels kScalarSumKernels;
const SumKernels kScalarSumKernels = sum_kernels_of<Portable>("scalar");

}  // namespace homz::homcomp
