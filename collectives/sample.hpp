// A cheap look at data before they travel: how small a codec would make them, and their largest magnitude.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/codec.hpp"
#include "core/registry.hpp"

namespace homz {

inline constexpr std::uint64_t kSampledChunk = 4096;  // values
inline constexpr std::uint64_t kSampledRun = 4;       // chunks in a row

// Of `count` values: all if they are few, else one in 64, 64 at most.
constexpr std::uint64_t sampled_chunks(std::uint64_t count) {
  const std::uint64_t chunks = (count + kSampledChunk - 1) / kSampledChunk;
  return std::min({chunks, std::max(kSampledRun, chunks / 64), std::uint64_t{64}});
}

// Where the sample is: runs of values at equal distances.
struct SampledRuns {
  std::uint64_t first = 0, stride = 0;  // values
  std::uint64_t values = 0;             // of a run
  std::uint64_t number = 0;
};
inline SampledRuns sampled_runs(std::uint64_t count) {
  constexpr std::uint64_t kRun = kSampledRun * kSampledChunk;
  if (count <= kRun) return {0, 0, count, count == 0 ? 0u : 1u};
  const std::uint64_t number = (sampled_chunks(count) + kSampledRun - 1) / kSampledRun;
  const std::uint64_t last = count / kSampledChunk - kSampledRun;  // chunk
  if (number == 1) return {last / 2 * kSampledChunk, 0, kRun, 1};
  return {0, last / (number - 1) * kSampledChunk, kRun, number};
}

// Bytes of scratch for sampled_ratio, for any count.
Result<std::uint64_t> sample_scratch(const CodecChoice& codec, Dtype dtype, double abs_error);

// Raw over compressed bytes, estimated from a sample; the same on every run. 1 where the codec gains nothing
// or there are no values. Any alignment.
Result<double> sampled_ratio(const CodecChoice& codec, Dtype dtype, double abs_error, ConstBytes data,
                             Bytes scratch);

// The largest magnitude of all finite values; 0 if there are none. Any alignment.
double largest_magnitude(Dtype dtype, ConstBytes data);

}  // namespace homz
