// Every f32 there is: all 2^32 bit patterns through codecs at several bounds, each judged by the independent
// judge of the tests. Takes minutes; run by hand (`./run sweep`), prints a table.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <numeric>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "core/threads.hpp"
#include "tests/support/bound_check.hpp"

namespace homz::test {
namespace {

constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32, kBatch = 1 << 20;

// From subnormal bounds to those near the largest number; one whose reciprocal is not exact.
constexpr double kBounds[] = {0x1p-149, 1e-42, 1e-30, 1e-6, 1e-3, 0.3, 1e3, 1e20, 3e38};

struct Tally {
  std::atomic<std::uint64_t> stream_bytes{0}, bad_batches{0};
};

// One batch of patterns, in their order.
Status sweep(const CodecChoice& choice, double bound, std::uint64_t first, Tally& tally) {
  std::vector<std::uint32_t> patterns(kBatch);
  std::iota(patterns.begin(), patterns.end(), static_cast<std::uint32_t>(first));
  const ConstBytes data = std::as_bytes(std::span(patterns));
  HOMZ_ASSIGN(const Field field, Field::make(Dtype::f32, std::vector{kBatch}));
  HOMZ_ASSIGN(const Compressed made,
              compress_resolved(Compression{choice, field, bound, ErrorBound{BoundMode::absolute, bound}, {}},
                                data, host()));
  HOMZ_ASSIGN(const Decompressed back, decompress(registry(), made.stream(), host()));
  const auto verdict = judge(Dtype::f32, data, back.data.bytes(), bound, {});
  tally.stream_bytes += made.bytes;
  if (!verdict && tally.bad_batches++ == 0) fmt::print(stderr, "{:#x}: {}\n", first, verdict.message());
  return Status();
}

bool sweep_all(const char* name, double bound) {
  const auto choice = registry().choose(name);
  if (!choice.ok()) {
    fmt::print(stderr, "{}\n", choice.status().message());
    return false;
  }
  Tally tally;
  const Status status = try_parallel_for(kPatterns / kBatch, 0, [&](std::uint64_t batch) {
    return sweep(*choice, bound, batch * kBatch, tally);
  });
  if (!status.ok()) fmt::print(stderr, "{}: {}\n", name, status.message());
  const bool good = status.ok() && tally.bad_batches == 0;
  fmt::print("| {} | {:g} | {} | {:.3f} |\n", name, bound, good ? "none" : "SOME",
             4.0 * static_cast<double>(kPatterns) / static_cast<double>(tally.stream_bytes));
  std::fflush(stdout);
  return good;
}

}  // namespace
}  // namespace homz::test

int main(int argc, char** argv) {
  fmt::print("| codec | bound | of 2^32 patterns out of bound | ratio |\n|---|---:|---|---:|\n");
  bool good = true;
  for (int i = 1; i < argc; ++i)
    for (const double bound : homz::test::kBounds) good &= homz::test::sweep_all(argv[i], bound);
  return good ? 0 : 1;
}
