// Data of the host by way of the GPU, whatever of it has room there.
#include <gtest/gtest.h>

#include "codecs/builtin.hpp"
#include "core/gpu/offload.hpp"
#include "tests/gpu/support.hpp"
#include "tests/support/choices.hpp"

namespace homz::test {
namespace {

class GpuOffload : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, GpuOffload,
                         testing::Values("homcomp", "cuszp2:mode=plain,dim=1", "cuszp2:mode=outlier,dim=1",
                                         "cuszp2:mode=outlier,dim=3", "identity"),
                         [](const auto& info) { return test_name(info.param); });

// For nothing but the scratch, for one buffer, and for all.
std::vector<std::uint64_t> rooms(std::uint64_t scratch, std::uint64_t buffer) {
  return {scratch, scratch + buffer, gpu::kAllRoom};
}

Compression choose(const std::string& choice, const Sample& sample) {
  return compression_of(choice, sample, choice_of(choice).codec->info().lossless ? 0 : 1e-3);
}

std::vector<std::byte> host_stream(const Compression& compression, const Sample& sample) {
  const Outcome made = encode(compression, sample.bytes());
  EXPECT_TRUE(made.status.ok()) << made.status.message();
  return made.bytes;
}

std::uint64_t decode_scratch(ConstBytes stream) {
  const auto open = open_stream(registry(), *load(stream), stream, device(nullptr));
  EXPECT_TRUE(open.ok()) << open.status().message();
  return open->scratch_bytes;
}

void check(const std::string& choice, const Sample& sample) {
  SCOPED_TRACE(describe(choice, sample, 1e-3));
  const Compression compression = choose(choice, sample);
  const auto needs = footprint(compression, device(nullptr));
  if (needs.status().code() == Code::invalid_argument) return;  // does not suit the field
  ASSERT_TRUE(needs.ok()) << needs.status().message();
  const std::vector<std::byte> expected = host_stream(compression, sample);
  const std::vector<std::byte> restored = decode(expected).bytes;
  for (const std::uint64_t room : rooms(needs->scratch_bytes, needs->stream_bytes)) {
    const auto made = gpu::compress_resolved(compression, sample.bytes(), room);
    ASSERT_TRUE(made.ok()) << room << " bytes: " << made.status().message();
    EXPECT_TRUE(std::ranges::equal(made->stream(), expected)) << "encoded in " << room << " bytes";
  }
  for (const std::uint64_t room : rooms(decode_scratch(expected), expected.size())) {
    const auto back = gpu::decompress(registry(), expected, UINT64_MAX, room);
    ASSERT_TRUE(back.ok()) << room << " bytes: " << back.status().message();
    EXPECT_TRUE(std::ranges::equal(back->data.bytes(), restored)) << "decoded in " << room << " bytes";
  }
}

TEST_P(GpuOffload, SameBytesWhateverHasRoom) {
  HOMZ_NEEDS_GPU();
  for (const std::string_view input :
       {"walk", "constant", "fill_all", "fill_blocks", "nan_tenth", "random_bits"})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const auto& extents : std::vector<std::vector<std::uint64_t>>{{0}, {1}, {200003}, {37, 61, 89}}) {
        check(GetParam(), make_sample(input, dtype, extents));
        if (HasFailure()) return;
      }
}

TEST_P(GpuOffload, KeepsMemoryForTheNext) {
  HOMZ_NEEDS_GPU();
  auto offload = gpu::Offload::make(2);
  ASSERT_TRUE(offload.ok()) << offload.status().message();
  for (const std::uint64_t planes : {20u, 3u, 20u, 40u, 2u}) {
    const Sample sample = make_sample("fill_blocks", Dtype::f32, {planes, 50, 70});
    const Compression compression = choose(GetParam(), sample);
    const std::vector<std::byte> expected = host_stream(compression, sample);
    std::vector<std::byte> stream(footprint(compression, device(nullptr))->stream_bytes);
    std::vector<std::byte> back(sample.data.size());
    std::uint64_t bytes = 0;
    const Status encoded = offload->encode(compression, sample.bytes(), stream, &bytes);
    ASSERT_TRUE(encoded.ok()) << encoded.message();
    EXPECT_TRUE(std::ranges::equal(ConstBytes(stream).first(bytes), expected));
    const Status decoded = offload->decode(registry(), expected, back);
    ASSERT_TRUE(decoded.ok()) << decoded.message();
    EXPECT_TRUE(back == decode(expected).bytes);
  }
}

TEST_P(GpuOffload, RegionsAreTheHosts) {
  HOMZ_NEEDS_GPU();
  const std::vector<std::pair<std::vector<std::uint64_t>, std::vector<std::string>>> cases = {
      {{30011}, {":", "17", "100:20001"}},
      {{190, 301}, {":,:", ":,7", "189,:", "3:100,299:301"}},
      {{11, 1, 90, 41}, {":,:,:,:", "10,0,:,40", "2:9,:,17:80,3:5"}}};
  for (const auto& [extents, texts] : cases)
    for (const Dtype dtype : {Dtype::f32, Dtype::f64})
      for (const std::string_view input : {"walk", "random_bits", "constant"}) {
        const Sample sample = make_sample(input, dtype, extents);
        const Compression compression = choose(GetParam(), sample);
        if (!footprint(compression, device(nullptr)).ok()) continue;
        const std::vector<std::byte> stream = host_stream(compression, sample);
        for (const std::string& text : texts) {
          const auto region = parse_region(text, sample.field);
          ASSERT_TRUE(region.ok()) << region.status().message();
          const auto here = decompress_region(registry(), stream, *region, host());
          ASSERT_TRUE(here.ok()) << here.status().message();
          for (const std::uint64_t room : rooms(decode_scratch(stream), stream.size())) {
            const auto there = gpu::decompress_region(registry(), stream, *region, UINT64_MAX, room);
            ASSERT_TRUE(there.ok()) << there.status().message();
            EXPECT_TRUE(std::ranges::equal(there->data.bytes(), here->data.bytes()))
                << describe(GetParam(), sample, 1e-3) << ", region " << text << ", " << room << " bytes";
          }
        }
      }
}

