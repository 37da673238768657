// A stream plus values on the GPU: the same bytes as on the host, header included, and the same values.
#include "tests/gpu/operands.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {
namespace {

struct Accumulated {
  Outcome result;
  std::vector<std::byte> decoded;
};

Accumulated on_host(const Stream& stream, const Sample& values, double bound) {
  const auto open = open_stream(registry(), stream, host());
  if (!open.ok()) return {{open.status(), {}}, {}};
  const auto needs = combination_footprint({&*open, 1}, host());
  if (!needs.ok()) return {{needs.status(), {}}, {}};
  Stream result(needs->stream_bytes), scratch(needs->scratch_bytes), decoded(values.data.size());
  std::uint64_t bytes = 0;
  const Status status = accumulate(*open, values.bytes(), bound, result, decoded, scratch, &bytes, host());
  result.resize(bytes);
  return {{status, result}, decoded};
}

enum class Decoded { no, aside, in_place };

Accumulated on_gpu(const Stream& stream, const Sample& values, double bound, Decoded decodes,
                   const GpuVariation& how) {
  const GpuOperands operands({stream}, how);
  if (!operands.status.ok()) return {{operands.status, {}}, {}};
  const GpuBlock fault(sizeof(std::uint32_t), 0, how.poison, how.stream);
  const GpuBlock size(sizeof(std::uint64_t), 0, how.poison, how.stream);
  const Exec exec = device(how.stream, reinterpret_cast<std::uint32_t*>(fault.bytes().data()));
  const auto needs = combination_footprint(operands.open, exec);
  if (!needs.ok()) return {{needs.status(), {}}, {}};
  const GpuBlock result(needs->stream_bytes, how.misalign, how.poison, how.stream);
  const GpuBlock scratch(needs->scratch_bytes, how.misalign, how.poison, how.stream);
  const GpuBlock data(values.data.size(), how.misalign, how.poison, how.stream);
  const GpuBlock aside(decodes == Decoded::aside ? values.data.size() : 0, how.misalign, how.poison,
                       how.stream);
  data.put(values.bytes());
  const Bytes decoded = decodes == Decoded::no      ? Bytes()
                        : decodes == Decoded::aside ? aside.bytes()
                                                    : data.bytes();
  const Status status =
      accumulate(operands.open[0], data.bytes(), bound, result.bytes(), decoded, scratch.bytes(),
                 reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec);
  const Status waited = gpu::wait(how.stream);
  EXPECT_TRUE(waited.ok()) << waited.message();
  if (!status.ok() || !waited.ok()) return {{status.ok() ? waited : status, {}}, {}};
  EXPECT_TRUE(result.intact() && scratch.intact() && data.intact() && aside.intact()) << "written outside";
  const auto bytes = number_in<std::uint64_t>(size);
  const auto code = static_cast<Code>(number_in<std::uint32_t>(fault));
  EXPECT_EQ(bytes == 0, code != Code::ok);
  if (code != Code::ok) return {{Status(code, "told by the GPU"), {}}, {}};
  Stream made = result.get();
  made.resize(std::min<std::uint64_t>(bytes, made.size()));
  return {
      {Status(), made},
      decodes == Decoded::no ? std::vector<std::byte>() : (decodes == Decoded::aside ? aside : data).get()};
}

void check(const Stream& stream, const Sample& values, double bound, const std::string& name,
           const GpuVariation& how = {}) {
  const Accumulated expected = on_host(stream, values, bound);
  for (const Decoded decodes : {Decoded::no, Decoded::aside, Decoded::in_place}) {
    SCOPED_TRACE(testing::Message() << name << " + " << values.name << " " << to_string(values.field.dtype)
                                    << " " << values.field.shape_text() << ", bound " << bound << ", decoded "
                                    << static_cast<int>(decodes));
    const Accumulated made = on_gpu(stream, values, bound, decodes, how);
    ASSERT_EQ(made.result.status.code(), expected.result.status.code())
        << made.result.status.message() << "; host: " << expected.result.status.message();
    if (!expected.result.status.ok()) continue;
    ASSERT_EQ(made.result.bytes.size(), expected.result.bytes.size());
    const auto differs = std::ranges::mismatch(made.result.bytes, expected.result.bytes);
    ASSERT_TRUE(made.result.bytes == expected.result.bytes)
        << "first difference at byte " << differs.in1 - made.result.bytes.begin();
    ASSERT_TRUE(decodes == Decoded::no || made.decoded == expected.decoded) << "other values";
  }
}

void check(const Sample& of_stream, const Sample& values, double step, double bound, unsigned dim = 0,
           const GpuVariation& how = {}) {
  check(coded(with_step(step, dim), of_stream, bound), values, bound, of_stream.name, how);
}

TEST(GpuAccumulate, AllInputs) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents : kShapes)
      for (const std::string_view a : {"walk", "normal", "nan_tenth", "fill_blocks", "random_bits"})
        for (const std::string_view b :
             {"walk", "constant", "sine", "infinities", "fill_blocks", "random_bits"}) {
          Sample x = make_sample(a, dtype, extents), y = make_sample(b, dtype, extents);
          x.fill_bits = y.fill_bits;
          for (const double bound : {1e-4, 0.05}) {
            check(x, y, 2 * bound, bound);
            if (HasFatalFailure()) return;
          }
        }
}

