// Arithmetic on whole streams: laws, operands that do not fit, bounds, constants and stored values, numbers.
#include "homomorphic/arithmetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "homomorphic/bounds.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/inputs.hpp"

namespace homz::test {
namespace {

// Of every codec that has arithmetic.
class Arithmetic : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, Arithmetic,
                         testing::Values("homcomp", "cuszp", "cuszp2:dim=1", "cuszp2:mode=plain,dim=1",
                                         "cuszp2:mode=fixed,dim=1"),
                         [](const auto& info) { return test_name(info.param); });

std::string with_options(const std::string& options) {
  const std::string& codec = Arithmetic::GetParam();
  return codec + (codec.find(':') == std::string::npos ? ":" : ",") + options;
}

Compressed stream_of(const Sample& sample, double bound,
                     const std::string& codec = with_options("step=0.002")) {
  Compression compression;
  compression.choice = *registry().choose(codec);
  compression.field = sample.field;
  compression.abs_error = bound;
  compression.requested = {BoundMode::absolute, bound};
  compression.fill_bits = sample.fill_bits;
  auto stream = compress_resolved(compression, sample.bytes(), host());
  EXPECT_TRUE(stream.ok()) << stream.status().message();
  return std::move(*stream);
}

OpenStream open(const Compressed& stream) {
  auto opened = open_stream(registry(), stream.stream(), host());
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return *opened;
}

Compressed combine_of(std::vector<std::int32_t> factors, const std::vector<const Compressed*>& streams,
                      double shift = 0, double scale = 1) {
  std::vector<OpenStream> operands;
  for (const Compressed* each : streams) operands.push_back(open(*each));
  auto result = combine({factors, shift, scale}, operands, host(2));
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(*result);
}

std::vector<double> values_of(const Compressed& stream) {
  auto decoded = decompress(registry(), stream.stream(), host());
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
  const Field& field = decoded->header.field;
  std::vector<double> values(field.count());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = field.dtype == Dtype::f32 ? load_value<float>(decoded->data.bytes().data() + 4 * i)
                                          : load_value<double>(decoded->data.bytes().data() + 8 * i);
  return values;
}
std::vector<double> values_of(const Sample& sample) {
  std::vector<double> values(sample.field.count());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = sample.field.dtype == Dtype::f32 ? load_value<float>(sample.data.data() + 4 * i)
                                                 : load_value<double>(sample.data.data() + 8 * i);
  return values;
}
std::vector<std::byte> decoded(const Compressed& stream) {
  const auto data = decompress(registry(), stream.stream(), host());
  return {data->data.bytes().begin(), data->data.bytes().end()};
}

struct Fields {
  Sample a = make_sample("walk", Dtype::f32, {60, 150});
  Sample b = make_sample("sine", Dtype::f32, {60, 150});
  Sample c = make_sample("normal", Dtype::f32, {60, 150});
  Compressed x = stream_of(a, 1e-3), y = stream_of(b, 1e-3), z = stream_of(c, 1e-3);
};

TEST_P(Arithmetic, SumsKeepTheirBound) {
  const Fields of;
  const Compressed sum = combine_of({1, 1, 1}, {&of.x, &of.y, &of.z});
  EXPECT_NEAR(open(sum).header.abs_error, 3e-3, 1e-15);
  const auto a = values_of(of.a), b = values_of(of.b), c = values_of(of.c), s = values_of(sum);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double exact = a[i] + b[i] + c[i];
    ASSERT_LE(std::abs(s[i] - exact), 3e-3 + std::abs(exact) * 0x1p-22) << i;
  }
}

TEST_P(Arithmetic, AnyOrderGivesTheSameValues) {
  const Fields of;
  const Compressed all = combine_of({1, 1, 1}, {&of.x, &of.y, &of.z});
  const Compressed other = combine_of({1, 1, 1}, {&of.z, &of.x, &of.y});
  const Compressed xy = combine_of({1, 1}, {&of.x, &of.y}), yx = combine_of({1, 1}, {&of.y, &of.x});
  const Compressed yz = combine_of({1, 1}, {&of.y, &of.z});
  EXPECT_TRUE(std::ranges::equal(xy.stream(), yx.stream()));
  EXPECT_TRUE(decoded(all) == decoded(other));
  EXPECT_TRUE(decoded(all) == decoded(combine_of({1, 1}, {&xy, &of.z})));
  EXPECT_TRUE(decoded(all) == decoded(combine_of({1, 1}, {&of.x, &yz})));
}

