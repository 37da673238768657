// Every instruction set, any number of threads and the block code value by value agree on every byte, and on
// every value read.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codecs/cuszp/kernels.hpp"
#include "tests/cuszp/by_value.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/inputs.hpp"

namespace homz::test {
namespace {

using cuszp::available_kernels;
using cuszp::Kernels;
using cuszp::Mode;
using cuszp::Plan;

constexpr Plan kPlans[] = {{Mode::fixed, 1, false, true},   {Mode::plain, 1, false, true},
                           {Mode::outlier, 1, false, true}, {Mode::plain, 1, true, true},
                           {Mode::fixed, 2, false, true},   {Mode::plain, 2, false, true},
                           {Mode::outlier, 2, false, true}, {Mode::fixed, 3, false, true},
                           {Mode::plain, 3, false, true},   {Mode::outlier, 3, false, true}};

Payload make_payload(const Encoding& encoding, ConstBytes data, const Plan& plan, const Kernels& kernels,
                     unsigned threads) {
  const Footprint needs = *cuszp::footprint(encoding, plan, host());
  Payload payload(needs.max_payload), scratch(needs.encode_scratch);
  Encoded encoded;
  EXPECT_TRUE(cuszp::encode(encoding, plan, kernels, data, payload, scratch, &encoded, host(threads)).ok());
  payload.resize(encoded.bytes);
  return payload;
}

// A payload just as long as it is, in front of memory that is not to be read.
template <class T>
std::vector<T> read_payload(const Encoding& encoding, const Plan& plan, const Kernels& kernels,
                            const Payload& payload, unsigned threads = 1) {
  std::vector<T> values(encoding.field.count());
  std::vector<std::byte> scratch(cuszp::footprint(encoding, plan, host())->decode_scratch);
  const Status status = cuszp::decode(encoding, plan, kernels, payload,
                                      std::as_writable_bytes(std::span(values)), scratch, host(threads));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, {}, bits_of<T>, bits_of<T>);
}

template <class T>
void check(const Sample& sample, double bound, const Plan& plan) {
  SCOPED_TRACE(testing::Message() << sample.name << " " << to_string(sample.field.dtype) << " "
                                  << sample.field.shape_text() << ", bound " << bound << ", mode "
                                  << static_cast<int>(plan.mode) << ", dim " << plan.dim
                                  << (plan.v1 ? ", V1" : ""));
  const Encoding encoding{sample.field, bound, sample.fill_bits, {}};
  std::vector<T> sent(sample.field.count());
  std::copy_n(sample.data.data(), sample.data.size(), reinterpret_cast<std::byte*>(sent.data()));
  const Payload expected =
      with_by_value<T>(encoding, plan, [&](const auto& by_value) { return by_value.encode(sent.data()); });
  std::vector<T> values;
  for (const Kernels* kernels : available_kernels()) {
    for (const unsigned threads : {1u, 3u})
      EXPECT_TRUE(make_payload(encoding, sample.bytes(), plan, *kernels, threads) == expected)
          << kernels->name << ", " << threads << " threads";
    const std::vector<T> read = read_payload<T>(encoding, plan, *kernels, expected, 2);
    if (values.empty()) values = read;
    EXPECT_TRUE(same_bits(read, values)) << kernels->name;
  }
  EXPECT_TRUE(
      judge(sample.field.dtype, sample.bytes(), std::as_bytes(std::span(values)), bound, sample.fill_bits));
}

void check_all(const Sample& sample, double bound, double step = 0) {
  for (Plan plan : kPlans) {
    if (plan.dim > sample.field.rank) continue;
    plan.step = step;
    if (sample.field.dtype == Dtype::f32)
      check<float>(sample, bound, plan);
    else
      check<double>(sample, bound, plan);
  }
}

TEST(Dispatch, ThereIsAlwaysAScalarOne) {
  ASSERT_FALSE(available_kernels().empty());
  EXPECT_EQ(available_kernels().front()->name, "scalar");
}

TEST(Dispatch, AllInputsAndBounds) {
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      for (const auto& extents :
           std::vector<std::vector<std::uint64_t>>{{9001}, {13, 20, 36}, {11, 14, 37}}) {
        const Sample sample = make_sample(input, dtype, extents);
        const auto bounds = bounds_for(sample);
        for (std::size_t i = 0; i < bounds.size(); i += kSanitized ? 5 : 2) {
          check_all(sample, bounds[i]);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
}

TEST(Dispatch, StepsThatAreNotTwiceTheBound) {
  for (const std::string_view input : {"walk", "normal", "nan_tenth", "fill_blocks", "random_bits"})
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{9001}, {11, 14, 37}})
      for (const double step : {1e-9, 1.5e-3, 4e-3, 1e-42, 3e38})
        check_all(make_sample(input, step == 4e-3 ? Dtype::f64 : Dtype::f32, extents), 1e-3, step);
}

TEST(Dispatch, EverySizeOfALineAndSegments) {
  for (std::uint64_t count = 1; count <= 2500; count += count < 200 ? 1 : 97)
    check_all(make_sample("walk", Dtype::f32, {count}), 1e-3);
  for (const std::uint64_t count : {65535, 65536, 65537, 65568, 2 * 65536 - 1, 3 * 65536 + 33})
    for (const std::string_view input : {"nan_tenth", "fill_blocks"})
      check_all(make_sample(input, count % 3 == 0 ? Dtype::f64 : Dtype::f32, {count}), 1e-3);
}

TEST(Dispatch, ManyShapes) {
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {64, 64},    {65, 63},    {3, 1000},    {1000, 3},  {2, 500},    {8, 8},
      {7, 9},      {5, 7, 11},  {16, 16, 16}, {4, 4, 4},  {3, 3, 3},   {17, 15, 33},
      {3, 50, 60}, {50, 3, 60}, {50, 60, 3},  {20, 2, 2}, {2, 2, 200}, {300, 260}};
  for (const auto& extents : shapes)
    for (const std::string_view input : {"sine", "coast", "nan_tenth", "normal", "zeros", "fill_blocks"})
      for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
        check_all(make_sample(input, dtype, extents), 1e-3);
        if (testing::Test::HasFailure()) return;
      }
}

