// A cheap look at data before they travel: how small a codec would make them, and their largest magnitude.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

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

// Bytes of scratch for sampled_ratio, for any count.
Result<std::uint64_t> sample_scratch(const CodecChoice& codec, Dtype dtype, double abs_error);

// Raw over compressed bytes, estimated from runs of whole chunks that are spread evenly over the data; the
// same on every run. 1 where the codec gains nothing or there are no values. Any alignment.
Result<double> sampled_ratio(const CodecChoice& codec, Dtype dtype, double abs_error, ConstBytes data,
                             Bytes scratch);
// The same of data that read(first byte, bytes) gives, until it is called again.
using ReadRun = std::function<Result<ConstBytes>(std::uint64_t, std::uint64_t)>;
Result<double> sampled_ratio(const CodecChoice& codec, Dtype dtype, double abs_error, std::uint64_t count,
                             const ReadRun& read, Bytes scratch);

// The largest magnitude of all finite values; 0 if there are none. Any alignment.
double largest_magnitude(Dtype dtype, ConstBytes data);

}  // namespace homz
