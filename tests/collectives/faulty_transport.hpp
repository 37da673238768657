// A transport that damages, loses, repeats and delays messages: by a seed, so that what fails fails again.
#pragma once

#include <atomic>
#include <string_view>

#include "tests/collectives/ranks.hpp"

namespace homz::test {

enum class Fault { none, flip, truncate, drop, duplicate, delay };

std::string_view to_string(Fault fault);

struct Faults {
  Fault fault = Fault::none;
  std::uint64_t seed = 0;
  double share = 0.1;      // of the messages
  std::uint64_t most = 1;  // of each rank's
  // Set once the ranks have met: faults happen from then on.
  std::atomic<bool> is_on = false;
  std::atomic<std::uint64_t> happened = 0;
};

// Delayed messages overtake none with the same tag and receiver, as Transport promises; others overtake them.
Transports faulty(Transports transports, Faults& faults);

}  // namespace homz::test
