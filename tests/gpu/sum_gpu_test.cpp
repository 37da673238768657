// Linear combinations of streams on the GPU: the same bytes as on the host, header included; and damaged or
// unlike operands.
#include <limits>

#include "tests/gpu/operands.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {
namespace {

Outcome host_sum(const Combination& combination, const std::vector<Stream>& streams) {
  const auto operands = opened_on_host(streams);
  if (!operands.ok()) return {operands.status(), {}};
  const auto made = combine(combination, *operands, host());
  if (!made.ok()) return {made.status(), {}};
  const ConstBytes bytes = made->stream();
  return {Status(), {bytes.begin(), bytes.end()}};
}

Outcome gpu_sum(const Combination& combination, const std::vector<Stream>& streams,
                const GpuVariation& how = {}) {
  return gpu_result(streams, how,
                    [&](const auto& operands, Bytes stream, Bytes scratch, std::uint64_t* bytes, Exec exec) {
                      return combine_streams(combination, operands, stream, scratch, bytes, exec);
                    });
}

void check(const Terms& terms, const std::vector<Stream>& streams, const std::string& name,
           const GpuVariation& how = {}) {
  SCOPED_TRACE(testing::Message() << name << ", " << terms.factors.size() << " operands, first factor "
                                  << terms.factors[0] << ", shift " << terms.shift << ", scale "
                                  << terms.scale);
  const Combination combination = terms.combination();
  expect_same(gpu_sum(combination, streams, how), host_sum(combination, streams));
}

// The samples in turn, as many as there are factors.
void check(const Terms& terms, const std::vector<Sample>& samples, double step, double bound,
           unsigned dim = 0, const GpuVariation& how = {}) {
  const Sample& first = samples[0];
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < terms.factors.size(); ++i)
    streams.push_back(coded(with_step(step, dim), samples[i % samples.size()], bound));
  check(terms, streams,
        first.name + " " + std::string(to_string(first.field.dtype)) + " " + first.field.shape_text() +
            ", dim " + std::to_string(dim) + ", bound " + std::to_string(bound),
        how);
}

TEST(GpuSum, AllInputs) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : kShapes) {
        const Sample sample = make_sample(input, dtype, extents);
        for (const double bound : common_bounds_for(sample)) {
          const float step = static_cast<float>(bound) / 1.001f;
          if (!(step > 0) || step * 0.5 > 1e30) continue;
          check(kTerms[0], {sample}, step, bound);
          check(kTerms[1], {sample}, step, bound);
          if (HasFatalFailure()) return;
        }
      }
}

TEST(GpuSum, MixedInputs) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents : kShapes) {
      std::vector<Sample> samples;
      for (const std::string_view input : {"walk", "normal", "sine", "nan_tenth"}) {
        samples.push_back(make_sample(input, dtype, extents));
        samples.back().fill_bits.reset();
      }
      for (const Terms& terms : kTerms)
        for (const double bound : {1e-4, 0.01, 0.5})
          for (unsigned dim = 1; dim <= extents.size(); ++dim) {
            check(terms, samples, bound * 2, bound, dim);
            if (HasFatalFailure()) return;
          }
    }
}

TEST(GpuSum, EveryWidth) {
  HOMZ_NEEDS_GPU();
  for (unsigned width = 0; width <= 30; ++width)
    for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{4500}, {70, 66}, {17, 18, 20}}) {
      std::vector<Sample> samples;
      for (unsigned seed = 0; seed < 3; ++seed)
        samples.push_back(quanta_sample<double>(extents, width, width + 31 * seed));
      for (const Terms& terms : kTerms) {
        check(terms, samples, 1, 0.5);
        if (HasFatalFailure()) return;
      }
    }
}

