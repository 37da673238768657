// Encoding and decoding with exact-size, guarded, poisoned buffers and everything varied that must not
// matter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/stream.hpp"
#include "tests/support/fp_state.hpp"
#include "tests/support/inputs.hpp"

namespace homz::test {

// What must not show in the bytes.
struct Variation {
  unsigned threads = 1;
  unsigned misalign = 0;
  std::byte poison{0xa5};
  FpState fp = FpState::standard;
};

Compression compression_of(const std::string& choice, const Sample& sample, double abs_error);

// The data, 1 KiB and 0.5 %; where options ask for a codec's own layout at any price, that layout's capacity.
std::uint64_t size_limit(const Compression& compression);

struct Outcome {
  Status status;
  std::vector<std::byte> bytes;
};

// A failure of the test (not of the outcome) if a guard was touched, the input changed, or the environment
// was.
Outcome encode(const Compression& compression, ConstBytes data, const Variation& how = {});
Outcome decode(ConstBytes stream, const Variation& how = {});

// Encodes, decodes and judges against the bound; also size within its limits. Empty stream after a failure.
// Choices that do not suit the field (refused by footprint) give an empty stream without a failure.
std::vector<std::byte> check_round_trip(const std::string& choice, const Sample& sample, double abs_error,
                                        const Variation& how = {});

std::string describe(const std::string& choice, const Sample& sample, double abs_error);

}  // namespace homz::test
