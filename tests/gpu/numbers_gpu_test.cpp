// Numbers of streams on the GPU, and the lesser or the greater of two: the bits that the host gives.
#include "core/bits.hpp"
#include "tests/gpu/operands.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {
namespace {

Outcome host_extremum(Extremum which, const std::vector<Stream>& streams) {
  const auto operands = opened_on_host(streams);
  if (!operands.ok()) return {operands.status(), {}};
  const auto made = extremum(which, (*operands)[0], (*operands)[1], host());
  if (!made.ok()) return {made.status(), {}};
  const ConstBytes bytes = made->stream();
  return {Status(), {bytes.begin(), bytes.end()}};
}

Outcome gpu_extremum(Extremum which, const std::vector<Stream>& streams, const GpuVariation& how = {}) {
  return gpu_result(
      streams, how, [&](const auto& operands, Bytes stream, Bytes scratch, std::uint64_t* bytes, Exec exec) {
        return extremum_of_streams(which, operands[0], operands[1], stream, scratch, bytes, exec);
      });
}

// The bits of numbers, or why there are none.
struct Bits {
  Code code = Code::ok;
  std::vector<std::uint64_t> bits;
  bool operator==(const Bits&) const = default;
};

Bits bits_of_moments(const Result<Moments>& found) {
  if (!found.ok()) return {found.status().code(), {}};
  return {Code::ok,
          {found->count, found->fill, bits_of(found->sum), bits_of(found->mean), bits_of(found->variance),
           bits_of(found->deviation), bits_of(found->norm), bits_of(found->min), bits_of(found->max)}};
}
Bits bits_of_dot(const Result<double>& found) {
  if (!found.ok()) return {found.status().code(), {}};
  return {Code::ok, {bits_of(*found)}};
}

// Moments of the first stream, and the dot product of it and the last.
Bits numbers_of(const std::vector<OpenStream>& operands, Exec exec) {
  Bits bits = bits_of_moments(moments(operands.front(), exec));
  const Bits product = bits_of_dot(dot(operands.front(), operands.back(), exec));
  bits.bits.insert(bits.bits.end(), product.bits.begin(), product.bits.end());
  if (bits.code == Code::ok) bits.code = product.code;
  return bits;
}

void check_numbers(const std::vector<Stream>& streams, const GpuVariation& how = {}) {
  const auto on_host = opened_on_host(streams);
  ASSERT_TRUE(on_host.ok()) << on_host.status().message();
  const GpuOperands on_gpu(streams, how);
  ASSERT_TRUE(on_gpu.status.ok()) << on_gpu.status.message();
  const Bits expected = numbers_of(*on_host, host()), made = numbers_of(on_gpu.open, device(how.stream));
  ASSERT_EQ(made.code, expected.code);
  ASSERT_EQ(made.bits, expected.bits);
  for (const auto& block : on_gpu.blocks) ASSERT_TRUE(block->intact());
}

void check_extrema(const std::vector<Stream>& streams, const GpuVariation& how = {}) {
  for (const Extremum which : {Extremum::least, Extremum::greatest}) {
    SCOPED_TRACE(which == Extremum::least ? "least" : "greatest");
    expect_same(gpu_extremum(which, streams, how), host_extremum(which, streams));
    if (testing::Test::HasFatalFailure()) return;
  }
}

void check(const Sample& a, const Sample& b, double step, double bound, unsigned dim = 0,
           const GpuVariation& how = {}) {
  SCOPED_TRACE(testing::Message() << a.name << ", " << b.name << " " << to_string(a.field.dtype) << " "
                                  << a.field.shape_text() << ", dim " << dim << ", bound " << bound);
  const std::vector<Stream> streams = {coded(with_step(step, dim), a, bound),
                                       coded(with_step(step, dim), b, bound)};
  check_numbers(streams, how);
  if (!testing::Test::HasFatalFailure()) check_extrema(streams, how);
}

TEST(GpuNumbers, AllInputs) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : kShapes) {
        const Sample a = make_sample(input, dtype, extents);
        Sample b = make_sample("walk", dtype, extents);
        b.fill_bits = a.fill_bits;
        for (const double bound : common_bounds_for(a)) {
          const float step = static_cast<float>(bound) / 1.001f;
          if (!(step > 0) || step * 0.5 > 1e30) continue;
          check(a, b, step, bound);
          check(b, a, step, bound);
          if (HasFatalFailure()) return;
        }
      }
}

// Values without quanta on both sides, where NaN, infinities and zeros of either sign meet.
TEST(GpuNumbers, ExactValuesMeet) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents : kShapes)
      for (const std::string_view a : {"nan_tenth", "random_bits", "infinities", "fill_blocks", "constant"})
        for (const std::string_view b :
             {"nan_tenth", "random_bits", "infinities", "fill_blocks", "constant"}) {
          Sample x = make_sample(a, dtype, extents);
          const Sample y = make_sample(b, dtype, extents);
          x.fill_bits = y.fill_bits;
          check(x, y, 0.002, 0.001);
          if (HasFatalFailure()) return;
        }
}

