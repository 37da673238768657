// Payloads of homcomp made and read by any instruction set.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "codecs/homcomp/engine.hpp"
#include "codecs/homcomp/homcomp_codec.hpp"
#include "tests/support/inputs.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {

using Payload = std::vector<std::byte>;  // empty: incompressible

inline homcomp::Plan plan_for(const Field& field, unsigned dim = 0, double step = 0) {
  const unsigned rank = field.without_unit_extents().rank;
  return homcomp::Plan{dim != 0 ? dim : std::min(rank, 3u), true, step};
}

inline Payload make_payload(const Sample& sample, double bound, const homcomp::Plan& plan,
                            const homcomp::Kernels& kernels, unsigned threads = 1) {
  const Encoding encoding{sample.field, bound, sample.fill_bits, {}};
  const Footprint needs = *homcomp::footprint(encoding, plan, threads);
  Payload payload(needs.max_payload), scratch(needs.encode_scratch);
  Encoded encoded;
  EXPECT_TRUE(
      homcomp::encode(encoding, plan, kernels, sample.bytes(), payload, scratch, &encoded, threads).ok());
  payload.resize(encoded.bytes == Codec::kIncompressible ? 0 : encoded.bytes);
  return payload;
}

inline std::vector<std::byte> read_payload(const Sample& sample, double bound, const homcomp::Plan& plan,
                                           const homcomp::Kernels& kernels, ConstBytes payload,
                                           unsigned threads = 1) {
  const Encoding encoding{sample.field, bound, sample.fill_bits, {}};
  std::vector<std::byte> data(sample.data.size());
  const Status status = homcomp::decode(encoding, plan, kernels, payload, data, nullptr, threads);
  EXPECT_TRUE(status.ok()) << status.message();
  return data;
}

}  // namespace homz::test