// Whole numbers with quanta of themselves: residuals of any width, first values that stand aside.
template <class T>
void check_widths() {
  std::mt19937_64 random(4);
  for (unsigned width = 0; width <= 31; ++width)
    for (unsigned base = 0; base <= 31; base += 3) {
      std::vector<T> values(4 * 12 * 32);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const unsigned bits = i / 32 % 3 == 0 ? width : static_cast<unsigned>(random() % (width + 1));
        const auto noise = static_cast<std::int64_t>(random() & cuszp::low_bits(bits));
        const auto level = std::int64_t{1} << base;
        values[i] = static_cast<T>(i / 64 % 2 == 0 ? level + noise : -level - noise);
      }
      check_all(sample_of("widths", values, {4, 12, 32}), 0.5);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(Dispatch, QuantaOfEveryWidth) {
  check_widths<float>();
  check_widths<double>();
}

// Single values where rounding, saturation and the loss of -2^31 set in, among ordinary ones.
template <class T>
void check_edges() {
  std::vector<T> edges;
  for (const double edge :
       {0x1p31, 0x1p30, 0x1p24, 0x1p23, 1.5, 1.0, 0.5, 2.5, 0x1p31 - 1, 0x1p31 - 128, 1e10, 1e300})
    for (const double sign : {1.0, -1.0}) {
      const T x = static_cast<T>(sign * edge);
      for (const T neighbour : {x, std::nextafter(x, T(0)), std::nextafter(x, 2 * x)})
        edges.push_back(neighbour);
    }
  edges.push_back(std::numeric_limits<T>::quiet_NaN());
  edges.push_back(-T(0));
  for (const T other : {T(0), T(-1), T(0x1p30), T(-0x1p30)}) {
    std::vector<T> values(8 * 4 * edges.size(), other);
    for (std::size_t i = 0; i < edges.size(); ++i) values[32 * i + i % 32] = edges[i];
    const std::vector<std::uint64_t> extents = {8, edges.size(), 4};
    for (const double bound : {0.5, 0.25, 0.3}) {
      check_all(sample_of("edges", values, extents), bound);
      check_all(sample_of<T>("edges", values, extents, other), bound);
    }
  }
}

TEST(Dispatch, QuantaAtTheEdges) {
  check_edges<float>();
  check_edges<double>();
}

// Bounds whose double is infinite, and subnormal ones.
TEST(Dispatch, BoundsWithoutAStep) {
  for (const double bound : {1e-300, 1e-45, 1e-40, 1e-38, 1.2e-38, 1.7e38, 1.8e38, 3e38, 1e300})
    check_all(sample_of<float>("tiny", std::vector<float>(256, 1e-38f), {4, 8, 8}), bound);
  for (const double bound : {5e-324, 1e-310, 2.2e-308, 2.3e-308, 8e307, 1e308})
    check_all(sample_of<double>("tiny", std::vector<double>(256, 1e-307), {4, 8, 8}), bound);
}

// Any bytes that the metadata lets pass, whether an encoder writes them or not.
template <class T, class Layout>
void check_reading(const Plan& plan, const Layout& layout, const std::vector<std::uint64_t>& extents) {
  constexpr unsigned kDim = Layout::kDim;
  std::mt19937 random(5);
  const Encoding encoding{*Field::make(dtype_of<T>(), extents), 1e-3, {}, {}};
  Payload payload(layout.metadata_bytes());
  std::uint64_t bytes = payload.size();
  for (std::uint64_t block = 0; block < layout.blocks(); ++block) {
    cuszp::Shape shape;
    do payload[block] = static_cast<std::byte>(random() & 0xff);
    while (!cuszp::read_shape<kDim>(payload[block], plan.mode, shape));
    bytes += shape.bytes(cuszp::Block<kDim>::kPlaneBytes);
  }
  while (payload.size() < bytes) payload.push_back(static_cast<std::byte>(random() & 0xff));
  payload.resize(bytes + 8);
  store_le(payload.data() + bytes, std::uint64_t{kDim} << 56 | bytes);
  const std::vector<T> expected = ByValue<T, Layout>(encoding, plan, layout).decode(payload.data());
  for (const Kernels* kernels : available_kernels())
    EXPECT_TRUE(same_bits(read_payload<T>(encoding, plan, *kernels, payload), expected)) << kernels->name;
}

template <class T>
void check_reading(const Plan& plan) {
  if (plan.dim == 1) check_reading<T>(plan, cuszp::Line(32 * 1000 + 9, !plan.v1), {32 * 1000 + 9});
  if (plan.dim == 2) check_reading<T>(plan, cuszp::Tiles<2>(1, 130, 167), {130, 167});
  if (plan.dim == 3) check_reading<T>(plan, cuszp::Tiles<3>(30, 40, 51), {30, 40, 51});
}

TEST(Dispatch, AnyBytesAreReadAlike) {
  for (const Plan& plan : kPlans) {
    check_reading<float>(plan);
    check_reading<double>(plan);
  }
}

}  // namespace
}  // namespace homz::test
