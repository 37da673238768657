// The operations of reductions on two values, for CPU and GPU.
#pragma once

#include "collectives/request.hpp"
#include "core/hd.hpp"
#include "homomorphic/linear.hpp"

namespace homz {

// NaN is less and greater than everything: a result of values of which one is NaN is NaN.
struct Least {
  template <class T>
  HOMZ_HD T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};
struct Greatest {
  template <class T>
  HOMZ_HD T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};
struct Product {
  template <class T>
  HOMZ_HD T operator()(T a, T b) const {
    return any_nan_alike(a * b);
  }
};
struct Sum {
  template <class T>
  HOMZ_HD T operator()(T a, T b) const {
    return any_nan_alike(a + b);
  }
};

struct Quotient {
  template <class T>
  HOMZ_HD T operator()(T a, T b) const {
    return any_nan_alike(a / b);
  }
};

// f(operation); averages are sums, divided in the end.
template <class F>
void with_operation(ReduceOp op, F&& f) {
  switch (op) {
    case ReduceOp::min:
      return f(Least{});
    case ReduceOp::max:
      return f(Greatest{});
    case ReduceOp::prod:
      return f(Product{});
    default:
      return f(Sum{});
  }
}

}  // namespace homz
