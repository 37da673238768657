#include "core/canary.hpp"

#include "core/fp_environment.hpp"

namespace homz {
namespace {

// (1 + e)^2 - (1 + 2e): 0 when the product is rounded before the subtraction, e^2 when fused. Inlined and not
// volatile inside, so that the compiler may do to it what it does to the codecs; volatile outside, so that it
// cannot fold it.
template <class T>
inline T residue(T a, T b, T c) {
  return a * b - c;
}

template <class T>
bool fuses(T epsilon) {
  volatile T a = 1 + epsilon;
  volatile T c = 1 + 2 * epsilon;
  return residue<T>(a, a, c) != 0;
}

Status run_check() {
  const FpEnvironment environment;
  if (fuses<float>(0x1p-13f) || fuses<double>(0x1p-27))
    return Status(
        Code::internal,
        "this build of homz fuses multiply and add, so the error bound cannot be kept: rebuild without "
        "-ffp-contract=fast (homz::core sets -ffp-contract=off)");
  return Status();
}

}  // namespace

Status check_arithmetic() {
  static const Status verdict = run_check();
  return verdict;
}

}  // namespace homz
