// What ranks tell each other about their data before they choose, and its combination over all ranks.
#pragma once

#include <algorithm>
#include <array>

#include "collectives/handling.hpp"

namespace homz {

struct Record {
  static constexpr std::size_t kCodecs = 4;

  double magnitude_sum = 0;  // of the ranks' largest finite magnitudes
  double magnitude_max = 0;
  double amplification = 1;  // product of max(1, magnitude + bound): how errors of factors grow
  double ranks = 1;
  std::array<double, kCodecs> compressed{};  // sum of the ranks' compressed shares of the raw size, by codec

  void join(const Record& other) {
    magnitude_sum += other.magnitude_sum;
    magnitude_max = std::max(magnitude_max, other.magnitude_max);
    amplification *= other.amplification;
    ranks += other.ranks;
    for (std::size_t i = 0; i < kCodecs; ++i) compressed[i] += other.compressed[i];
  }
};

// For pieces of one Record each. All ranks end with the same bits: partners join in the order of ranks.
std::unique_ptr<Handling> record_handling(BlockPool& pool);

}  // namespace homz
