// What a collective is expected to take by one algorithm and scheme: the formulas of the literature, with
// measured numbers, links inside and between nodes, and pieces that travel while others are computed.
//
// No libm: all ranks get the same numbers.
#pragma once

#include "collectives/choose.hpp"

namespace homz {

// One way to do a task.
struct Approach {
  Algorithm algorithm = Algorithm::ring;
  Scheme scheme = Scheme::plain;
  const CodecProfile* codec = nullptr;  // none if plain
  double ratio = 1;                     // raw over compressed bytes of one rank's data
  std::uint64_t piece_values = 4096;
  unsigned threads = 1;
};

struct Cost {
  double seconds = 0;
  double wire_bytes = 0;  // of the rank that sends most, frames included
};

// The algorithm can run the task.
Cost expected_cost(const Task& task, const Approach& approach, const Profile& profile);

// Values of the stretch that an algorithm sends as a whole at least: what pieces are cut from.
double values_of_a_part(const Task& task, Algorithm algorithm);

// log2 by straight lines between powers of two; x >= 1.
double log2_about(double x);

}  // namespace homz
