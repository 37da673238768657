// Floating-point environments that host programs leave behind.
#pragma once

#include <cfenv>
#include <string_view>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace homz::test {

enum class FpState { standard, upward, downward, toward_zero, flush_subnormals, traps };

inline constexpr FpState kFpStates[] = {FpState::standard,    FpState::upward,           FpState::downward,
                                        FpState::toward_zero, FpState::flush_subnormals, FpState::traps};

inline std::string_view to_string(FpState state) {
  constexpr std::string_view kNames[] = {"standard",    "upward",           "downward",
                                         "toward zero", "flush subnormals", "traps"};
  return kNames[static_cast<int>(state)];
}

// Sets a state for its lifetime; unchanged() tells whether the code in between has left it as it was.
class ForeignFp {
 public:
  explicit ForeignFp(FpState state) {
    std::fegetenv(&saved_);
    std::feclearexcept(FE_ALL_EXCEPT);
    switch (state) {
      case FpState::standard:
        break;
      case FpState::upward:
        std::fesetround(FE_UPWARD);
        break;
      case FpState::downward:
        std::fesetround(FE_DOWNWARD);
        break;
      case FpState::toward_zero:
        std::fesetround(FE_TOWARDZERO);
        break;
      case FpState::flush_subnormals:
#if defined(__SSE2__)
        _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
        break;
      case FpState::traps:
        feenableexcept(FE_ALL_EXCEPT);
        break;
    }
    set_ = current();
  }
  ~ForeignFp() {
    std::fesetenv(&saved_);
  }
  ForeignFp(const ForeignFp&) = delete;
  ForeignFp& operator=(const ForeignFp&) = delete;

  bool unchanged() const {
    return current() == set_;
  }

 private:
  struct Registers {
    unsigned control;
    int rounding, traps, raised;
    bool operator==(const Registers&) const = default;
  };
  static Registers current() {
    unsigned control = 0;
#if defined(__SSE2__)
    control = _mm_getcsr();
#endif
    return {control, std::fegetround(), fegetexcept(), std::fetestexcept(FE_ALL_EXCEPT)};
  }

  std::fenv_t saved_;
  Registers set_;
};

}  // namespace homz::test