TEST_P(Arithmetic, DifferenceWithItselfIsZero) {
  const Fields of;
  const Compressed zero = combine_of({1, -1}, {&of.x, &of.x});
  for (const double value : values_of(zero)) ASSERT_EQ(value, 0);
  const Compressed negative = combine_of({-1}, {&of.x});
  EXPECT_TRUE(decoded(combine_of({1, 1}, {&of.x, &negative})) == decoded(zero));
  const unsigned metadata = GetParam() == "homcomp" ? 32 + 6 * 5 : 1024 + 8;
  EXPECT_LE(zero.bytes, 128 + metadata);  // nothing but heads
}

TEST_P(Arithmetic, MeanKeepsTheBoundOfOne) {
  const Fields of;
  const Compressed mean = combine_of({1, 1}, {&of.x, &of.y}, 0, 0.5);
  EXPECT_EQ(open(mean).header.abs_error, 1e-3);
  const auto a = values_of(of.a), b = values_of(of.b), m = values_of(mean);
  for (std::size_t i = 0; i < m.size(); ++i) ASSERT_LE(std::abs(m[i] - (a[i] + b[i]) / 2), 1e-3 + 1e-7) << i;
}

TEST_P(Arithmetic, ShiftAndScale) {
  const Fields of;
  const Compressed result = combine_of({1}, {&of.y}, 2.5, 3);
  const auto b = values_of(of.b), r = values_of(result);
  const double bound = open(result).header.abs_error;
  EXPECT_GE(bound, 3e-3);
  EXPECT_LE(bound, 3 * 2.01e-3);
  for (std::size_t i = 0; i < r.size(); ++i) ASSERT_LE(std::abs(r[i] - 3 * (b[i] + 2.5)), bound + 2e-6) << i;
}

TEST_P(Arithmetic, ExtremaAreThoseOfTheDecodedValues) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const std::string_view other : {"sine", "nan_tenth", "random_bits", "infinities", "walk"})
      for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {67, 141}, {19, 33, 47}}) {
        Sample a = make_sample("walk", dtype, extents), b = make_sample(other, dtype, extents);
        b.fill_bits = a.fill_bits;
        const Compressed x = stream_of(a, 1e-3), y = stream_of(b, 1e-3);
        const ConstBytes both[] = {x.stream(), y.stream()};
        const auto operands = coded_alike(registry(), both, Mismatch::refuse, host());
        ASSERT_TRUE(operands.ok()) << operands.status().message();
        const auto decoded_again = [&](std::size_t i) {
          const OpenStream& stream = operands->streams()[i];
          Sample sample = a;
          std::vector<std::byte> scratch(stream.scratch_bytes);
          EXPECT_TRUE(decode_stream(stream, sample.data, scratch, host()).ok());
          return values_of(sample);
        };
        const auto p = decoded_again(0), q = decoded_again(1);
        for (const Extremum which : {Extremum::least, Extremum::greatest}) {
          const auto result = extremum(which, operands->streams()[0], operands->streams()[1], host());
          ASSERT_TRUE(result.ok()) << result.status().message();
          const auto r = values_of(*result);
          for (std::size_t i = 0; i < r.size(); ++i) {
            const double expected = p[i] != p[i]               ? p[i]
                                    : q[i] != q[i]             ? q[i]
                                    : which == Extremum::least ? std::min(p[i], q[i])
                                                               : std::max(p[i], q[i]);
            if (expected != expected)
              ASSERT_TRUE(r[i] != r[i]) << other << " " << i;
            else
              ASSERT_EQ(r[i], expected) << other << " " << i;
          }
        }
      }
}

