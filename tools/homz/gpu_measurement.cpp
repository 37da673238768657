// homz bench --device cuda.
#include <algorithm>
#include <cstring>
#include <span>

#include "codecs/builtin.hpp"
#include "core/gpu/gpu.hpp"
#include "core/stream.hpp"
#include "tools/homz/measurement.hpp"

namespace homz::cli {
namespace {

// Median GB/s of what f() enqueues, after one run to warm up.
template <class F>
Result<double> gpu_median_gbps(std::uint64_t bytes, unsigned repeats, CUstream_st* stream, F&& enqueue) {
  HOMZ_ASSIGN(gpu::Stopwatch watch, gpu::Stopwatch::make());
  std::vector<double> times;
  for (unsigned i = 0; i < repeats + 1; ++i) {
    HOMZ_TRY(watch.start(stream));
    HOMZ_TRY(enqueue());
    HOMZ_ASSIGN(const double milliseconds, watch.stop(stream));
    if (i != 0) times.push_back(milliseconds);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle > 0 ? static_cast<double>(bytes) / *middle * 1e-6 : 0.0;
}

}  // namespace

Result<Measurement> Bench::measure_on_gpu(const Sample& sample, const CodecChoice& choice,
                                          const ErrorBound& bound) {
  HOMZ_ASSIGN(const gpu::Stream stream, gpu::Stream::make());
  HOMZ_ASSIGN(gpu::Memory words, gpu::Memory::on_device(16));  // the size of the stream, and the fault
  auto* const size = reinterpret_cast<std::uint64_t*>(words.bytes().data());
  const Exec exec = device(stream.get(), reinterpret_cast<std::uint32_t*>(size + 1));
  const std::uint64_t bytes = sample.field.bytes();
  HOMZ_ASSIGN(gpu::Memory data, gpu::Memory::on_device(bytes));
  HOMZ_ASSIGN(gpu::Memory decoded, gpu::Memory::on_device(bytes));
  HOMZ_TRY(gpu::copy(sample.data.bytes(), data.bytes(), stream.get()));

  const bool lossless = choice.codec->info().lossless;
  Measurement result;
  result.space = Space::device;
  result.requested = lossless ? ErrorBound{BoundMode::lossless, 0} : bound;
  Compression compression{choice, sample.field, 0, result.requested, sample.fill_bits};
  HOMZ_ASSIGN(compression.abs_error,
              resolve_over(sample.field, data.bytes(), result.requested, sample.fill_bits, exec));
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, exec));
  HOMZ_ASSIGN(gpu::Memory coded, gpu::Memory::on_device(needs.stream_bytes));
  HOMZ_ASSIGN(gpu::Memory scratch, gpu::Memory::on_device(needs.scratch_bytes));
  HOMZ_ASSIGN(result.memcpy_gbps, gpu_median_gbps(bytes, repeats_, stream.get(), [&] {
                return gpu::copy(data.bytes(), decoded.bytes(), stream.get());
              }));
  HOMZ_ASSIGN(result.compress_gbps, gpu_median_gbps(bytes, repeats_, stream.get(), [&] {
                return encode_stream(compression, data.bytes(), coded.bytes(), scratch.bytes(), size, exec);
              }));
  std::uint64_t told[2] = {};
  const Bytes told_bytes = std::as_writable_bytes(std::span(told));
  HOMZ_TRY(gpu::copy(words.bytes(), told_bytes, stream.get()));
  HOMZ_TRY(gpu::wait(stream.get()));
  const ConstBytes made = ConstBytes(coded.bytes()).first(told[0]);
  HOMZ_ASSIGN(const OpenStream open, open_stream(registry(), made, exec));
  HOMZ_ASSIGN(gpu::Memory space, gpu::Memory::on_device(open.scratch_bytes));
  HOMZ_ASSIGN(result.decompress_gbps, gpu_median_gbps(bytes, repeats_, stream.get(), [&] {
                return decode_stream(open, decoded.bytes(), space.bytes(), exec);
              }));
  HOMZ_TRY(provide(decoded_, bytes));
  HOMZ_TRY(gpu::copy(decoded.bytes(), decoded_.bytes(), stream.get()));
  HOMZ_TRY(gpu::copy(words.bytes(), told_bytes, stream.get()));
  HOMZ_TRY(gpu::wait(stream.get()));
  if (static_cast<std::uint32_t>(told[1]) != 0)
    return Status(Code::internal, "the GPU finds its own stream damaged");
  HOMZ_TRY(judge({sample.field, sample.data.bytes(), decoded_.bytes().first(bytes)},
                 {result.requested, open.header.abs_error, sample.fill_bits}, 0, &result.verdict));
  result.dataset = sample.name;
  result.threads = 0;
  result.original_bytes = bytes;
  result.compressed_bytes = made.size();
  return result;
}

}  // namespace homz::cli
