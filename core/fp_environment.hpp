// The floating-point environment in which codecs run, whatever the host program has set.
#pragma once

#include <cfenv>
#ifdef __SSE2_MATH__
#include <xmmintrin.h>
#endif

#include "core/status.hpp"

namespace homz {

// While it lives, this thread rounds to nearest, keeps subnormals (no FTZ, no DAZ) and traps nothing; then
// the caller's environment returns, flags included. A stream's bytes and the error bound would depend on it
// otherwise.
#ifdef __SSE2_MATH__
// The register that arithmetic in float and double obeys; fesetenv sets the x87's, too, which takes twenty
// times as long.
class FpEnvironment {
 public:
  FpEnvironment() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FpEnvironment() { _mm_setcsr(saved_); }
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, to nearest, no FTZ, no DAZ
  unsigned saved_;
};
#else
class FpEnvironment {
 public:
  FpEnvironment() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpEnvironment() { std::fesetenv(&saved_); }
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};
#endif

// What entry points of the library run in: this environment, and without an exception.
template <class F>
auto enter(F&& body) noexcept {
  const FpEnvironment environment;
  return no_throw(body);
}

}  // namespace homz