TEST_P(Arithmetic, Numbers) {
  const Fields of;
  const auto p = values_of(of.x), q = values_of(of.y);
  long double sum = 0, squares = 0, product = 0, least = p[0], most = p[0];
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += p[i];
    squares += static_cast<long double>(p[i]) * p[i];
    product += static_cast<long double>(p[i]) * q[i];
    least = std::min<long double>(least, p[i]);
    most = std::max<long double>(most, p[i]);
  }
  const auto count = static_cast<long double>(p.size());
  const auto found = moments(open(of.x), host(2));
  ASSERT_TRUE(found.ok()) << found.status().message();
  // Quanta times the step are not rounded to f32: that is the difference.
  EXPECT_EQ(found->count, p.size());
  EXPECT_NEAR(found->sum, static_cast<double>(sum), 1e-6 * std::abs(static_cast<double>(squares)));
  EXPECT_NEAR(found->mean, static_cast<double>(sum / count), 1e-6);
  EXPECT_NEAR(found->norm, static_cast<double>(std::sqrt(squares)), 1e-6 * found->norm);
  const long double variance = squares / count - sum / count * (sum / count);
  EXPECT_NEAR(found->variance, static_cast<double>(variance), 1e-6 * found->variance);
  EXPECT_NEAR(found->deviation, static_cast<double>(std::sqrt(variance)), 1e-6);
  EXPECT_EQ(found->min, static_cast<double>(least));
  EXPECT_EQ(found->max, static_cast<double>(most));
  const auto dots = dot(open(of.x), open(of.y), host(2));
  ASSERT_TRUE(dots.ok());
  EXPECT_NEAR(*dots, static_cast<double>(product), 1e-6 * std::abs(static_cast<double>(squares)));
}

TEST_P(Arithmetic, NumbersOfValuesStoredExactly) {
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 7 == 0 ? 1e9 + static_cast<double>(i) : i % 11 == 0 ? -9999 : std::sin(0.01 * i);
  const Sample sample = sample_of("mixed", values, {}, std::optional(-9999.0));
  const auto found = moments(open(stream_of(sample, 1e-3)), host(3));
  ASSERT_TRUE(found.ok());
  long double sum = 0, squares = 0;
  std::uint64_t count = 0, fill = 0;
  const auto decoded = values_of(stream_of(sample, 1e-3));
  for (const double x : decoded) {
    if (x == -9999) {
      ++fill;
      continue;
    }
    ++count;
    sum += x;
    squares += static_cast<long double>(x) * x;
  }
  EXPECT_EQ(found->count, count);
  EXPECT_EQ(found->fill, fill);
  EXPECT_NEAR(found->sum / static_cast<double>(sum), 1, 1e-13);
  EXPECT_NEAR(found->norm / static_cast<double>(std::sqrt(squares)), 1, 1e-13);
  const long double mean = sum / static_cast<long double>(count);
  long double deviations = 0;
  for (const double x : decoded)
    if (x != -9999) deviations += (x - mean) * (x - mean);
  EXPECT_NEAR(found->variance / static_cast<double>(deviations / static_cast<long double>(count)), 1, 1e-12);
  EXPECT_EQ(found->max, *std::max_element(decoded.begin(), decoded.end()));
}

// A NaN makes all numbers NaN, beside infinities, too. Every NaN has the same bits.
TEST_P(Arithmetic, NumbersOfNaN) {
  const auto one_nan = [](double x) { return bits_of(x) == 0x7ff8000000000000u; };
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.01f * static_cast<float>(i));
  values[5] = HUGE_VALF, values[900] = -HUGE_VALF;
  const Compressed infinities = stream_of(sample_of("infinities", values), 1e-3);
  const auto found = moments(open(infinities), host());
  ASSERT_TRUE(found.ok());
  for (const double x : {found->sum, found->mean, found->variance, found->deviation})
    EXPECT_TRUE(one_nan(x)) << x;
  EXPECT_EQ(found->norm, HUGE_VAL);
  EXPECT_EQ(found->min, -HUGE_VAL);
  values[300] = -NAN;
  const auto of_nan = moments(open(stream_of(sample_of("nan", values), 1e-3)), host());
  ASSERT_TRUE(of_nan.ok());
  for (const double x : {of_nan->sum, of_nan->mean, of_nan->variance, of_nan->deviation, of_nan->norm,
                         of_nan->min, of_nan->max})
    EXPECT_TRUE(one_nan(x)) << x;
  values[300] = 0, values[5] = values[900];
  const Compressed other = stream_of(sample_of("other", values), 1e-3);
  EXPECT_TRUE(one_nan(*dot(open(infinities), open(other), host())));
}

