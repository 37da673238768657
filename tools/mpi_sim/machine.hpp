// The machine that is simulated: what is not done indeed, but charged to a rank's processor.
#pragma once

#include <algorithm>

#include "collectives/profile.hpp"
#include "core/memory.hpp"

namespace homz::mpi_sim {

struct Machine {
  Profile profile;  // its first codec is the one that is simulated
  int per_node = 1;
  // Ranks look for messages only when they have nothing else to do. Every poll that finds something makes
  // SimGrid 3.32 slower for the rest of its run; waiting does not.
  bool is_lazy = false;
  double ratio = 8;  // raw over compressed bytes of one rank's data that are encoded with an error of `share`
  double share = 1;
  ConstBytes vectors;  // what is reduced, and the results: one memory for all ranks, never touched
};

// One for all ranks: they take turns in one thread.
Machine& machine();

// Of messages only so many bytes at the front are moved indeed: frames, records, profiles.
inline constexpr std::uint64_t kReal = 4096;

// What is there indeed of values or a payload.
template <class T>
std::span<T> real(std::span<T> bytes) {
  const ConstBytes vectors = machine().vectors;
  const bool is_vector = bytes.data() >= vectors.data() && bytes.data() < vectors.data() + vectors.size();
  return bytes.first(is_vector ? 0 : std::min<std::uint64_t>(bytes.size(), kReal));
}

// Values and payloads on their way begin with the number of ranks whose data they are the sum of. Those of a
// rank's own vector have no mark.
void mark(Bytes bytes, double ranks);
double summed_in(ConstBytes bytes);

// This rank's processor is busy.
void take(double seconds);

inline constexpr double kLeastSeconds = 1e-9;  // that are told apart

}  // namespace homz::mpi_sim