TEST(GpuSum, EverySizeOfALine) {
  HOMZ_NEEDS_GPU();
  const auto at = [](std::uint64_t count, const Terms& terms) {
    check(terms, {make_sample("walk", Dtype::f32, {count}), make_sample("normal", Dtype::f32, {count})}, 0.01,
          0.01);
  };
  for (std::uint64_t count = 1; count <= 4500; count += count < 140 ? 1 : 211) {
    at(count, kTerms[count % 2]);
    if (HasFatalFailure()) return;
  }
  for (const std::uint64_t count : {4095, 4096, 4097, 8191, 8193, 262143, 262144, 262145, 700000})
    for (const unsigned terms : {0, 3, 6}) {
      at(count, kTerms[terms]);
      if (HasFatalFailure()) return;
    }
}

TEST(GpuSum, ManyChunksOfEachKind) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const auto& extents :
         std::vector<std::vector<std::uint64_t>>{{3000000}, {1500, 1400}, {100, 130, 150}}) {
      std::vector<Sample> samples;
      for (const std::string_view input : {"walk", "normal", "sine"})
        samples.push_back(make_sample(input, dtype, extents));
      for (Sample& sample : samples) sample.fill_bits.reset();
      for (const unsigned terms : {0, 5, 6, 7, 9, 10}) {
        check(kTerms[terms], samples, 0.001, 0.001);
        if (HasFatalFailure()) return;
      }
    }
}

// Many chunks a thread block, of which some are added by value: with one that waits for its place before
// them, and one behind.
TEST(GpuSum, ChunksByPlanesAmongChunksByValue) {
  HOMZ_NEEDS_GPU();
  constexpr std::uint64_t kCount = 20000000, kChunk = 4096;
  for (const unsigned share : {1, 4, 12}) {  // of 13
    Sample sample = make_sample("walk", Dtype::f32, {kCount});
    sample.name += " with NaN in chunks";
    auto* const values = reinterpret_cast<float*>(sample.data.data());
    for (std::uint64_t chunk = 0; chunk < kCount / kChunk; ++chunk)
      if (chunk * 7919 % 13 < share)
        values[kChunk * chunk + chunk % kChunk] = std::numeric_limits<float>::quiet_NaN();
    for (const unsigned terms : {0, 5, 6}) {
      check(kTerms[terms], {sample}, 0.001, 0.001);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuSum, AsManyAsCanBe) {
  HOMZ_NEEDS_GPU();
  const std::vector<Sample> samples = {make_sample("walk", Dtype::f32, {100000})};
  check({std::vector<std::int32_t>(32, 1)}, samples, 0.01, 0.01);
  const std::vector<Stream> streams(33, coded("homcomp:step=0.01", samples[0], 0.01));
  const std::vector<std::int32_t> factors(33, 1);
  EXPECT_EQ(gpu_sum({factors}, streams).status.code(), Code::unsupported);
}

TEST(GpuSum, FillValues) {
  HOMZ_NEEDS_GPU();
  for (const auto& extents : kShapes)
    for (const Terms& terms : kTerms) {
      check(terms, masked_samples(extents), 0.002, 0.001);
      if (HasFatalFailure()) return;
    }
}

TEST(GpuSum, AtAnyAlignment) {
  HOMZ_NEEDS_GPU();
  const std::vector<Sample> samples = {make_sample("walk", Dtype::f32, {50000})};
  for (unsigned misalign = 0; misalign < 32; misalign += 8)
    for (const int poison : {0, 0xff})
      check(kTerms[6], samples, 0.01, 0.01, 0, {misalign, std::byte(poison)});
}

TEST(GpuSum, NamesSharedStepsThatDiffer) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {50000});
  const std::vector<Stream> streams = {coded("homcomp:step=0.01", sample, 0.01),
                                       coded("homcomp:step=0.02", sample, 0.01)};
  check(kTerms[0], streams, "steps that differ");
  check({{1}, 1e12}, {streams[0]}, "a shift beyond all quanta");
  check({{1}, 0, 1e300}, {streams[0]}, "a step beyond all numbers");
}

TEST(GpuSum, OfNoValues) {
  HOMZ_NEEDS_GPU();
  Sample sample{"empty", *Field::make(Dtype::f32, std::vector<std::uint64_t>{0}), {}, std::nullopt};
  const auto made = compress_resolved(compression_of("homcomp", sample, 0.1), sample.bytes(), host());
  ASSERT_TRUE(made.ok());
  const Stream stream(made->stream().begin(), made->stream().end());
  check(kTerms[0], {stream, stream}, "no values");
}