TEST_P(Arithmetic, ConstantsAndStoredValuesTakePart) {
  const std::vector<std::uint64_t> extents{4000};
  const Sample walk = make_sample("walk", Dtype::f32, extents);
  const Sample constant = make_sample("constant", Dtype::f32, extents);
  const Sample noise = make_sample("random_bits", Dtype::f32, extents);
  for (const Sample* other : {&constant, &noise}) {
    const Compressed x = stream_of(walk, 1e-3), y = stream_of(*other, 1e-3);
    ASSERT_NE(open(y).header.representation, Representation::coded);
    for (const bool first : {false, true}) {
      const ConstBytes both[] = {first ? y.stream() : x.stream(), first ? x.stream() : y.stream()};
      const auto operands = coded_alike(registry(), both, Mismatch::refuse, host());
      ASSERT_TRUE(operands.ok()) << operands.status().message();
      const std::int32_t factors[] = {1, 1};
      const auto sum = combine({factors}, operands->streams(), host());
      ASSERT_TRUE(sum.ok()) << sum.status().message();
      const auto a = values_of(walk), b = values_of(*other), s = values_of(*sum);
      for (std::size_t i = 0; i < s.size(); ++i) {
        const double exact = a[i] + b[i];
        if (!std::isfinite(exact) || std::abs(exact) > 3e38) continue;
        ASSERT_LE(std::abs(s[i] - exact), 2e-3 + std::abs(exact) * 0x1p-23) << i;
      }
      EXPECT_EQ(open(*sum).header.order_matters, other == &noise);
    }
  }
  const Compressed c = stream_of(constant, 1e-3);
  const ConstBytes twice[] = {c.stream(), c.stream()};
  const auto operands = coded_alike(registry(), twice, Mismatch::refuse, host());
  ASSERT_TRUE(operands.ok()) << operands.status().message();
  const std::int32_t factors[] = {1, 1};
  for (const double value : values_of(*combine({factors}, operands->streams(), host())))
    ASSERT_NEAR(value, 14.5, 2e-3);
}

TEST_P(Arithmetic, MismatchesAreNamedOrRequantised) {
  const Fields of;
  const auto align = [](const Compressed& a, const Compressed& b, Mismatch mismatch) {
    const ConstBytes both[] = {a.stream(), b.stream()};
    return coded_alike(registry(), both, mismatch, host());
  };
  const auto says = [&](const Compressed& a, const Compressed& b, const std::string& words) {
    const auto result = align(a, b, Mismatch::refuse);
    ASSERT_FALSE(result.ok()) << words;
    EXPECT_EQ(result.status().code(), Code::invalid_argument) << result.status().message();
    EXPECT_NE(result.status().message().find(words), std::string::npos) << result.status().message();
  };
  const Compressed finer = stream_of(of.b, 1e-4, with_options("step=0.0002"));
  const bool is_homcomp = GetParam() == "homcomp";
  const Compressed other_codec = stream_of(of.b, 1e-3, is_homcomp ? "cuszp2" : "homcomp");
  says(of.x, finer, "step=0.00019999999");
  says(of.x, other_codec, "codecs");
  says(of.x, stream_of(make_sample("sine", Dtype::f32, {150, 60}), 1e-3), "shape");
  says(of.x, stream_of(make_sample("sine", Dtype::f64, {60, 150}), 1e-3), "shape");
  Sample filled = of.b;
  filled.fill_bits = 0;
  says(of.x, stream_of(filled, 1e-3), "--fill 0");
  std::vector<const Compressed*> others = {&finer, &other_codec};
  Compressed line, plane;
  if (GetParam() != "cuszp") {
    const std::string codec = is_homcomp ? "homcomp:" : "cuszp2:";
    line = stream_of(of.b, 1e-3, codec + "dim=1,step=0.002");
    plane = stream_of(of.b, 1e-3, codec + "dim=2,step=0.002");
    says(plane, line, "laid out differently");
    others.push_back(is_homcomp ? &line : &plane);
  }
  for (const Compressed* other : others) {
    const auto operands = align(of.x, *other, Mismatch::requantise);
    ASSERT_TRUE(operands.ok()) << operands.status().message();
    const std::int32_t factors[] = {1, 1};
    const auto sum = combine({factors}, operands->streams(), host());
    ASSERT_TRUE(sum.ok());
    const double bound = open(*sum).header.abs_error;
    EXPECT_NEAR(bound, 2e-3 + open(*other).header.abs_error, 1e-12);
    const auto a = values_of(of.a), b = values_of(of.b), s = values_of(*sum);
    for (std::size_t i = 0; i < s.size(); ++i) ASSERT_LE(std::abs(s[i] - a[i] - b[i]), bound + 1e-6);
  }
}

