// Speed and errors of one codec on one field in memory: no file I/O, no range scan, no verification in any
// figure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/buffer.hpp"
#include "core/error_bound.hpp"
#include "core/registry.hpp"
#include "tools/homz/verification.hpp"

namespace homz::cli {

struct Sample {
  std::string name;
  Field field;
  Buffer data;
  std::optional<std::uint64_t> fill_bits;
};

struct Measurement {
  std::string dataset, codec;
  Space space = Space::host;
  unsigned threads = 1;
  std::uint64_t original_bytes = 0, compressed_bytes = 0;
  double compress_gbps = 0, decompress_gbps = 0, memcpy_gbps = 0;  // 1e9 uncompressed bytes a second, medians
  ErrorBound requested;
  Verdict verdict;
};

// Measures with buffers that are allocated once, touched and warm.
class Bench {
 public:
  explicit Bench(unsigned repeats) : repeats_(repeats) {}

  Result<double> memcpy_gbps(const Sample& sample, unsigned threads);
  // The bound of a lossless codec is ignored. Compression is encode_stream(), decompression open_stream() and
  // decode_stream(): headers and checksums are in, both ways.
  Result<Measurement> measure(const Sample& sample, const CodecChoice& choice, const ErrorBound& bound,
                              unsigned threads);
  // The same on the GPU, data and streams in its memory, timed by its own clock; memcpy is a copy within it.
  Result<Measurement> measure_on_gpu(const Sample& sample, const CodecChoice& choice,
                                     const ErrorBound& bound);

 private:
  static Status provide(Buffer& buffer, std::uint64_t bytes);
  template <class F>
  Result<double> median_gbps(std::uint64_t bytes, F&& run) const;

  unsigned repeats_;
  Buffer stream_, scratch_, decoded_;
};

}  // namespace homz::cli
