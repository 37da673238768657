// The kernels for AVX2.
#if defined(__x86_64__)
// All that is shared with other files stands in front of the part for AVX2: see codecs/simd/target.hpp.
#include "codecs/homcomp/chunk_head.hpp"
#include "codecs/homcomp/rows.hpp"
#include "codecs/simd/portable.hpp"
#include "codecs/simd/target.hpp"
#include "homomorphic/homcomp/kernels.hpp"

HOMZ_TARGET_BEGIN_AVX2
#include "codecs/homcomp/simd_avx2.hpp"
#include "homomorphic/homcomp/kernels_of.hpp"

namespace homz::homcomp {

extern const SumKernels kAvx2SumKernels;
const SumKernels kAvx2SumKernels = sum_kernels_of<Avx2>("avx2");

}  // namespace homz::homcomp
HOMZ_TARGET_END
#endif