TEST(GpuAccumulate, EveryWidth) {
  HOMZ_NEEDS_GPU();
  for (unsigned width = 0; width <= 30; ++width)
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{4500}, {70, 66}, {17, 18, 20}}) {
      check(quanta_sample<double>(extents, width, width), quanta_sample<double>(extents, width, width + 31),
            1, 0.5);
      if (HasFatalFailure()) return;
    }
}

TEST(GpuAccumulate, EverySizeAndDim) {
  HOMZ_NEEDS_GPU();
  for (std::uint64_t count = 1; count <= 4500; count += count < 70 ? 1 : 211) {
    check(make_sample("walk", Dtype::f32, {count}), make_sample("normal", Dtype::f32, {count}), 0.01, 0.01);
    if (HasFatalFailure()) return;
  }
  for (const auto& extents : kShapes)
    for (unsigned dim = 1; dim <= extents.size(); ++dim)
      check(make_sample("sine", Dtype::f32, extents), make_sample("walk", Dtype::f32, extents), 0.01, 0.01,
            dim);
}

TEST(GpuAccumulate, ManyChunks) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents :
         std::vector<std::vector<std::uint64_t>>{{5000000}, {1500, 2400}, {100, 130, 250}})
      for (const std::string_view b : {"walk", "normal", "nan_tenth"}) {
        Sample x = make_sample("sine", dtype, extents), y = make_sample(b, dtype, extents);
        x.fill_bits = y.fill_bits;
        check(x, y, 0.001, 0.001);
        if (HasFatalFailure()) return;
      }
}

TEST(GpuAccumulate, QuantaThatLeaveTheRange) {
  HOMZ_NEEDS_GPU();
  std::vector<double> large(5000), small(5000);
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = i % 3 == 0 ? 1073741823.0 : -1073741823.0;
    small[i] = static_cast<double>(i % 5) - 2;
  }
  check(sample_of("large", large), sample_of("small", small), 1, 0.5);
  check(sample_of("large", large), sample_of("large", large), 1, 0.5);
}

// Allowed in a stream, though ours never has them.
TEST(GpuAccumulate, DifferencesAlongAxesThatAreNotThere) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f64, {8192});
  const homcomp::Layout layout(2);
  for (const unsigned flags : {0x04u, 0x08u, 0x0cu}) {
    Stream stream = coded(with_step(0.01), sample, 0.01);
    stream[StreamHeader::kBytes + layout.data] |= static_cast<std::byte>(flags);
    fix_homcomp_payload(sample.field, 1, stream, StreamHeader::kBytes);
    check(stream, sample, 0.01, "axes that are not there");
  }
}