TEST_P(GpuOffload, DamageGivesAStatus) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {8, 25, 100});
  std::vector<std::byte> stream = host_stream(choose(GetParam(), sample), sample);
  stream[stream.size() / 2] ^= std::byte{0x10};
  for (const std::uint64_t room : rooms(decode_scratch(stream), stream.size()))
    EXPECT_EQ(gpu::decompress(registry(), stream, UINT64_MAX, room).status().code(), Code::corrupt_stream);
}

// Pages that are pinned already cannot be pinned again.
TEST(GpuOffloadMemory, MayBePinned) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f64, {100003});
  const Compression compression = choose("homcomp", sample);
  auto pinned = gpu::Memory::pinned(sample.data.size());
  ASSERT_TRUE(pinned.ok()) << pinned.status().message();
  std::ranges::copy(sample.bytes(), pinned->bytes().begin());
  const std::uint64_t scratch = footprint(compression, device(nullptr))->scratch_bytes;
  const auto made = gpu::compress_resolved(compression, pinned->bytes(), scratch);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(std::ranges::equal(made->stream(), host_stream(compression, sample)));
}

// A copy is aligned by itself; what stays in the host's memory is as it is.
TEST(GpuOffloadMemory, IsAlignedWhereItStays) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {100003});
  const Compression compression = choose("homcomp", sample);
  std::vector<std::byte> shifted(sample.data.size() + 1);
  std::ranges::copy(sample.bytes(), shifted.begin() + 1);
  const ConstBytes data = ConstBytes(shifted).subspan(1);
  const auto made = gpu::compress_resolved(compression, data);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(std::ranges::equal(made->stream(), host_stream(compression, sample)));
  const std::uint64_t scratch = footprint(compression, device(nullptr))->scratch_bytes;
  const Status refused = gpu::compress_resolved(compression, data, scratch).status();
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.message().find("aligned"), std::string::npos) << refused.message();
}

// With room for a field alone, a part of it stays in the host's memory.
TEST(GpuOffloadMemory, IsAlignedWhereAPartStays) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("walk", Dtype::f32, {100003});
  const std::vector<std::byte> stream = host_stream(choose("homcomp", sample), sample);
  const Region all = Region::whole(sample.field);
  std::vector<std::byte> shifted(sample.data.size() + 1), data(sample.data.size());
  const Bytes part = Bytes(shifted).subspan(1);
  auto roomy = gpu::Offload::make(1);
  ASSERT_TRUE(roomy.ok()) << roomy.status().message();
  const Status copied = roomy->decode_region(registry(), stream, all, part);
  EXPECT_TRUE(copied.ok()) << copied.message();
  EXPECT_TRUE(std::ranges::equal(part, decode(stream).bytes));
  auto tight = gpu::Offload::make(1, decode_scratch(stream) + stream.size() + data.size());
  ASSERT_TRUE(tight.ok()) << tight.status().message();
  for (int again = 0; again < 2; ++again) {  // what is kept from call to call counts, too
    const Status refused = tight->decode_region(registry(), stream, all, part);
    EXPECT_EQ(refused.code(), Code::invalid_argument);
    EXPECT_NE(refused.message().find("aligned"), std::string::npos) << refused.message();
    const Status decoded = tight->decode(registry(), stream, data);
    EXPECT_TRUE(decoded.ok()) << decoded.message();
  }
}

TEST(GpuOffloadRefusals, NameTheRemedy) {
  HOMZ_NEEDS_GPU();
  const Sample sample = make_sample("sine", Dtype::f32, {100000});
  const Compression compression = choose("homcomp", sample);
  const std::uint64_t scratch = footprint(compression, device(nullptr))->scratch_bytes;
  const Status small = gpu::compress_resolved(compression, sample.bytes(), scratch - 1).status();
  EXPECT_EQ(small.code(), Code::out_of_memory);
  EXPECT_NE(small.message().find(std::to_string(scratch)), std::string::npos) << small.message();
  EXPECT_NE(small.message().find("slabs"), std::string::npos) << small.message();
  const Status foreign = gpu::compress_resolved(compression_of("zstd", sample, 0), sample.bytes()).status();
  EXPECT_EQ(foreign.code(), Code::unsupported);
  EXPECT_NE(foreign.message().find("cuszp2"), std::string::npos) << foreign.message();
  const std::vector<std::byte> stream = host_stream(compression_of("zstd", sample, 0), sample);
  EXPECT_EQ(gpu::decompress(registry(), stream).status().code(), Code::unsupported);
  const auto limited = gpu::decompress(registry(), host_stream(compression, sample), sample.data.size() - 1);
  EXPECT_EQ(limited.status().code(), Code::capacity);
}

}  // namespace
}  // namespace homz::test
