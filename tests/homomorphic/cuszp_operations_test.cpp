// Arithmetic on payloads of cuszp and cuszp2 beside sums: extrema, a stream plus values, numbers; and
// payloads that were forged.
#include <gtest/gtest.h>

#include <random>

#include "tests/homomorphic/cuszp_model.hpp"
#include "tests/homomorphic/samples.hpp"

namespace homz::test {
namespace {

const std::vector<std::uint64_t> kExtents[] = {{9001}, {67, 141}, {11, 23, 37}};
constexpr std::string_view kInputs[] = {"walk",       "sine",        "nan_tenth",
                                        "infinities", "fill_blocks", "random_bits"};

template <class F>
void for_all_pairs(F&& f) {
  for (const CuszpCase& of : kCuszpCases)
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const std::string_view b : kInputs) {
        SCOPED_TRACE(testing::Message() << of.choice << " " << to_string(dtype) << " " << b);
        Sample x = make_sample("fill_blocks", dtype, kExtents[of.dim - 1]);
        if (b == "random_bits") x = make_sample("random_bits", dtype, kExtents[of.dim - 1]);
        Sample y = make_sample(b, dtype, kExtents[of.dim - 1]);
        y.fill_bits = x.fill_bits;
        f(Cuszp(of.choice, 0.02), x, y);
        if (testing::Test::HasFailure()) return;
      }
}

template <class T>
std::vector<std::byte> extrema_as(Extremum which, const Sample& sample, const CuszpDecoded& a,
                                  const CuszpDecoded& b) {
  std::vector<std::byte> result(sample.data.size());
  const auto value = [](const CuszpDecoded& of, std::size_t i) {
    return of.values[i].kind == Kind::quantum ? static_cast<T>(of.values[i].quantum) * static_cast<T>(of.step)
                                              : of.value<T>(i);
  };
  for (std::size_t i = 0; i < sample.field.count(); ++i) {
    const T x = value(a, i), y = value(b, i);
    T expected = x;
    if (x == x && (y != y || (which == Extremum::least ? y < x : y > x))) expected = y;
    if (x == y && std::signbit(x) != std::signbit(y)) expected = which == Extremum::least ? T(-0.0) : T(0.0);
    if (a.values[i].kind == Kind::fill || b.values[i].kind == Kind::fill)
      expected = value_of<T>(static_cast<BitsOf<T>>(*sample.fill_bits));
    store_value(result.data() + i * sizeof(T), expected);
  }
  return result;
}

TEST(CuszpOperations, Extrema) {
  for_all_pairs([](const Cuszp& codec, const Sample& x, const Sample& y) {
    const std::vector<CuszpPayload> payloads = {codec.encode(x, 0.01), codec.encode(y, 0.01)};
    const CuszpDecoded a = codec.reference(payloads[0]), b = codec.reference(payloads[1]);
    const std::vector<OpenStream> operands = codec.open(payloads);
    for (const Extremum which : {Extremum::least, Extremum::greatest}) {
      const CuszpPayload result =
          codec.result(operands, 1, 2, [&](Bytes payload, Bytes scratch, Combined* combined) {
            return codec.arithmetic().extremum(payloads[0].encoding, which, operands[0], operands[1], payload,
                                               scratch, combined, host(2));
          });
      const std::vector<std::byte> expected =
          with_dtype(x.field.dtype, [&](auto zero) { return extrema_as<decltype(zero)>(which, x, a, b); });
      EXPECT_TRUE(codec.decode(result) == expected);
    }
  });
}

// Decodes to what encoding the values and adding the streams decodes to.
TEST(CuszpOperations, StreamPlusValues) {
  for_all_pairs([](const Cuszp& codec, const Sample& x, const Sample& y) {
    const std::vector<CuszpPayload> payloads = {codec.encode(x, 0.01), codec.encode(y, 0.01)};
    const std::int32_t ones[] = {1, 1};
    const CuszpPayload sum = codec.combine(payloads, {ones});
    const std::vector<OpenStream> operands = {codec.open(payloads[0])};
    Payload first;
    for (const bool in_place : {false, true}) {
      std::vector<std::byte> decoded = y.data;
      const unsigned threads = in_place ? 3 : 1;
      const CuszpPayload result =
          codec.result(operands, 1, threads, [&](Bytes payload, Bytes scratch, Combined* combined) {
            return codec.arithmetic().accumulate(payloads[1].encoding, operands[0],
                                                 in_place ? ConstBytes(decoded) : y.bytes(), payload, decoded,
                                                 scratch, combined, host(threads));
          });
      if (first.empty()) first = result.bytes;
      EXPECT_TRUE(result.bytes == first);
      EXPECT_TRUE(codec.decode(result) == codec.decode(sum));
      EXPECT_TRUE(decoded == codec.decode(sum));
    }
  });
}

TEST(CuszpOperations, Numbers) {
  for_all_pairs([](const Cuszp& codec, const Sample& x, const Sample& y) {
    const std::vector<CuszpPayload> payloads = {codec.encode(x, 0.01), codec.encode(y, 0.01)};
    const CuszpDecoded a = codec.reference(payloads[0]), b = codec.reference(payloads[1]);
    const std::vector<OpenStream> operands = codec.open(payloads);
    const auto number = [&](const CuszpDecoded& of, std::size_t i) {
      if (of.values[i].kind == Kind::quantum) return of.values[i].quantum * static_cast<long double>(of.step);
      return static_cast<long double>(x.field.dtype == Dtype::f32 ? of.value<float>(i) : of.value<double>(i));
    };
    long double sum = 0, size = 0, product = 0, size_of_product = 0;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < x.field.count(); ++i) {
      if (b.values[i].kind == Kind::fill) continue;
      ++count;
      sum += number(b, i);
      size += std::abs(number(b, i));
      if (a.values[i].kind == Kind::fill) continue;
      product += number(a, i) * number(b, i);
      size_of_product += std::abs(number(a, i) * number(b, i));
    }
    const auto is_near = [](double found, long double expected, long double size) {
      if (!(size <= std::numeric_limits<double>::max())) return true;  // sums of NaN and infinities
      return std::abs(found - expected) <= 1e-11L * size;
    };
    for (const unsigned threads : {1u, 3u}) {
      const auto found = codec.arithmetic().moments(operands[1], host(threads));
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_EQ(found->count, count);
      EXPECT_EQ(found->fill, x.field.count() - count);
      EXPECT_TRUE(is_near(found->sum, sum, size)) << found->sum << " " << static_cast<double>(sum);
      const auto dot = codec.arithmetic().dot(operands[0], operands[1], host(threads));
      ASSERT_TRUE(dot.ok());
      EXPECT_TRUE(is_near(*dot, product, size_of_product)) << *dot << " " << static_cast<double>(product);
    }
  });
}

