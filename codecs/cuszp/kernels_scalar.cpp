// The kernels in plain C++.
#include "codecs/cuszp/kernels_of.hpp"
#include "codecs/cuszp/simd_portable.hpp"

namespace homz::cuszp {

extern const Kernels kScalarKernels;
const Kernels kScalarKernels = kernels_of<Portable>("scalar");

}  // namespace homz::cuszp
