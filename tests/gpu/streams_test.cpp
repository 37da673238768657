// Streams, graphs, damage and values ranges on the GPU.
#include <gtest/gtest.h>

#include <thread>

#include "codecs/builtin.hpp"
#include "core/gpu/value_range.hpp"
#include "tests/gpu/support.hpp"
#include "tests/support/choices.hpp"

namespace homz::test {
namespace {

std::vector<std::string> coders() {
  std::vector<std::string> texts;
  for (const Codec* codec : registry().all())
    if (codec->on_device()) texts.emplace_back(codec->info().name);
  return texts;
}

class GpuStreams : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, GpuStreams, testing::ValuesIn(coders()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(GpuStreams, OneOfTheCallersOwn) {
  HOMZ_NEEDS_GPU();
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  for (const std::string_view input : {"walk", "nan_tenth", "constant", "fill_blocks"})
    check_same(GetParam(), make_sample(input, Dtype::f32, {60, 1000}), 1e-3,
               {0, std::byte{0x5a}, stream->get()});
}

// Four streams at a time, each with work of its own, none waiting for another.
TEST_P(GpuStreams, ManyAtOnce) {
  HOMZ_NEEDS_GPU();
  constexpr unsigned kStreams = 4, kRepeats = 8;
  struct Lane {
    gpu::Stream stream;
    Compression compression;
    std::vector<std::byte> expected;
    std::unique_ptr<GpuBlock> data, out, scratch, size;
  };
  std::vector<Lane> lanes;
  for (unsigned s = 0; s < kStreams; ++s) {
    const Sample sample = make_sample(s % 2 == 0 ? "walk" : "nan_tenth", Dtype::f32, {500000 + 1000 * s});
    Lane lane{std::move(*gpu::Stream::make()), compression_of(GetParam(), sample, 1e-3), {}, {}, {}, {}, {}};
    lane.expected = encode(lane.compression, sample.bytes()).bytes;
    const auto needs = footprint(lane.compression, device(nullptr));
    ASSERT_TRUE(needs.ok()) << needs.status().message();
    CUstream_st* const on = lane.stream.get();
    lane.data = std::make_unique<GpuBlock>(sample.data.size(), 0, std::byte{1}, on);
    lane.out = std::make_unique<GpuBlock>(needs->stream_bytes, 0, std::byte{2}, on);
    lane.scratch = std::make_unique<GpuBlock>(needs->scratch_bytes, 0, std::byte{3}, on);
    lane.size = std::make_unique<GpuBlock>(8, 0, std::byte{4}, on);
    lane.data->put(sample.bytes());
    ASSERT_TRUE(gpu::wait(on).ok());
    lanes.push_back(std::move(lane));
  }
  for (unsigned repeat = 0; repeat < kRepeats; ++repeat)
    for (Lane& lane : lanes) {
      const Status status = encode_stream(
          lane.compression, lane.data->bytes(), lane.out->bytes(), lane.scratch->bytes(),
          reinterpret_cast<std::uint64_t*>(lane.size->bytes().data()), device(lane.stream.get()));
      ASSERT_TRUE(status.ok()) << status.message();
    }
  for (Lane& lane : lanes) {
    std::vector<std::byte> made = lane.out->get();
    made.resize(lane.expected.size());
    EXPECT_TRUE(made == lane.expected);
  }
}

// Encoding and decoding are recorded once and replayed on other data: the size never visits the host.
TEST_P(GpuStreams, InAGraph) {
  HOMZ_NEEDS_GPU();
  const auto stream = gpu::Stream::make();
  ASSERT_TRUE(stream.ok());
  CUstream_st* const on = stream->get();
  const Sample first = make_sample("walk", Dtype::f32, {200000}),
               second = make_sample("sine", Dtype::f32, {200000});
  const Compression compression = compression_of(GetParam(), first, 1e-3);
  const auto needs = footprint(compression, device(on));
  ASSERT_TRUE(needs.ok());
  const GpuBlock data(first.data.size(), 0, std::byte{1}, on), out(needs->stream_bytes, 0, std::byte{2}, on);
  const GpuBlock scratch(needs->scratch_bytes, 0, std::byte{3}, on), size(8, 0, std::byte{4}, on);
  data.put(first.bytes());
  ASSERT_TRUE(gpu::wait(on).ok());
  ASSERT_TRUE(gpu::Graph::begin(on).ok());
  const Status status = encode_stream(compression, data.bytes(), out.bytes(), scratch.bytes(),
                                      reinterpret_cast<std::uint64_t*>(size.bytes().data()), device(on));
  const auto graph = gpu::Graph::end(on);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const Sample* sample : {&second, &first, &second}) {
    data.put(sample->bytes());
    ASSERT_TRUE(graph->launch(on).ok());
    const auto expected = encode(compression_of(GetParam(), *sample, 1e-3), sample->bytes()).bytes;
    std::vector<std::byte> made = out.get();
    made.resize(expected.size());
    EXPECT_TRUE(made == expected) << sample->name;
  }
  // Decoding with a header that is known: nothing waits.
  const auto expected = encode(compression, first.bytes());
  const GpuBlock coded(expected.bytes.size(), 0, std::byte{5}, on), fault(4, 0, std::byte{6}, on);
  coded.put(expected.bytes);
  const auto header = load(expected.bytes);
  ASSERT_TRUE(header.ok());
  const Exec exec = device(on, reinterpret_cast<std::uint32_t*>(fault.bytes().data()));
  const auto open = open_stream(registry(), *header, coded.bytes(), exec);
  ASSERT_TRUE(open.ok()) << open.status().message();
  const GpuBlock space(open->scratch_bytes, 0, std::byte{7}, on);
  ASSERT_TRUE(gpu::wait(on).ok());
  ASSERT_TRUE(gpu::Graph::begin(on).ok());
  const Status decoded = decode_stream(*open, data.bytes(), space.bytes(), exec);
  const auto replay = gpu::Graph::end(on);
  ASSERT_TRUE(decoded.ok()) << decoded.message();
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replay->launch(on).ok());
  EXPECT_TRUE(data.get() == decode(expected.bytes).bytes);
  EXPECT_TRUE(fault.get() == std::vector<std::byte>(4));
}

// Every byte of small streams damaged, and again with a checksum that matches: a status, never a fault.
TEST_P(GpuStreams, DamageGivesAStatus) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view input : {"walk", "nan_tenth", "fill_blocks", "constant", "fill_all"}) {
    const Sample sample = make_sample(input, Dtype::f32, {40, 33});
    const std::vector<std::byte> stream =
        encode(compression_of(GetParam(), sample, 1e-2), sample.bytes()).bytes;
    ASSERT_FALSE(stream.empty());
    for (std::size_t at = 0; at < stream.size(); at += 1 + stream.size() / 400) {
      std::vector<std::byte> damaged = stream;
      damaged[at] ^= std::byte{0x55};
      ASSERT_FALSE(gpu_decode(damaged).status.ok()) << input << ", byte " << at;
      if (at < StreamHeader::kBytes) continue;
      auto header = *load(stream);
      header.payload_checksum = checksum(ConstBytes(damaged).subspan(StreamHeader::kBytes));
      store(header, Bytes(damaged).first<StreamHeader::kBytes>());
      const Outcome here = decode(damaged), there = gpu_decode(damaged);
      ASSERT_EQ(there.status.ok(), here.status.ok()) << input << ", byte " << at;
      if (here.status.ok()) {
        ASSERT_TRUE(there.bytes == here.bytes) << input << ", byte " << at;
      }
    }
  }
}