TEST(CuszpOperations, BoundsWithoutNormalSteps) {
  const Sample sample = make_sample("sine", Dtype::f32, {1000});
  for (const double bound : {1e-40, 1e-50, 3e38}) {
    const Cuszp codec("cuszp2");
    const CuszpPayload payload = codec.encode(sample, bound);
    EXPECT_EQ(codec.arithmetic().moments(codec.open(payload), host()).status().code(), Code::unsupported);
  }
}

// Bytes that were forged: a result or an error, never a fault.
TEST(CuszpOperations, ForgedOperands) {
  std::mt19937 random(7);
  for (const CuszpCase& of : kCuszpCases)
    for (const std::string_view input : {"walk", "nan_tenth", "fill_blocks", "normal"}) {
      const Sample sample = make_sample(input, Dtype::f32, kExtents[of.dim - 1]);
      const Cuszp codec(of.choice);
      const CuszpPayload good = codec.encode(sample, 0.01);
      for (unsigned i = 0; i < (kSanitized ? 60u : 200u); ++i) {
        CuszpPayload bad = good;
        const bool near_end = random() % 2 == 0;  // where the exceptions are
        for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
          const std::size_t range =
              near_end ? std::min<std::size_t>(bad.bytes.size(), 400) : bad.bytes.size();
          bad.bytes[bad.bytes.size() - 1 - random() % range] ^= static_cast<std::byte>(1u << random() % 8);
        }
        if (random() % 8 == 0) bad.bytes.resize(random() % bad.bytes.size());
        const Guarded forged(bad.bytes.size(), 1, bad.bytes);
        std::vector<OpenStream> operands = {codec.open(good), codec.open(bad), codec.open(good)};
        operands[1].payload = forged.bytes();
        const std::int32_t ones[] = {1, 1, 1};
        const auto is_expected = [](const Status& status) {
          return status.ok() || status.code() == Code::corrupt_stream;
        };
        const CodecArithmetic& arithmetic = codec.arithmetic();
        const Footprint needs = *arithmetic.footprint(good.encoding, 3, host());
        Guarded payload(needs.max_payload, 4, std::byte{0xaa}),
            scratch(needs.encode_scratch, 0, std::byte{0x55});
        std::vector<std::byte> decoded(sample.data.size());
        Combined combined;
        EXPECT_TRUE(is_expected(arithmetic.combine(good.encoding, {ones}, operands, payload.bytes(),
                                                   scratch.bytes(), &combined, host())));
        EXPECT_TRUE(is_expected(arithmetic.extremum(good.encoding, Extremum::least, operands[0], operands[1],
                                                    payload.bytes(), scratch.bytes(), &combined, host())));
        EXPECT_TRUE(
            is_expected(arithmetic.accumulate(good.encoding, operands[1], sample.bytes(), payload.bytes(),
                                              decoded, scratch.bytes(), &combined, host())));
        EXPECT_TRUE(is_expected(arithmetic.moments(operands[1], host()).status()));
        EXPECT_TRUE(is_expected(arithmetic.dot(operands[0], operands[1], host()).status()));
        EXPECT_TRUE(payload.intact() && scratch.intact());
      }
    }
}

}  // namespace
}  // namespace homz::test