// Constant fields and noise, too, so that there are quanta to add.
TEST(GpuSum, EncodesAllDataIfAsked) {
  HOMZ_NEEDS_GPU();
  const std::vector<float> constant(5000, 2.5f);
  std::vector<Sample> samples = {sample_of("constant", constant), make_sample("walk", Dtype::f32, {9001})};
  for (const std::string_view input : input_names())
    samples.push_back(make_sample(input, Dtype::f64, {67, 141}));
  for (const Sample& sample : samples)
    for (const double bound : {1e-9, 1e-3}) {
      SCOPED_TRACE(testing::Message() << sample.name << ", bound " << bound);
      Compression compression = compression_of("homcomp", sample, bound);
      compression.always_coded = true;
      const Outcome made = gpu_encode(compression, sample.bytes());
      const auto expected = compress_resolved(compression, sample.bytes(), host());
      ASSERT_TRUE(made.status.ok() && expected.ok()) << made.status.message();
      ASSERT_TRUE(std::ranges::equal(made.bytes, expected->stream()));
    }
}

// Whatever is wrong: no fault of the device, no write outside, and no other verdict than the host's.
TEST(GpuSum, RefusesDamagedOperands) {
  HOMZ_NEEDS_GPU();
  std::mt19937_64 random(7);
  for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{30000}, {100, 70}, {40, 20, 33}})
    for (const std::string_view input : {"walk", "normal", "nan_tenth"}) {
      const Sample sample = make_sample(input, Dtype::f32, extents);
      const Stream good = coded("homcomp:step=0.01", sample, 0.01);
      for (unsigned round = 0; round < 90; ++round) {
        Stream bad = good;
        const std::size_t reach =
            round % 3 == 0 ? std::min<std::size_t>(good.size() - 128, 400) : good.size() - 128;
        for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
          bad[128 + random() % reach] ^= static_cast<std::byte>(1u << random() % 8);
        if (round % 2 == 1)
          fix_homcomp_payload(sample.field, static_cast<unsigned>(extents.size()), bad, 128);
        const std::vector<std::int32_t> factors = {1, round % 4 < 2 ? 1 : 3};
        const Outcome expected = host_sum({factors}, {good, bad});
        const Outcome made = gpu_sum({factors}, {good, bad});
        SCOPED_TRACE(testing::Message() << input << ", round " << round << ": " << expected.status.message());
        ASSERT_EQ(made.status.ok(), expected.status.ok());
        if (expected.status.ok()) {
          ASSERT_TRUE(made.bytes == expected.bytes);
        }
      }
    }
}

TEST(GpuSum, CanBeCapturedInAGraph) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {600000});
  const std::vector<Stream> streams(2, coded("homcomp:step=0.01", sample, 0.01));
  const Combination combination = kTerms[0].combination();
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream.ok());
  const GpuVariation how{0, std::byte{0xa5}, stream->get()};
  const GpuOperands operands(streams, how);
  const Exec exec = device(stream->get());
  const auto needs = combination_footprint(operands.open, exec);
  ASSERT_TRUE(needs.ok());
  const GpuBlock out(needs->stream_bytes, 0, how.poison, how.stream);
  const GpuBlock scratch(needs->scratch_bytes, 0, how.poison, how.stream), size(8, 0, how.poison, how.stream);
  ASSERT_TRUE(gpu::wait(how.stream).ok());
  ASSERT_TRUE(gpu::Graph::begin(how.stream).ok());
  ASSERT_TRUE(combine_streams(combination, operands.open, out.bytes(), scratch.bytes(),
                              reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec)
                  .ok());
  const auto graph = gpu::Graph::end(how.stream);
  ASSERT_TRUE(graph.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(graph->launch(how.stream).ok());
  Stream made = out.get();
  made.resize(number_in<std::uint64_t>(size));
  EXPECT_TRUE(made == host_sum(combination, streams).bytes);
}

}  // namespace
}  // namespace homz::test
