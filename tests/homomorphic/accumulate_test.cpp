// A stream plus values in one pass: decodes to what encoding the values and adding the streams decodes to.
#include <gtest/gtest.h>

#include "tests/homomorphic/model.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

using homcomp::available_sum_kernels;
using homcomp::Plan;

struct Accumulated {
  Payload payload;
  std::vector<std::byte> decoded;
};

Accumulated accumulate(const Sample& sample, double bound, const Plan& plan,
                       const homcomp::SumKernels& kernels, const Payload& stream, bool in_place,
                       unsigned threads) {
  const std::vector<OpenStream> operands = operands_of(sample, {&stream, 1});
  const Footprint needs = homcomp::combine_footprint(encoding_of(sample), plan, kernels, 1, threads);
  Accumulated result{Payload(needs.max_payload), sample.data};
  Guarded scratch(needs.encode_scratch, 4, std::byte{0x5a});
  Combined combined;
  const Status status =
      homcomp::accumulate(encoding_of(sample, bound), plan, kernels, operands[0],
                          in_place ? ConstBytes(result.decoded) : sample.bytes(), result.payload,
                          result.decoded, scratch.bytes(), &combined, threads);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(scratch.intact());
  EXPECT_EQ(combined.encoded.sums.finish(combined.encoded.bytes),
            checksum(ConstBytes(result.payload).first(combined.encoded.bytes)));
  result.payload.resize(combined.encoded.bytes);
  return result;
}

void check(const Sample& of_stream, const Sample& values, double bound, const Plan& plan) {
  SCOPED_TRACE(testing::Message() << of_stream.name << " + " << values.name << " "
                                  << to_string(values.field.dtype) << " " << values.field.shape_text());
  const Payload payloads[] = {always_coded(of_stream, bound, plan), always_coded(values, bound, plan)};
  const std::int32_t ones[] = {1, 1};
  const Payload sum = combine_payloads(values, plan, homcomp::sum_kernels(), {ones}, payloads);
  const std::vector<std::byte> expected = read_payload(values, bound, plan, homcomp::kernels(), sum);
  Payload first;
  for (const homcomp::SumKernels* kernels : available_sum_kernels())
    for (const unsigned threads : {1u, 3u}) {
      const Accumulated result =
          accumulate(values, bound, plan, *kernels, payloads[0], threads == 3, threads);
      EXPECT_TRUE(result.decoded == expected) << kernels->name << ", " << threads << " threads";
      EXPECT_TRUE(read_payload(values, bound, plan, homcomp::kernels(), result.payload) == expected);
      if (first.empty()) first = result.payload;
      EXPECT_TRUE(result.payload == first) << kernels->name << ", " << threads << " threads";
    }
}

TEST(Accumulate, DecodesToTheSumOfStreams) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents :
         std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}, {64, 128}})
      for (const std::string_view a : {"walk", "normal", "sine", "nan_tenth", "fill_blocks", "random_bits"})
        for (const std::string_view b :
             {"walk", "constant", "sine", "infinities", "fill_blocks", "random_bits"}) {
          Sample x = make_sample(a, dtype, extents), y = make_sample(b, dtype, extents);
          x.fill_bits = y.fill_bits;
          for (const double bound : {1e-4, 0.05}) {
            check(x, y, bound, plan_for(x.field, 0, 2 * bound));
            if (testing::Test::HasFailure()) return;
          }
        }
}

TEST(Accumulate, QuantaThatLeaveTheRange) {
  std::vector<double> large(5000), small(5000);
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = i % 3 == 0 ? 1073741823.0 : -1073741823.0;
    small[i] = static_cast<double>(i % 5) - 2;
  }
  check(sample_of("large", large), sample_of("small", small), 0.5, Plan{1, true, 1});
  check(sample_of("large", large), sample_of("large", large), 0.5, Plan{1, true, 1});
}

// Differences along axes that a chunk does not have: allowed in a stream, though ours never has them.
TEST(Accumulate, DifferencesAlongAxesThatAreNotThere) {
  const Sample sample = make_sample("walk", Dtype::f64, {8192});
  const Plan plan{1, true, 0.01};
  const homcomp::Layout layout(2);
  for (const unsigned flags : {0x04u, 0x08u, 0x0cu}) {
    Payload stream = always_coded(sample, 0.01, plan);
    stream[layout.data] |= static_cast<std::byte>(flags);
    fix_homcomp_payload(sample.field, 1, stream);
    const Payload payloads[] = {stream, always_coded(sample, 0.01, plan)};
    const std::int32_t ones[] = {1, 1};
    const Payload sum = combine_payloads(sample, plan, homcomp::sum_kernels(), {ones}, payloads);
    const std::vector<std::byte> expected = read_payload(sample, 0.01, plan, homcomp::kernels(), sum);
    for (const homcomp::SumKernels* kernels : available_sum_kernels())
      EXPECT_TRUE(accumulate(sample, 0.01, plan, *kernels, stream, false, 1).decoded == expected)
          << kernels->name;
  }
}

}  // namespace
}  // namespace homz::test
