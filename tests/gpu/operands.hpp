// Streams to compute with: coded on the host, and opened on the GPU.
#pragma once

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

}  // namespace homz::test
