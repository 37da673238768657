#include "collectives/operate.hpp"

#include <algorithm>

#include "collectives/operation_on.hpp"

namespace homz {

void operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const a = reinterpret_cast<const T*>(left.data());
    const T* const b = reinterpret_cast<const T*>(right.data());
    T* const c = reinterpret_cast<T*>(to.data());
    const std::size_t count = to.size() / sizeof(T);
    with_operation(op, [&](auto operation) {
      for (std::size_t i = 0; i < count; ++i) c[i] = operation(a[i], b[i]);
    });
  });
}

void divide(Dtype dtype, Bytes values, int ranks) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const x = reinterpret_cast<T*>(values.data());
    for (std::size_t i = 0; i < values.size() / sizeof(T); ++i)
      x[i] = Quotient{}(x[i], static_cast<T>(ranks));
  });
}

void copy_values(ConstBytes from, Bytes to) {
  std::ranges::copy(from, to.begin());
}

}  // namespace homz
