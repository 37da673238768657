// Compiles a part of a file for an instruction set that not every machine has. Between HOMZ_TARGET_BEGIN and
// HOMZ_TARGET_END stand only headers whose functions are templates over a type of that file's own (or members
// of it): an inline function that another file has, too, could otherwise reach a machine that cannot run it.
// Lambdas do not take part in this with clang: there are none in those headers.
#pragma once

#define HOMZ_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define HOMZ_TARGET_BEGIN(features) \
  HOMZ_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define HOMZ_TARGET_END HOMZ_PRAGMA(clang attribute pop)
#else
#define HOMZ_TARGET_BEGIN(features) HOMZ_PRAGMA(GCC push_options) HOMZ_PRAGMA(GCC target(features))
#define HOMZ_TARGET_END HOMZ_PRAGMA(GCC pop_options)
#endif
