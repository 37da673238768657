// Streams to compute with: coded on the host, and opened on the GPU.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "homomorphic/arithmetic.hpp"
#include "tests/gpu/support.hpp"
#include "tests/homomorphic/samples.hpp"

namespace homz::test {

using Stream = std::vector<std::byte>;
inline const std::vector<std::vector<std::uint64_t>> kShapes = {{9001}, {67, 141}, {19, 33, 47}};

inline std::string with_step(double step, unsigned dim = 0) {
  char text[80];
  std::snprintf(text, sizeof text, "homcomp:step=%.17g%s", step,
                dim == 0   ? ""
                : dim == 1 ? ",dim=1"
                : dim == 2 ? ",dim=2"
                           : ",dim=3");
  return text;
}

inline Stream coded(const std::string& choice, const Sample& sample, double bound) {
  Compression compression = compression_of(choice, sample, bound);
  compression.always_coded = true;
  const auto made = compress_resolved(compression, sample.bytes(), host());
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return {};
  const ConstBytes bytes = made->stream();
  return {bytes.begin(), bytes.end()};
}

template <class Number>
Number number_in(const GpuBlock& block) {
  Number number;
  std::memcpy(&number, block.get().data(), sizeof number);
  return number;
}

// Operands on the GPU, opened there.
struct GpuOperands {
  std::vector<std::unique_ptr<GpuBlock>> blocks;
  std::vector<OpenStream> open;
  Status status;

  GpuOperands(const std::vector<Stream>& streams, const GpuVariation& how) {
    for (const Stream& each : streams) {
      blocks.push_back(std::make_unique<GpuBlock>(each.size(), how.misalign, how.poison, how.stream));
      blocks.back()->put(each);
      const auto opened = open_stream(registry(), blocks.back()->bytes(), device(how.stream));
      if (!opened.ok()) {
        static_cast<void>(status = opened.status());
        return;
      }
      open.push_back(*opened);
    }
  }
};

// What `work(operands, stream, scratch, stream_bytes, exec)` makes of streams on the GPU, with the footprint
// of a combination of them. A fault that the GPU reports comes as a status of its code.
template <class Work>
Outcome gpu_result(const std::vector<Stream>& streams, const GpuVariation& how, Work&& work) {
  const GpuOperands operands(streams, how);
  if (!operands.status.ok()) return {operands.status, {}};
  const GpuBlock fault(sizeof(std::uint32_t), 0, how.poison, how.stream);
  const GpuBlock size(sizeof(std::uint64_t), 0, how.poison, how.stream);
  const Exec exec = device(how.stream, reinterpret_cast<std::uint32_t*>(fault.bytes().data()));
  const auto needs = combination_footprint(operands.open, exec);
  if (!needs.ok()) return {needs.status(), {}};
  const GpuBlock stream(needs->stream_bytes, how.misalign, how.poison, how.stream);
  const GpuBlock scratch(needs->scratch_bytes, how.misalign, how.poison, how.stream);
  const Status status = work(operands.open, stream.bytes(), scratch.bytes(),
                             reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec);
  const Status waited = gpu::wait(how.stream);
  EXPECT_TRUE(waited.ok()) << waited.message();
  if (!status.ok() || !waited.ok()) return {status.ok() ? waited : status, {}};
  EXPECT_TRUE(stream.intact()) << "written outside the stream buffer";
  EXPECT_TRUE(scratch.intact()) << "written outside the scratch buffer";
  const auto bytes = number_in<std::uint64_t>(size);
  const auto code = static_cast<Code>(number_in<std::uint32_t>(fault));
  EXPECT_EQ(bytes == 0, code != Code::ok);
  if (code != Code::ok) return {Status(code, "told by the GPU"), {}};
  EXPECT_LE(bytes, needs->stream_bytes);
  Stream made = stream.get();
  made.resize(std::min<std::uint64_t>(bytes, made.size()));
  return {Status(), made};
}

inline Result<std::vector<OpenStream>> opened_on_host(const std::vector<Stream>& streams) {
  std::vector<OpenStream> operands;
  for (const Stream& each : streams) {
    HOMZ_ASSIGN(const OpenStream open, open_stream(registry(), each, host()));
    operands.push_back(open);
  }
  return operands;
}

inline void expect_same(const Outcome& made, const Outcome& expected) {
  ASSERT_EQ(made.status.code(), expected.status.code())
      << made.status.message() << "; host: " << expected.status.message();
  ASSERT_EQ(made.bytes.size(), expected.bytes.size());
  const auto differs = std::ranges::mismatch(made.bytes, expected.bytes);
  ASSERT_TRUE(made.bytes == expected.bytes)
      << "first difference at byte " << differs.in1 - made.bytes.begin();
}

}  // namespace homz::test
