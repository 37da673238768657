// Arithmetic on payloads of cuszp and cuszp2: laws, in every mode and layout.
#include <gtest/gtest.h>

#include "tests/homomorphic/cuszp_model.hpp"
#include "tests/homomorphic/samples.hpp"

namespace homz::test {
namespace {

const std::vector<std::vector<std::uint64_t>> kExtents[] = {
    {{9001}, {67, 141}, {11, 23, 37}}, {{67, 141}, {11, 23, 37}}, {{11, 23, 37}}};

// Operands are samples of one geometry and fill value.
void check(const Cuszp& codec, const std::vector<Sample>& samples, double bound, const Terms& terms) {
  const Sample& first = samples[0];
  SCOPED_TRACE(testing::Message() << first.name << " " << to_string(first.field.dtype) << " "
                                  << first.field.shape_text() << " bound " << bound << " operands "
                                  << terms.factors.size() << " first factor " << terms.factors[0]);
  std::vector<CuszpPayload> payloads;
  std::vector<CuszpDecoded> decoded;
  for (std::size_t i = 0; i < terms.factors.size(); ++i) {
    payloads.push_back(codec.encode(samples[i % samples.size()], bound));
    decoded.push_back(codec.reference(payloads.back()));
  }
  const CuszpPayload result = codec.combine(payloads, terms.combination());
  EXPECT_TRUE(codec.decode(result) == model(first, terms.combination(), decoded));
  EXPECT_TRUE(codec.combine(payloads, terms.combination(), 3).bytes == result.bytes);
}

template <class F>
void for_all_cases(F&& f) {
  for (const CuszpCase& each : kCuszpCases) {
    SCOPED_TRACE(each.choice);
    f(each);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CuszpSum, AllInputs) {
  for_all_cases([](const CuszpCase& of) {
    for (const std::string_view input : input_names())
      for (const Dtype dtype : {Dtype::f32, Dtype::f64})
        for (const auto& extents : kExtents[of.dim - 1]) {
          const Sample sample = make_sample(input, dtype, extents);
          for (const double bound : common_bounds_for(sample))
            if (bound > 1e-30) check(Cuszp(of.choice), {sample}, bound, kTerms[0]);
        }
  });
}

TEST(CuszpSum, MixedInputs) {
  for_all_cases([](const CuszpCase& of) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : kExtents[of.dim - 1]) {
        std::vector<Sample> samples;
        for (const std::string_view input : {"walk", "normal", "sine", "nan_tenth"}) {
          samples.push_back(make_sample(input, dtype, extents));
          samples.back().fill_bits.reset();
        }
        for (const Terms& terms : kTerms) check(Cuszp(of.choice, 0.02), samples, 0.01, terms);
      }
  });
}

TEST(CuszpSum, EveryWidth) {
  for_all_cases([](const CuszpCase& of) {
    for (unsigned width = 0; width <= 31; ++width) {
      std::vector<Sample> samples;
      for (unsigned seed = 0; seed < 3; ++seed)
        samples.push_back(quanta_sample<double>(kExtents[of.dim - 1].back(), width, width + 31 * seed));
      for (const Terms& terms : kTerms) {
        check(Cuszp(of.choice), samples, 0.5, terms);
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(CuszpSum, EverySizeOfALine) {
  for_all_cases([](const CuszpCase& of) {
    for (std::uint64_t count = 1; count <= 140 && of.dim == 1; ++count)
      check(Cuszp(of.choice, 0.02),
            {make_sample("walk", Dtype::f32, {count}), make_sample("normal", Dtype::f32, {count})}, 0.01,
            kTerms[count % kTerms.size()]);
  });
}

// Rows that begin at every distance from a quad, so that rows share elements or leave some out.
TEST(CuszpSum, EveryShapeOfRows) {
  for_all_cases([](const CuszpCase& of) {
    if (of.dim == 1) return;
    for (std::uint64_t y = 2; y <= 9; ++y)
      for (std::uint64_t x = 2; x <= 13; ++x) {
        const std::vector<std::uint64_t> extents =
            of.dim == 2 ? std::vector{y, x} : std::vector{std::uint64_t{3}, y, x};
        check(Cuszp(of.choice, 0.02),
              {make_sample("walk", Dtype::f32, extents), make_sample("normal", Dtype::f32, extents)}, 0.01,
              kTerms[(x + y) % kTerms.size()]);
      }
  });
}

TEST(CuszpSum, FillValues) {
  for_all_cases([](const CuszpCase& of) {
    for (const auto& extents : kExtents[of.dim - 1])
      for (const Terms& terms : kTerms) check(Cuszp(of.choice, 0.002), masked_samples(extents), 0.001, terms);
  });
}

// More than one segment of blocks: threads, and places of exceptions.
TEST(CuszpSum, Segments) {
  for_all_cases([](const CuszpCase& of) {
    const std::vector<std::uint64_t> extents[] = {{200001}, {301, 467}, {39, 53, 71}};
    const Cuszp codec(of.choice, 0.002);
    for (const Terms& terms : {kTerms[0], kTerms[5], kTerms[7]})
      check(codec, masked_samples(extents[of.dim - 1]), 0.001, terms);
    check(codec, {make_sample("walk", Dtype::f32, extents[of.dim - 1])}, 0.001, kTerms[1]);
  });
}

// Sums of whole numbers: the payload is the one that the codec makes of the sums, so that upstream reads it.
TEST(CuszpSum, IsWhatTheCodecMakesOfTheSum) {
  for_all_cases([](const CuszpCase& of) {
    for (unsigned width = 0; width <= 27; width += 3) {
      const auto extents = of.dim == 1   ? std::vector<std::uint64_t>{9000}
                           : of.dim == 2 ? std::vector<std::uint64_t>{61, 72}
                                         : std::vector<std::uint64_t>{11, 13, 32};
      const Sample a = quanta_sample<double>(extents, width, width),
                   b = quanta_sample<double>(extents, width, width + 77);
      Sample sum = a;
      for (std::uint64_t i = 0; i < a.field.count(); ++i)
        store_value(sum.data.data() + 8 * i, load_value<double>(a.data.data() + 8 * i) -
                                                 2 * load_value<double>(b.data.data() + 8 * i));
      const Cuszp codec(of.choice);
      const std::int32_t factors[] = {1, -2};
      EXPECT_TRUE(codec.combine({codec.encode(a, 0.5), codec.encode(b, 0.5)}, {factors}).bytes ==
                  codec.encode(sum, 0.5).bytes)
          << width;
    }
  });
}

TEST(CuszpSum, OrderAndGroupingDoNotMatter) {
  for_all_cases([](const CuszpCase& of) {
    const Cuszp codec(of.choice, 0.02);
    std::vector<CuszpPayload> payloads;
    for (const std::string_view input : {"walk", "normal", "sine"})
      payloads.push_back(codec.encode(make_sample(input, Dtype::f32, kExtents[of.dim - 1].back()), 0.011));
    const std::int32_t ones[] = {1, 1, 1}, minus[] = {1, -1};
    const Combination sum_of_2{std::span(ones).first(2)}, sum_of_3{ones};
    const auto add = [&](const CuszpPayload& a, const CuszpPayload& b) {
      return codec.combine({a, b}, sum_of_2);
    };
    const CuszpPayload &a = payloads[0], &b = payloads[1], &c = payloads[2];
    EXPECT_TRUE(add(a, b).bytes == add(b, a).bytes);
    EXPECT_TRUE(add(add(a, b), c).bytes == add(a, add(b, c)).bytes);
    EXPECT_TRUE(codec.combine(payloads, sum_of_3).bytes == add(add(a, b), c).bytes);
    const std::vector<std::byte> nothing = codec.decode(codec.combine({a, a}, {minus}));
    EXPECT_TRUE(std::all_of(nothing.begin(), nothing.end(), [](std::byte x) { return x == std::byte{0}; }));
  });
}

}  // namespace
}  // namespace homz::test