TEST(GpuAccumulate, FillValues) {
  HOMZ_NEEDS_GPU();
  for (const auto& extents : kShapes) {
    const std::vector<Sample> samples = masked_samples(extents);
    check(samples[0], samples[1], 0.002, 0.001);
    check(samples[1], samples[2], 0.002, 0.001);
  }
}

TEST(GpuAccumulate, AtAnyAlignment) {
  HOMZ_NEEDS_GPU();
  const Sample x = make_sample("walk", Dtype::f32, {50000}), y = make_sample("sine", Dtype::f32, {50000});
  for (unsigned misalign = 0; misalign < 32; misalign += 8)
    for (const int poison : {0, 0xff}) check(x, y, 0.01, 0.01, 0, {misalign, std::byte(poison)});
}

TEST(GpuAccumulate, OfNoValues) {
  HOMZ_NEEDS_GPU();
  const Sample sample{"empty", *Field::make(Dtype::f32, std::vector<std::uint64_t>{0}), {}, std::nullopt};
  check(coded("homcomp", sample, 0.1), sample, 0.1, "no values");
}

TEST(GpuAccumulate, RefusesDamagedStreams) {
  HOMZ_NEEDS_GPU();
  std::mt19937_64 random(11);
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{30000}, {100, 70}, {40, 20, 33}})
    for (const std::string_view input : {"walk", "nan_tenth"}) {
      const Sample sample = make_sample(input, Dtype::f32, extents),
                   values = make_sample("sine", Dtype::f32, extents);
      const Stream good = coded("homcomp:step=0.01", sample, 0.01);
      for (unsigned round = 0; round < 60; ++round) {
        Stream bad = good;
        const std::size_t reach =
            round % 3 == 0 ? std::min<std::size_t>(good.size() - 128, 400) : good.size() - 128;
        for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
          bad[128 + random() % reach] ^= static_cast<std::byte>(1u << random() % 8);
        if (round % 2 == 1)
          fix_homcomp_payload(sample.field, static_cast<unsigned>(extents.size()), bad, 128);
        const Accumulated expected = on_host(bad, values, 0.01);
        const Accumulated made = on_gpu(bad, values, 0.01, Decoded::in_place, {});
        SCOPED_TRACE(testing::Message()
                     << input << ", round " << round << ": " << expected.result.status.message());
        ASSERT_EQ(made.result.status.ok(), expected.result.status.ok());
        if (!expected.result.status.ok()) continue;
        ASSERT_TRUE(made.result.bytes == expected.result.bytes && made.decoded == expected.decoded);
      }
    }
}

TEST(GpuAccumulate, CanBeCapturedInAGraph) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {600000});
  const Stream operand = coded(with_step(0.01), sample, 0.01);
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream.ok());
  const GpuVariation how{0, std::byte{0xa5}, stream->get()};
  const GpuOperands operands({operand}, how);
  const Exec exec = device(stream->get());
  const auto needs = combination_footprint(operands.open, exec);
  ASSERT_TRUE(needs.ok());
  const GpuBlock out(needs->stream_bytes, 0, how.poison, how.stream),
      data(sample.data.size(), 0, how.poison, how.stream);
  const GpuBlock scratch(needs->scratch_bytes, 0, how.poison, how.stream), size(8, 0, how.poison, how.stream);
  data.put(sample.bytes());
  ASSERT_TRUE(gpu::wait(how.stream).ok());
  ASSERT_TRUE(gpu::Graph::begin(how.stream).ok());
  ASSERT_TRUE(accumulate(operands.open[0], data.bytes(), 0.01, out.bytes(), {}, scratch.bytes(),
                         reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec)
                  .ok());
  const auto graph = gpu::Graph::end(how.stream);
  ASSERT_TRUE(graph.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(graph->launch(how.stream).ok());
  Stream made = out.get();
  made.resize(number_in<std::uint64_t>(size));
  EXPECT_TRUE(made == on_host(operand, sample, 0.01).result.bytes);
}

}  // namespace
}  // namespace homz::test
