// Linear combinations of payloads: the decoded result is that of the quanta, to the byte; all instruction
// sets and numbers of threads give the same payload.
#include <gtest/gtest.h>

#include "tests/homomorphic/model.hpp"
#include "tests/homomorphic/samples.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

using homcomp::available_sum_kernels;
using homcomp::Plan;

std::vector<std::byte> decode(const Sample& sample, const Plan& plan, ConstBytes payload) {
  return read_payload(sample, 1, plan, homcomp::kernels(), payload);
}

// Operands are samples of one geometry and fill value.
void check(const std::vector<Sample>& samples, const Plan& plan, double bound, const Terms& terms) {
  const Sample& first = samples[0];
  SCOPED_TRACE(testing::Message() << first.name << " " << to_string(first.field.dtype) << " "
                                  << first.field.shape_text() << " dim " << plan.dim << " bound " << bound
                                  << " operands " << terms.factors.size() << " first factor "
                                  << terms.factors[0]);
  std::vector<Payload> payloads;
  std::vector<Decoded> decoded;
  for (std::size_t i = 0; i < terms.factors.size(); ++i) {
    const Sample& sample = samples[i % samples.size()];
    payloads.push_back(always_coded(sample, bound, plan));
    decoded.emplace_back(sample, plan, payloads.back());
  }
  const Combination combination = terms.combination();
  const Payload result =
      combine_payloads(first, plan, *available_sum_kernels().front(), combination, payloads);
  EXPECT_TRUE(decode(first, plan, result) == model(first, combination, decoded));
  HomcompReference reference(first.field, plan.dim, first.fill_bits);
  EXPECT_TRUE(reference.decode(result) == model(first, combination, decoded));
  for (const homcomp::SumKernels* kernels : available_sum_kernels())
    for (const unsigned threads : {1u, 3u})
      EXPECT_TRUE(combine_payloads(first, plan, *kernels, combination, payloads, threads) == result)
          << kernels->name << ", " << threads << " threads";
}

TEST(Combine, AllInputs) {
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}}) {
        const Sample sample = make_sample(input, dtype, extents);
        for (const double bound : common_bounds_for(sample)) {
          const Plan plan = plan_for(sample.field, 0, largest_not_above<float>(bound));
          check({sample}, plan, bound, kTerms[0]);
          if (testing::Test::HasFailure()) return;
        }
      }
}

// Operands of different kinds: different orders, masks in one of them, raw chunks.
TEST(Combine, MixedInputs) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}}) {
      std::vector<Sample> samples;
      for (const std::string_view input : {"walk", "normal", "sine", "nan_tenth"}) {
        samples.push_back(make_sample(input, dtype, extents));
        samples.back().fill_bits.reset();
      }
      for (const Terms& terms : kTerms)
        for (const double bound : {1e-4, 0.01, 0.5}) {
          check(samples, plan_for(samples[0].field, 0, bound * 2), bound, terms);
          if (testing::Test::HasFailure()) return;
        }
    }
}

// Residuals of so many are read twice where values are exact.
TEST(Combine, ManyOperands) {
  std::vector<Sample> samples;
  for (const std::string_view input : {"walk", "nan_tenth", "sine"})
    samples.push_back(make_sample(input, Dtype::f32, {9001}));
  for (Sample& each : samples) each.fill_bits.reset();
  for (const std::size_t count : {8, 9, 20}) {
    Terms terms{std::vector<std::int32_t>(count, 1)};
    check(samples, Plan{1, true, 0.02}, 0.01, terms);
    terms.factors[count - 1] = -3;
    check(samples, Plan{1, true, 0.02}, 0.01, terms);
  }
}

TEST(Combine, EveryWidth) {
  for (unsigned width = 0; width <= 30; ++width)
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{4500}, {70, 66}, {17, 18, 20}}) {
      std::vector<Sample> samples;
      for (unsigned seed = 0; seed < 3; ++seed)
        samples.push_back(quanta_sample<double>(extents, width, width + 31 * seed));
      for (const Terms& terms : kTerms) {
        check(samples, plan_for(samples[0].field, 0, 1), 0.5, terms);
        if (testing::Test::HasFailure()) return;
      }
    }
}

TEST(Combine, EverySizeOfALine) {
  for (std::uint64_t count = 1; count <= 4500; count += count < 140 ? 1 : 211)
    check({make_sample("walk", Dtype::f32, {count}), make_sample("normal", Dtype::f32, {count})},
          Plan{1, true, 0.01}, 0.01, kTerms[count % 2]);
}