TEST(GpuNumbers, OrdersThatDiffer) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents : kShapes)
      for (const std::string_view a : {"walk", "normal", "sine"})
        for (const std::string_view b : {"walk", "normal", "sine"})
          for (const double bound : {1e-4, 0.01, 0.5})
            for (unsigned dim = 1; dim <= extents.size(); ++dim) {
              Sample x = make_sample(a, dtype, extents), y = make_sample(b, dtype, extents);
              x.fill_bits = y.fill_bits = std::nullopt;
              check(x, y, 2 * bound, bound, dim);
              if (HasFatalFailure()) return;
            }
}

TEST(GpuNumbers, EveryWidth) {
  HOMZ_NEEDS_GPU();
  for (unsigned width = 0; width <= 30; ++width)
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{4500}, {70, 66}, {17, 18, 20}}) {
      check(quanta_sample<double>(extents, width, width), quanta_sample<double>(extents, width, width + 31),
            1, 0.5);
      if (width <= 24)
        check(quanta_sample<float>(extents, width, width),
              quanta_sample<float>(extents, 24 - width, width + 3), 1, 0.5);
      if (HasFatalFailure()) return;
    }
}

TEST(GpuNumbers, FillValues) {
  HOMZ_NEEDS_GPU();
  for (const auto& extents : kShapes) {
    const std::vector<Sample> samples = masked_samples(extents);
    for (unsigned i = 0; i < 3; ++i) check(samples[i], samples[(i + 1) % 3], 0.002, 0.001);
    if (HasFatalFailure()) return;
  }
}

// In raw chunks, and values that are stored exactly and were computed to be the fill value.
TEST(GpuNumbers, FillAmongExactValues) {
  HOMZ_NEEDS_GPU();
  for (const auto& extents : kShapes) {
    const std::uint64_t count = Field::make(Dtype::f32, extents)->count();
    std::mt19937 random(5);
    std::vector<float> noise(count), a(count), b(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      noise[i] = i % 10 == 3 ? 0x1p101f : value_of<float>(static_cast<std::uint32_t>(random()));
      a[i] = i % 30 == 7 ? 0x1p100f : static_cast<float>(i % 100);
      b[i] = i % 60 == 7 ? 0x1p100f : static_cast<float>(i % 10);
    }
    const auto coded_sample = [&](const std::vector<float>& values) {
      return coded("homcomp:step=0.01", sample_of("", values, extents, std::optional(0x1p101f)), 0.01);
    };
    const Stream x = coded_sample(a), y = coded_sample(b), raw = coded_sample(noise);
    const std::int32_t ones[] = {1, 1};
    const auto sum = combine({ones}, *opened_on_host({x, y}), host());
    ASSERT_TRUE(sum.ok()) << sum.status().message();
    const Stream becomes_fill(sum->stream().begin(), sum->stream().end());
    ASSERT_NE(moments((*opened_on_host({becomes_fill}))[0], host())->fill, 0u);
    ASSERT_NE(moments((*opened_on_host({raw}))[0], host())->fill, 0u);
    for (const auto& streams : std::vector<std::vector<Stream>>{
             {becomes_fill, x}, {raw, x}, {x, raw}, {raw, becomes_fill}, {raw, raw}}) {
      check_numbers(streams);
      check_extrema(streams);
      if (HasFatalFailure()) return;
    }
  }
}

// Quanta that no encoder makes, 2^30 and beyond.
TEST(GpuNumbers, ForgedQuanta) {
  HOMZ_NEEDS_GPU();
  for (const auto& extents : kShapes) {
    const unsigned dim = static_cast<unsigned>(extents.size());
    Sample sample = make_sample("walk", Dtype::f32, extents);
    put(sample.data, 0, bits_of(5.0f));  // so that there is a base
    const Stream good = coded("homcomp:step=0.01", sample, 0.01);
    const homcomp::Grid grid(sample.field, dim);
    const std::size_t chunk = kHeaderBytes + homcomp::Layout(grid.chunks()).data;
    ASSERT_NE(std::to_integer<unsigned>(good[chunk]) & homcomp::ChunkHead::kHasBase, 0u);
    for (const std::uint32_t base : {0x3fffffffu, 0x40000000u, 0x7fffffffu, 0x80000000u, 0xc0000000u}) {
      SCOPED_TRACE(base);
      Stream forged = good;
      put(forged, chunk + homcomp::ChunkHead::kBytes, base);
      fix_homcomp_payload(sample.field, dim, forged, kHeaderBytes);
      check_numbers({forged, good});
      check_numbers({forged, forged});
      check_extrema({forged, good});
      check_extrema({good, forged});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuNumbers, EverySizeOfALine) {
  HOMZ_NEEDS_GPU();
  for (std::uint64_t count = 1; count <= 4500; count += count < 70 ? 1 : 211) {
    check(make_sample("walk", Dtype::f32, {count}), make_sample("normal", Dtype::f32, {count}), 0.01, 0.01);
    if (HasFatalFailure()) return;
  }
  for (const std::uint64_t count : {4095, 4096, 4097, 8191, 8193, 262143, 262144, 262145, 700000}) {
    check(make_sample("walk", Dtype::f32, {count}), make_sample("nan_tenth", Dtype::f32, {count}), 0.01,
          0.01);
    if (HasFatalFailure()) return;
  }
}

// More of them than a GPU has room for at once.
TEST(GpuNumbers, ManyChunksOfEachKind) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents :
         std::vector<std::vector<std::uint64_t>>{{5000000}, {2100, 2000}, {100, 230, 200}})
      for (const std::string_view other : {"sine", "normal", "random_bits"}) {
        Sample x = make_sample("walk", dtype, extents), y = make_sample(other, dtype, extents);
        x.fill_bits = y.fill_bits = std::nullopt;
        check(x, y, 0.001, 0.001);
        if (HasFatalFailure()) return;
      }
}

