#include "tools/homz/measurement.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "core/stream.hpp"
#include "core/threads.hpp"

namespace homz::cli {

// Room for `bytes`, with every page touched.
Status Bench::provide(Buffer& buffer, std::uint64_t bytes) {
  if (bytes <= buffer.size()) return Status();
  HOMZ_TRY(buffer.reserve(bytes));
  std::memset(buffer.bytes().data(), 1, bytes);
  return Status();
}

template <class F>
Result<double> Bench::median_gbps(std::uint64_t bytes, F&& run) const {
  using Clock = std::chrono::steady_clock;
  HOMZ_TRY(run());  // warms caches, page tables and the clock of the processor
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats_; ++i) {
    const auto start = Clock::now();
    HOMZ_TRY(run());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle > 0 ? static_cast<double>(bytes) / *middle * 1e-9 : 0.0;
}

Result<double> Bench::memcpy_gbps(const Sample& sample, unsigned threads) {
  constexpr std::uint64_t kSlice = 1 << 22;
  const std::uint64_t bytes = sample.field.bytes();
  HOMZ_TRY(provide(decoded_, bytes));
  const std::byte* const from = sample.data.bytes().data();
  std::byte* const to = decoded_.bytes().data();
  return median_gbps(bytes, [&] {
    parallel_for(ceil_div(bytes, kSlice), threads, [&](std::uint64_t task) {
      std::memcpy(to + task * kSlice, from + task * kSlice, std::min(kSlice, bytes - task * kSlice));
    });
    return Status();
  });
}

Result<Measurement> Bench::measure(const Sample& sample, const CodecChoice& choice, const ErrorBound& bound,
                                   unsigned threads) {
  const Exec exec = host(threads);
  const ConstBytes data = sample.data.bytes();
  const bool lossless = choice.codec->info().lossless;
  Measurement result;
  result.requested = lossless ? ErrorBound{BoundMode::lossless, 0} : bound;
  Compression compression{choice, sample.field, 0, result.requested, sample.fill_bits};
  HOMZ_ASSIGN(compression.abs_error,
              resolve_over(sample.field, data, result.requested, sample.fill_bits, exec));
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, exec));
  HOMZ_TRY(provide(stream_, needs.stream_bytes));
  HOMZ_TRY(provide(scratch_, needs.scratch_bytes));
  HOMZ_TRY(provide(decoded_, sample.field.bytes()));

  std::uint64_t stream_bytes = 0;
  HOMZ_ASSIGN(result.compress_gbps, median_gbps(data.size(), [&] {
                return encode_stream(compression, data, stream_.bytes(), scratch_.bytes(), &stream_bytes,
                                     exec);
              }));
  const ConstBytes stream = stream_.bytes().first(stream_bytes);
  HOMZ_ASSIGN(const OpenStream opened, open_stream(registry(), stream, exec));
  HOMZ_TRY(provide(scratch_, opened.scratch_bytes));
  const Bytes decoded = decoded_.bytes().first(data.size());
  HOMZ_ASSIGN(result.decompress_gbps, median_gbps(data.size(), [&]() -> Status {
                HOMZ_ASSIGN(const OpenStream again, open_stream(registry(), stream, exec));
                return decode_stream(again, decoded, scratch_.bytes(), exec);
              }));
  HOMZ_TRY(judge({sample.field, data, decoded}, {result.requested, opened.header.abs_error, sample.fill_bits},
                 threads, &result.verdict));
  result.dataset = sample.name;
  result.threads = threads;
  result.original_bytes = data.size();
  result.compressed_bytes = stream_bytes;
  return result;
}

}  // namespace homz::cli
