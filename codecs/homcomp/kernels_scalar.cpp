#include "codecs/homcomp/kernels_of.hpp"
#include "codecs/homcomp/simd_portable.hpp"

namespace homz::homcomp {

extern const Kernels kScalarKernels;
const Kernels kScalarKernels = kernels_of<Portable>("scalar");

}  // namespace homz::homcomp
