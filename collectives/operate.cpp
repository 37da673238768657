#include "collectives/operate.hpp"

#include <algorithm>

namespace homz {
namespace {

template <class T, class F>
void each(ConstBytes left, ConstBytes right, Bytes to, F&& f) {
  const T* const a = reinterpret_cast<const T*>(left.data());
  const T* const b = reinterpret_cast<const T*>(right.data());
  T* const c = reinterpret_cast<T*>(to.data());
  const std::size_t count = to.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) c[i] = f(a[i], b[i]);
}

template <class T>
void operate_on(ReduceOp op, ConstBytes left, ConstBytes right, Bytes to) {
  switch (op) {
    case ReduceOp::min:
      return each<T>(left, right, to, [](T a, T b) { return a != a || a < b ? a : b; });
    case ReduceOp::max:
      return each<T>(left, right, to, [](T a, T b) { return a != a || a > b ? a : b; });
    case ReduceOp::prod:
      return each<T>(left, right, to, [](T a, T b) { return a * b; });
    default:
      return each<T>(left, right, to, [](T a, T b) { return a + b; });
  }
}

}  // namespace

void operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) {
  with_dtype(dtype, [&](auto zero) { operate_on<decltype(zero)>(op, left, right, to); });
}

void divide(Dtype dtype, Bytes values, int ranks) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const x = reinterpret_cast<T*>(values.data());
    for (std::size_t i = 0; i < values.size() / sizeof(T); ++i) x[i] /= static_cast<T>(ranks);
  });
}

void copy_values(ConstBytes from, Bytes to) {
  std::ranges::copy(from, to.begin());
}

}  // namespace homz
