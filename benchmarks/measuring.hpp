// What the benchmarks share: giving up with a message, and medians.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/status.hpp"

namespace homz {

inline void must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "benchmark: {}\n", status.message());
  std::exit(1);
}
template <class T>
T must(Result<T> result) {
  must(result.status());
  return std::move(*result);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace homz
