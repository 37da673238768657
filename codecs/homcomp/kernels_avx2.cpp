// The kernels for AVX2.
#if defined(__x86_64__)
// All that is shared with other files stands in front of the part for AVX2: see target.hpp.
#include "codecs/homcomp/chunk_head.hpp"
#include "codecs/homcomp/kernels.hpp"
#include "codecs/homcomp/rows.hpp"
#include "codecs/simd/portable.hpp"
#include "codecs/simd/target.hpp"

HOMZ_TARGET_BEGIN_AVX2
#include "codecs/homcomp/kernels_of.hpp"
#include "codecs/homcomp/simd_avx2.hpp"

namespace homz::homcomp {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = kernels_of<Avx2>("avx2");

}  // namespace homz::homcomp
HOMZ_TARGET_END
#endif