TEST_P(Arithmetic, ArgumentsAreChecked) {
  const Fields of;
  const OpenStream operands[] = {open(of.x), open(of.y)};
  const std::int32_t one[] = {1}, ones[] = {1, 1}, large[] = {INT32_MAX, INT32_MIN},
                     larger[] = {INT32_MIN, INT32_MIN}, none[] = {0, 0};
  EXPECT_EQ(combine({one}, operands, host()).status().code(), Code::invalid_argument);
  EXPECT_TRUE(combine({large}, operands, host()).ok());
  EXPECT_EQ(combine({larger}, operands, host()).status().code(), Code::invalid_argument);
  for (const double value : values_of(*combine({none}, operands, host()))) ASSERT_EQ(value, 0);
  EXPECT_EQ(combine({ones, 0, 1e-37}, operands, host()).status().code(), Code::unsupported);
  EXPECT_EQ(combine({ones, NAN, 1}, operands, host()).status().code(), Code::invalid_argument);
  EXPECT_EQ(combine({ones, 0, 0}, operands, host()).status().code(), Code::invalid_argument);
  EXPECT_EQ(combine({ones, 0, -1}, operands, host()).status().code(), Code::invalid_argument);
  EXPECT_EQ(combine({ones, 1e30, 1}, operands, host()).status().code(), Code::unsupported);
  EXPECT_EQ(combine({ones, 0, 1e300}, operands, host()).status().code(), Code::unsupported);
  EXPECT_EQ(combine({{}}, {}, host()).status().code(), Code::invalid_argument);
  const StreamFootprint needs = *combination_footprint(operands, host());
  std::vector<std::byte> stream(needs.stream_bytes), scratch(needs.scratch_bytes);
  std::uint64_t bytes = 0;
  EXPECT_EQ(
      combine_streams({ones}, operands, Bytes(stream).first(needs.stream_bytes - 1), scratch, &bytes, host())
          .code(),
      Code::capacity);
  EXPECT_EQ(combine_streams({ones}, operands, stream, scratch, nullptr, host()).code(),
            Code::invalid_argument);
  EXPECT_TRUE(combine_streams({ones}, operands, stream, scratch, &bytes, host()).ok());
}

// Decoded values may take the place of the data; nothing else may overlap.
TEST_P(Arithmetic, BuffersOverlapNowhereElse) {
  const Fields of;
  const OpenStream stream = open(of.x);
  const StreamFootprint needs = *combination_footprint({&stream, 1}, host());
  const std::uint64_t size = of.b.data.size();
  std::vector<std::byte> memory(needs.stream_bytes + needs.scratch_bytes + 2 * size);
  const Bytes all = memory, result = all.first(needs.stream_bytes);
  const Bytes scratch = all.subspan(result.size(), needs.scratch_bytes);
  const Bytes data = all.subspan(result.size() + scratch.size(), size), decoded = all.last(size);
  std::copy(of.b.data.begin(), of.b.data.end(), data.begin());
  const auto code = [&](ConstBytes from, Bytes to) {
    std::uint64_t bytes = 0;
    return accumulate(stream, from, 1e-3, result, to, scratch, &bytes, host()).code();
  };
  EXPECT_EQ(code(data, decoded), Code::ok);
  EXPECT_EQ(code(data, data), Code::ok);
  EXPECT_EQ(code(data, {}), Code::ok);
  EXPECT_EQ(code(data, all.subspan(result.size() + scratch.size() + 4, size)), Code::invalid_argument);
  EXPECT_EQ(code(data, all.subspan(result.size() + 4, size)), Code::invalid_argument);
  EXPECT_EQ(code(data, all.first(size)), Code::invalid_argument);
  EXPECT_EQ(code(all.first(size), decoded), Code::invalid_argument);
  EXPECT_EQ(code(all.subspan(result.size(), size), decoded), Code::invalid_argument);
  std::byte* const payload = const_cast<std::byte*>(stream.payload.data());
  EXPECT_EQ(code(data, {payload, size}), Code::invalid_argument);
}

