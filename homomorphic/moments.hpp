// What a field amounts to.
#pragma once

#include <cstdint>

namespace homz {

// Of the values that are not fill, as they would be decoded but for their last rounding. Where there are no
// such values, all are 0. NaN and infinities count as in IEEE arithmetic.
struct Moments {
  std::uint64_t count = 0;
  std::uint64_t fill = 0;
  double sum = 0;
  double mean = 0;
  double variance = 0;  // of the population: divided by count
  double deviation = 0;
  double norm = 0;  // L2
  double min = 0, max = 0;
};

}  // namespace homz
