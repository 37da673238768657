// HOMZ_HD marks a function that is compiled for the host and, under nvcc, for the device too.
#pragma once

#if defined(__CUDACC__)
#define HOMZ_HD __host__ __device__
#else
#define HOMZ_HD
#endif

// A build that may reassociate or fuse floating-point operations breaks the error bound and the promise of
// equal bytes everywhere. Contraction cannot be seen by the preprocessor: core/canary.hpp tests it at run
// time.
#if defined(__FAST_MATH__) || defined(__USE_FAST_MATH__)
#error "homz must not be built with -ffast-math, -Ofast or --use_fast_math: the error bound would be lost"
#endif