// NaN come before numbers, the first operand's before the second's, with their bits; -0 is below +0.
TEST_P(Arithmetic, ExtremaOfNaNAndZeros) {
  std::vector<float> a(5000, 1), b(5000, 2);
  std::mt19937 random(5);
  for (std::size_t i = 4; i < a.size(); ++i) {  // all stored exactly
    a[i] = value_of<float>(static_cast<std::uint32_t>(random()));
    b[i] = value_of<float>(static_cast<std::uint32_t>(random()));
  }
  const auto nan = [](std::uint32_t payload) { return value_of<float>(0x7fc00000u | payload); };
  a[0] = nan(1), b[0] = nan(2);
  a[1] = 5, b[1] = nan(3);
  a[2] = -0.0f, b[2] = 0.0f;
  a[3] = 0.0f, b[3] = -0.0f;
  const Compressed x = stream_of(sample_of("a", a), 1e-3), y = stream_of(sample_of("b", b), 1e-3);
  const ConstBytes both[] = {x.stream(), y.stream()};
  const auto operands = coded_alike(registry(), both, Mismatch::refuse, host());
  ASSERT_TRUE(operands.ok()) << operands.status().message();
  for (const Extremum which : {Extremum::least, Extremum::greatest}) {
    const auto result = extremum(which, operands->streams()[0], operands->streams()[1], host());
    ASSERT_TRUE(result.ok()) << result.status().message();
    const std::vector<std::byte> bytes = decoded(*result);
    const auto bits = [&](std::size_t i) { return load_value<std::uint32_t>(bytes.data() + 4 * i); };
    EXPECT_EQ(bits(0), bits_of(nan(1)));
    EXPECT_EQ(bits(1), bits_of(nan(3)));
    const bool is_negative = GetParam() == "homcomp" && which == Extremum::least;  // others have a quantum 0
    EXPECT_EQ(bits(2), is_negative ? 0x80000000u : 0);
    EXPECT_EQ(bits(3), is_negative ? 0x80000000u : 0);
  }
}

// A sum of what the shift misses a multiple of the step by, in exact arithmetic, is not above the bound.
__extension__ typedef __float128 Quad;

TEST(Bounds, AreRoundedUp) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(0.1, 1000);
  for (unsigned i = 0; i < 10000; ++i) {
    const double shift = any(random), step = any(random) * 1e-4, steps = std::nearbyint(shift / step);
    const auto exact = static_cast<Quad>(shift) - static_cast<Quad>(steps) * step;
    ASSERT_GE(static_cast<Quad>(missed_by(shift, steps, step)), exact < 0 ? -exact : exact);
    const double a = any(random), b = any(random);
    ASSERT_GE(static_cast<Quad>(multiply_up(a, b)), static_cast<Quad>(a) * b);
    const double tiny = a * 1e-308;
    ASSERT_GE(static_cast<Quad>(multiply_up(tiny, b)), static_cast<Quad>(tiny) * b);
    ASSERT_GE(static_cast<Quad>(multiply_up(tiny, 1 / b)), static_cast<Quad>(tiny) * (1 / b));
    ASSERT_GE(static_cast<Quad>(add_up(a, b * 1e-7)), static_cast<Quad>(a) + b * 1e-7);
  }
  EXPECT_EQ(multiply_up(0, 3), 0);
  EXPECT_EQ(multiply_up(0x1p-1074, 1), 0x1p-1074);
  EXPECT_GT(multiply_up(0x1p-1074, 0.25), 0);
  EXPECT_EQ(missed_by(3, 2, 1.5), 0);
}

TEST_P(Arithmetic, FieldsWithoutValues) {
  const Sample none = sample_of("none", std::vector<float>{}, {0});
  const Compressed empty = stream_of(none, 1e-3);
  const ConstBytes both[] = {empty.stream(), empty.stream()};
  const auto operands = coded_alike(registry(), both, Mismatch::refuse, host());
  ASSERT_TRUE(operands.ok()) << operands.status().message();
  const std::int32_t ones[] = {1, 1};
  const auto sum = combine({ones}, operands->streams(), host());
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(decoded(*sum).size(), 0u);
  EXPECT_EQ(moments(operands->streams()[0], host())->count, 0u);
}

TEST_P(Arithmetic, DamagedOperandsAreRefused) {
  const Fields of;
  std::mt19937 random(7);
  const ConstBytes good = of.x.stream();
  for (unsigned i = 0; i < 400; ++i) {
    std::vector<std::byte> bad(good.begin(), good.end());
    const std::size_t at = StreamHeader::kBytes + random() % (bad.size() - StreamHeader::kBytes);
    bad[at] ^= static_cast<std::byte>(1u << random() % 8);
    const auto opened = open_stream(registry(), bad, host());
    if (!opened.ok()) continue;
    const OpenStream operands[] = {*opened, open(of.y)};
    const std::int32_t ones[] = {1, 1};
    const auto sum = combine({ones}, operands, host());
    ASSERT_FALSE(sum.ok()) << at;
    ASSERT_EQ(sum.status().code(), Code::corrupt_stream) << at << sum.status().message();
    ASSERT_FALSE(moments(*opened, host()).ok());
  }
}

}  // namespace
}  // namespace homz::test
