// Streams whose bytes never change: inputs made of whole numbers and powers of two, so that every machine has them.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/checksum.hpp"
#include "tests/golden/inputs.hpp"
#include "tests/homcomp/coding.hpp"

namespace homz::test {
namespace {

struct Golden {
  const char* input;
  std::vector<std::uint64_t> extents;
  double bound;
  std::size_t bytes_f32, bytes_f64;
  std::uint64_t checksum_f32, checksum_f64;
};

const Golden kGolden[] = {
    {"zeros", {1}, 0.5, 0, 0, 0, 0},
};

template <class T>
void check(const Golden& golden, std::size_t bytes, std::uint64_t expected) {
  std::vector<T> values;
  for (const double value : golden::family(golden.input, golden.extents, 11)) values.push_back(static_cast<T>(value));
  const Sample sample = sample_of(golden.input, values, golden.extents);
  for (const homcomp::Kernels* kernels : homcomp::available_kernels()) {
    const Payload payload = make_payload(sample, golden.bound, plan_for(sample.field), *kernels);
    EXPECT_EQ(payload.size(), bytes) << golden.input << " " << sample.field.shape_text() << " " << kernels->name;
    EXPECT_EQ(checksum(payload), expected) << golden.input << " " << sample.field.shape_text();
    if (payload.size() != bytes || checksum(payload) != expected)
      std::printf("GOLDEN %s %s %s %zu 0x%016llx\n", golden.input, sample.field.shape_text().c_str(),
                  to_string(dtype_of<T>()).data(), payload.size(),
                  static_cast<unsigned long long>(checksum(payload)));
  }
}

TEST(Golden, PayloadsAreThoseOfTheFirstRelease) {
  for (const Golden& golden : kGolden) {
    check<float>(golden, golden.bytes_f32, golden.checksum_f32);
    check<double>(golden, golden.bytes_f64, golden.checksum_f64);
  }
}

}  // namespace
}  // namespace homz::test
