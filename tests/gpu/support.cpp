#include "tests/gpu/support.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "codecs/builtin.hpp"
#include "tests/support/choices.hpp"

namespace homz::test {
namespace {

constexpr std::uint64_t kGuard = 256;
constexpr std::byte kCanary{0xc3};

void expect_ok(const Status& status) {
  EXPECT_TRUE(status.ok()) << status.message();
}

std::multimap<std::uint64_t, gpu::Memory>& kept() {
  static auto* const blocks = new std::multimap<std::uint64_t, gpu::Memory>;  // outlives the driver's own end
  return *blocks;
}

gpu::Memory take(std::uint64_t bytes) {
  const auto found = kept().lower_bound(bytes);
  if (found != kept().end() && found->first <= 4 * bytes + (1 << 16)) {
    gpu::Memory memory = std::move(found->second);
    kept().erase(found);
    return memory;
  }
  auto made = gpu::Memory::on_device(bytes + bytes / 2);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(*made) : gpu::Memory();
}

}  // namespace

GpuBlock::GpuBlock(std::uint64_t size, unsigned misalign, std::byte poison, CUstream_st* stream)
    : stream_(stream), memory_(take(size + misalign + 2 * kGuard)) {
  const Bytes all = memory_.bytes().first(size + misalign + 2 * kGuard);
  bytes_ = all.subspan(kGuard + misalign, size);
  expect_ok(gpu::fill(all, kCanary, stream_));
  expect_ok(gpu::fill(bytes_, poison, stream_));
}

GpuBlock::~GpuBlock() {
  expect_ok(gpu::wait(stream_));
  const std::uint64_t size = memory_.size();
  kept().emplace(size, std::move(memory_));
}

void GpuBlock::put(ConstBytes content) const {
  expect_ok(gpu::copy(content, bytes_, stream_));
}

std::vector<std::byte> GpuBlock::get() const {
  std::vector<std::byte> content(bytes_.size());
  expect_ok(gpu::copy(bytes_, content, stream_));
  expect_ok(gpu::wait(stream_));
  return content;
}

bool GpuBlock::intact() const {
  const std::byte* const begin = memory_.bytes().data();
  const auto front = static_cast<std::size_t>(bytes_.data() - begin);
  std::vector<std::byte> guards(front + kGuard);
  expect_ok(gpu::copy({begin, front}, Bytes(guards).first(front), stream_));
  expect_ok(gpu::copy({bytes_.data() + bytes_.size(), kGuard}, Bytes(guards).subspan(front), stream_));
  expect_ok(gpu::wait(stream_));
  return std::all_of(guards.begin(), guards.end(), [](std::byte b) { return b == kCanary; });
}

Outcome gpu_encode(const Compression& compression, ConstBytes data, const GpuVariation& how) {
  const Exec exec = device(how.stream);
  const auto needs = footprint(compression, exec);
  if (!needs.ok()) return {needs.status(), {}};
  const GpuBlock input(data.size(), 0, how.poison, how.stream);
  const GpuBlock stream(needs->stream_bytes, how.misalign, how.poison, how.stream);
  const GpuBlock scratch(needs->scratch_bytes, how.misalign, how.poison, how.stream);
  const GpuBlock size(sizeof(std::uint64_t), 0, how.poison, how.stream);
  input.put(data);
  const Status status = encode_stream(compression, input.bytes(), stream.bytes(), scratch.bytes(),
                                      reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec);
  const Status waited = gpu::wait(how.stream);
  EXPECT_TRUE(waited.ok()) << waited.message();
  if (!status.ok()) return {status, {}};
  if (!waited.ok()) return {waited, {}};
  EXPECT_TRUE(stream.intact()) << "encode wrote outside the stream buffer";
  EXPECT_TRUE(scratch.intact()) << "encode wrote outside the scratch buffer";
  EXPECT_TRUE(input.intact() && std::ranges::equal(input.get(), data)) << "encode changed its input";
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, size.get().data(), sizeof bytes);
  EXPECT_LE(bytes, needs->stream_bytes);
  std::vector<std::byte> made = stream.get();
  made.resize(std::min<std::uint64_t>(bytes, made.size()));
  return {status, made};
}

Outcome gpu_decode(ConstBytes bytes, const GpuVariation& how) {
  const GpuBlock stream(bytes.size(), how.misalign, how.poison, how.stream);
  const GpuBlock fault(sizeof(std::uint32_t), 0, how.poison, how.stream);
  stream.put(bytes);
  const Exec exec = device(how.stream, reinterpret_cast<std::uint32_t*>(fault.bytes().data()));
  const auto open = open_stream(registry(), stream.bytes(), exec);
  if (!open.ok()) return {open.status(), {}};
  const GpuBlock data(open->header.field.bytes(), 0, how.poison, how.stream);
  const GpuBlock scratch(open->scratch_bytes, how.misalign, how.poison, how.stream);
  const Status status = decode_stream(*open, data.bytes(), scratch.bytes(), exec);
  const Status waited = gpu::wait(how.stream);
  EXPECT_TRUE(waited.ok()) << waited.message();
  if (!status.ok()) return {status, {}};
  if (!waited.ok()) return {waited, {}};
  EXPECT_TRUE(data.intact()) << "decode wrote outside the data buffer";
  EXPECT_TRUE(scratch.intact()) << "decode wrote outside the scratch buffer";
  EXPECT_TRUE(stream.intact() && std::ranges::equal(stream.get(), bytes)) << "decode changed the stream";
  std::uint32_t code = 0;
  std::memcpy(&code, fault.get().data(), sizeof code);
  const Status verdict = code == 0 ? Status() : Status(static_cast<Code>(code), "told by the GPU");
  return {verdict, data.get()};
}

std::vector<std::byte> check_same(const std::string& choice, const Sample& sample, double abs_error,
                                  const GpuVariation& how) {
  SCOPED_TRACE(testing::Message() << choice << ", " << sample.name << " " << to_string(sample.field.dtype)
                                  << " " << sample.field.shape_text() << ", bound " << abs_error
                                  << ", misaligned by " << how.misalign);
  const Compression compression = compression_of(choice, sample, abs_error);
  if (footprint(compression, host()).status().code() == Code::invalid_argument) return {};
  const Outcome expected = encode(compression, sample.bytes());
  EXPECT_TRUE(expected.status.ok()) << expected.status.message();
  const Outcome made = gpu_encode(compression, sample.bytes(), how);
  EXPECT_TRUE(made.status.ok()) << made.status.message();
  EXPECT_EQ(made.bytes.size(), expected.bytes.size());
  const auto differs = std::ranges::mismatch(made.bytes, expected.bytes);
  EXPECT_TRUE(made.bytes == expected.bytes)
      << "first difference at byte " << differs.in1 - made.bytes.begin() << " of " << expected.bytes.size();
  const Outcome restored = decode(expected.bytes);
  const Outcome decoded = gpu_decode(expected.bytes, how);
  EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
  EXPECT_TRUE(decoded.bytes == restored.bytes) << "decoded values differ";
  return expected.bytes;
}

std::vector<std::string> gpu_choices() {
  std::vector<std::string> texts;
  for (const Codec* codec : registry().all())
    if (codec->on_device())
      for (const std::string& text : choice_texts(*codec)) texts.push_back(text);
  return texts;
}

}  // namespace homz::test
