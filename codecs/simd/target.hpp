// Compiles a part of a file for an instruction set that not every machine has, and includes what must stand
// in front of such a part. Between HOMZ_TARGET_BEGIN_... and HOMZ_TARGET_END stand only headers whose
// functions are templates over a type of that file's own (or members of it): an inline function that another
// file has, too, could otherwise reach a machine that cannot run it. Lambdas do not take part in this with
// clang: those headers have none that run.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic push  // of the values that GCC's own header leaves open: its bug 105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#define HOMZ_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define HOMZ_TARGET_BEGIN(features) \
  HOMZ_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define HOMZ_TARGET_END HOMZ_PRAGMA(clang attribute pop)
#else
#define HOMZ_TARGET_BEGIN(features) HOMZ_PRAGMA(GCC push_options) HOMZ_PRAGMA(GCC target(features))
#define HOMZ_TARGET_END HOMZ_PRAGMA(GCC pop_options)
#endif

// dispatch.hpp asks the machine for each of these.
#define HOMZ_TARGET_BEGIN_AVX2 HOMZ_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")
#define HOMZ_TARGET_BEGIN_AVX512 \
  HOMZ_TARGET_BEGIN("avx2,avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,lzcnt,popcnt")