// Also of codecs whose payloads verify themselves.
TEST_P(GpuStreams, PayloadsAreTheHeaders) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {400, 33});
  std::vector<std::byte> stream = encode(compression_of(GetParam(), sample, 1e-2), sample.bytes()).bytes;
  EXPECT_TRUE(gpu_decode(stream).status.ok());
  auto header = *load(stream);
  header.payload_checksum ^= 1;
  store(header, Bytes(stream).first<StreamHeader::kBytes>());
  EXPECT_EQ(gpu_decode(stream).status.code(), Code::corrupt_stream);
}

TEST(GpuRange, IsThatOfTheHost) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view input : input_names())
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const std::uint64_t count : {0u, 1u, 1000u, 300007u}) {
        const Sample sample = make_sample(input, dtype, {count});
        const GpuBlock data(sample.data.size(), 0, std::byte{1}, nullptr);
        data.put(sample.bytes());
        const auto there = gpu::value_range(sample.field, data.bytes(), sample.fill_bits, device(nullptr));
        const ValueRange here = value_range(sample.field, sample.bytes(), sample.fill_bits, host());
        ASSERT_TRUE(there.ok()) << there.status().message();
        EXPECT_EQ(there->min, here.min) << input;
        EXPECT_EQ(there->max, here.max) << input;
        EXPECT_EQ(there->finite, here.finite) << input;
        EXPECT_EQ(there->non_finite, here.non_finite) << input;
        EXPECT_EQ(there->fill, here.fill) << input;
      }
}

TEST(GpuRefusals, NameTheRemedy) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("sine", Dtype::f32, {1000});
  const auto refused = footprint(compression_of("zstd", sample, 0), device(nullptr));
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_NE(refused.status().message().find("cuszp2"), std::string::npos) << refused.status().message();
}

}  // namespace
}  // namespace homz::test
