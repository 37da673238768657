// The kernels for AVX-512.
#if defined(__x86_64__)
// All that is shared with other files stands in front of the part for AVX-512: see target.hpp.
#include "codecs/homcomp/chunk_head.hpp"
#include "codecs/homcomp/kernels.hpp"
#include "codecs/homcomp/rows.hpp"
#include "codecs/simd/portable.hpp"
#include "codecs/simd/target.hpp"

HOMZ_TARGET_BEGIN_AVX512
#include "codecs/homcomp/kernels_of.hpp"
#include "codecs/homcomp/simd_avx512.hpp"

namespace homz::homcomp {

extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = kernels_of<Avx512>("avx512");

}  // namespace homz::homcomp
HOMZ_TARGET_END
#endif
