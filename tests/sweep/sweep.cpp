// Every f32 there is: all 2^32 bit patterns through codecs at several bounds, in two orders, each judged by
// the independent judge of the tests. Takes minutes; run by hand (`./run sweep`), prints a table.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <string_view>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "core/threads.hpp"
#include "tests/support/bound_check.hpp"

namespace homz::test {
namespace {

constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32, kBatch = 1 << 20;

// From subnormal bounds to those near the largest number; one whose reciprocal is not exact.
constexpr double kBounds[] = {0x1p-149, 1e-42, 1e-30, 1e-6, 1e-3, 0.3, 1e3, 1e20, 3e38};

// Which pattern stands at place i; each order has every pattern once.
struct Order {
  std::string_view name;
  std::uint32_t (*pattern)(std::uint32_t place);
};

std::uint32_t natural(std::uint32_t place) {
  return place;
}

// A batch has both signs, eight exponents and significands all over, so that blocks have residuals of all
// widths and, around the largest number that a codec can quantise, exceptions beside values.
std::uint32_t mixed(std::uint32_t place) {
  const std::uint32_t scattered = place * 0x9e3779b1 % kBatch,
                      batch = static_cast<std::uint32_t>(place / kBatch);
  const std::uint32_t sign = scattered >> 19, high_exponent = batch >> 7;
  return sign << 31 | high_exponent << 26 | (scattered & 0x7ffff) << 7 | (batch & 0x7f);
}

constexpr Order kOrders[] = {{"natural", natural}, {"mixed", mixed}};

struct Tally {
  std::atomic<std::uint64_t> stream_bytes{0}, bad_batches{0};
};

Status sweep_batch(const CodecChoice& choice, double bound, const Order& order, std::uint64_t first,
                   Tally& tally) {
  std::vector<std::uint32_t> patterns(kBatch);
  auto place = static_cast<std::uint32_t>(first);
  for (std::uint32_t& pattern : patterns) pattern = order.pattern(place++);
  const ConstBytes data = std::as_bytes(std::span(patterns));
  HOMZ_ASSIGN(const Field field, Field::make(Dtype::f32, std::vector{kBatch}));
  HOMZ_ASSIGN(const Compressed made,
              compress_resolved(Compression{choice, field, bound, ErrorBound{BoundMode::absolute, bound}, {}},
                                data, host()));
  HOMZ_ASSIGN(const Decompressed back, decompress(registry(), made.stream(), host()));
  const auto verdict = judge(Dtype::f32, data, back.data.bytes(), bound, {});
  tally.stream_bytes += made.bytes;
  if (!verdict && tally.bad_batches++ == 0)
    fmt::print(stderr, "places from {:#x} on, {}: {}\n", first, order.name, verdict.message());
  return Status();
}

bool sweep_all(const char* name, double bound, const Order& order) {
  const auto choice = registry().choose(name);
  if (!choice.ok()) {
    fmt::print(stderr, "{}\n", choice.status().message());
    return false;
  }
  Tally tally;
  const Status status = try_parallel_for(kPatterns / kBatch, 0, [&](std::uint64_t batch) {
    return sweep_batch(*choice, bound, order, batch * kBatch, tally);
  });
  if (!status.ok()) fmt::print(stderr, "{}: {}\n", name, status.message());
  const bool good = status.ok() && tally.bad_batches == 0;
  fmt::print("| {} | {:g} | {} | {} | {:.3f} |\n", name, bound, order.name, good ? "none" : "SOME",
             4.0 * static_cast<double>(kPatterns) / static_cast<double>(tally.stream_bytes));
  std::fflush(stdout);
  return good;
}

}  // namespace
}  // namespace homz::test

int main(int argc, char** argv) {
  using namespace homz::test;
  fmt::print("| codec | bound | order | of 2^32 patterns out of bound | ratio |\n|---|---:|---|---|---:|\n");
  bool good = true;
  for (int i = 1; i < argc; ++i)
    for (const double bound : kBounds)
      for (const Order& order : kOrders) good &= sweep_all(argv[i], bound, order);
  return good ? 0 : 1;
}
