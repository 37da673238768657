// The values of all ranks, on the host, and what results should be.
#pragma once

#include <vector>

#include "tools/bench/calls.hpp"
#include "tools/gpu_bench/settings.hpp"

namespace homz::gpu_bench {

inline constexpr std::uint64_t kPeriod = std::uint64_t{64} << 20;  // bytes that are made; then they repeat

// Shared by the ranks: each makes its own values, and reads those of others once all have met.
class HostValues {
 public:
  HostValues(const Settings& settings, int ranks)
      : settings_(settings), of_rank_(static_cast<std::size_t>(ranks)) {}

  // For inputs of at most `bytes`.
  Status make(int rank, const std::string& data, std::uint64_t bytes);

  // Enqueues the input of a rank, whole, to memory of its GPU.
  Status copy_to(int rank, Bytes device, CUstream_st* stream) const;

  // The least and largest finite value of the exact results of inputs with these extents, as far as this
  // rank's share of the work shows; least > most if it shows none.
  ValueRange part_of_range(int rank, const bench::Extents& extents) const;

  // The largest difference of a rank's result, of which `out` is the beginning, to the exact one (of f32 in
  // double, of f64 in long double); infinite where there is a number on one side only.
  double largest_error(int rank, const bench::Extents& extents, ConstBytes out, unsigned threads) const;

 private:
  template <class T>
  class Exact;

  int ranks() const { return static_cast<int>(of_rank_.size()); }

  const Settings& settings_;
  std::vector<std::vector<std::byte>> of_rank_;
};

}  // namespace homz::gpu_bench