// Masks: fill in one operand is fill in the sum, whole blocks of it and single values.
TEST(Combine, FillValues) {
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}}) {
    const std::vector<Sample> samples = masked_samples(extents);
    for (const Terms& terms : kTerms) check(samples, plan_for(samples[0].field, 0, 0.002), 0.001, terms);
  }
}

// What is not a sum, on an operand that was forged: a result or an error.
void check_other_operations(const Sample& sample, const Plan& plan, const Payload& good, const Payload& bad) {
  const Payload payloads[] = {good, bad};
  const auto operands = operands_of(sample, payloads);
  const Encoding encoding = encoding_of(sample, 0.01);
  const auto expect_sound = [](const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupt_stream) << status.message();
  };
  for (const homcomp::SumKernels* kernels : available_sum_kernels()) {
    const Footprint needs = homcomp::combine_footprint(encoding, plan, *kernels, 2, 1);
    Guarded payload(needs.max_payload, 4, std::byte{0xaa}), scratch(needs.encode_scratch, 0, std::byte{0x55}),
        decoded(sample.data.size(), 4, std::byte{0});
    Combined combined;
    expect_sound(homcomp::extremum(encoding, plan, *kernels, Extremum::least, operands, payload.bytes(),
                                   scratch.bytes(), &combined, 1));
    expect_sound(homcomp::accumulate(encoding, plan, *kernels, operands[1], sample.bytes(), payload.bytes(),
                                     decoded.bytes(), scratch.bytes(), &combined, 1));
    expect_sound(homcomp::moments(encoding, plan, *kernels, bad, 1).status());
    expect_sound(homcomp::dot(encoding, plan, *kernels, good, bad, 1).status());
    EXPECT_TRUE(payload.intact() && scratch.intact() && decoded.intact());
  }
}

TEST(Combine, BuffersTooSmallAreRefused) {
  const Sample sample = make_sample("walk", Dtype::f32, {9001});
  const Plan plan = plan_for(sample.field, 0, 0.02);
  const Payload payloads[] = {always_coded(sample, 0.01, plan)};
  const auto operands = operands_of(sample, payloads);
  const Footprint needs = homcomp::combine_footprint(encoding_of(sample), plan, homcomp::sum_kernels(), 1, 1);
  const std::int32_t one[] = {1};
  const std::uint64_t misaligned_at_most = 256;  // what the need has for scratch of any alignment
  for (const std::uint64_t less : {0, 1}) {
    Payload payload(needs.max_payload - less),
        scratch(needs.encode_scratch - (misaligned_at_most + 1) * (1 - less));
    Combined combined;
    EXPECT_EQ(homcomp::combine(encoding_of(sample), plan, homcomp::sum_kernels(), {one}, operands, payload,
                               scratch, &combined, 1)
                  .code(),
              Code::capacity);
  }
}

// Bytes that were forged, checksums and all: a result or an error, never a fault.
TEST(Combine, ForgedOperands) {
  std::mt19937 random(3);
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}})
    for (const std::string_view input : {"walk", "nan_tenth", "fill_blocks", "normal"}) {
      const Sample sample = make_sample(input, Dtype::f32, extents);
      const Plan plan = plan_for(sample.field, 0, 0.01);
      const Payload good = always_coded(sample, 0.01, plan);
      for (unsigned i = 0; i < (kSanitized ? 200u : 400u); ++i) {
        Payload bad = good;
        for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
          bad[16 + random() % (bad.size() - 16)] ^= static_cast<std::byte>(1u << random() % 8);
        fix_homcomp_payload(sample.field, plan.dim, bad);
        const Payload payloads[] = {good, bad, good};
        for (const std::size_t operands : {2, 3}) {
          const auto opened = operands_of(sample, std::span(payloads).first(operands));
          const std::vector<std::int32_t> ones(operands, 1);
          for (const homcomp::SumKernels* kernels : available_sum_kernels()) {
            const Footprint needs =
                homcomp::combine_footprint(encoding_of(sample), plan, *kernels, operands, 1);
            Guarded payload(needs.max_payload, 4, std::byte{0xaa}),
                scratch(needs.encode_scratch, 0, std::byte{0x55});
            Combined combined;
            const Status status = homcomp::combine(encoding_of(sample), plan, *kernels, {ones}, opened,
                                                   payload.bytes(), scratch.bytes(), &combined, 1);
            EXPECT_TRUE(status.ok() || status.code() == Code::corrupt_stream) << status.message();
            EXPECT_TRUE(payload.intact() && scratch.intact());
          }
        }
        check_other_operations(sample, plan, good, bad);
      }
    }
}

}  // namespace
}  // namespace homz::test