TEST(GpuNumbers, AtAnyAlignment) {
  HOMZ_NEEDS_GPU();
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream.ok());
  const Sample a = make_sample("walk", Dtype::f32, {50000}), b = make_sample("sine", Dtype::f32, {50000});
  for (unsigned misalign = 0; misalign < 32; misalign += 8)
    for (const int poison : {0, 0xff})
      check(a, b, 0.01, 0.01, 0, {misalign, std::byte(poison), misalign == 8 ? stream->get() : nullptr});
}

TEST(GpuNumbers, StepsThatDiffer) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view other : {"sine", "nan_tenth"}) {
    Sample a = make_sample("walk", Dtype::f32, {50000}), b = make_sample(other, Dtype::f32, {50000});
    b.fill_bits = a.fill_bits;
    const std::vector<Stream> streams = {coded("homcomp:step=0.01", a, 0.01),
                                         coded("homcomp:step=0.02", b, 0.01)};
    check_numbers(streams);  // which may differ in products
    EXPECT_EQ(gpu_extremum(Extremum::least, streams).status.code(), Code::invalid_argument);
    check_extrema(streams);
  }
}

TEST(GpuNumbers, OfNoValues) {
  HOMZ_NEEDS_GPU();
  const Sample sample{"empty", *Field::make(Dtype::f32, std::vector<std::uint64_t>{0}), {}, std::nullopt};
  const Stream stream = coded("homcomp", sample, 0.1);
  check_numbers({stream, stream});
  check_extrema({stream, stream});
}

// Whatever is wrong: no fault of the device, no write outside, and no other verdict or number than the
// host's.
TEST(GpuNumbers, RefuseDamagedOperands) {
  HOMZ_NEEDS_GPU();
  std::mt19937_64 random(11);
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{30000}, {100, 70}, {40, 20, 33}})
    for (const std::string_view input : {"walk", "normal", "nan_tenth", "random_bits"}) {
      const Sample sample = make_sample(input, Dtype::f32, extents);
      const Stream good = coded("homcomp:step=0.01", sample, 0.01);
      const std::size_t payload = good.size() - kHeaderBytes;
      for (unsigned round = 0; round < 90; ++round) {
        Stream bad = good;
        const std::size_t reach = round % 3 == 0 ? std::min<std::size_t>(payload, 400) : payload;
        for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
          bad[kHeaderBytes + random() % reach] ^= static_cast<std::byte>(1u << random() % 8);
        if (round % 2 == 1)
          fix_homcomp_payload(sample.field, static_cast<unsigned>(extents.size()), bad, kHeaderBytes);
        SCOPED_TRACE(testing::Message() << input << ", round " << round);
        check_numbers({bad, good});
        check_numbers({good, bad});
        const std::vector<Stream> both = round % 4 < 2 ? std::vector{good, bad} : std::vector{bad, good};
        const Extremum which = round % 8 < 4 ? Extremum::least : Extremum::greatest;
        const Outcome made = gpu_extremum(which, both), expected = host_extremum(which, both);
        ASSERT_EQ(made.status.ok(), expected.status.ok()) << expected.status.message();
        ASSERT_TRUE(made.bytes == expected.bytes);
        if (HasFatalFailure()) return;
      }
    }
}

// Where others would have to be decoded, the error tells so.
TEST(GpuNumbers, OfOtherCodecsAreRefused) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {9001});
  for (const char* codec : {"cuszp", "cuszp2"}) {
    const std::vector<Stream> streams(2, coded(codec, sample, 0.01));
    const GpuOperands operands(streams, {});
    ASSERT_TRUE(operands.status.ok()) << operands.status.message();
    const Status refused[] = {moments(operands.open[0], device(nullptr)).status(),
                              dot(operands.open[0], operands.open[1], device(nullptr)).status(),
                              combination_footprint(operands.open, device(nullptr)).status()};
    for (const Status& status : refused) {
      EXPECT_EQ(status.code(), Code::unsupported);
      EXPECT_NE(status.message().find(codec), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("compress with homcomp"), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace homz::test
