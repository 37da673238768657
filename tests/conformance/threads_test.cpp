// Threads: any number of them, more than the machine has, and many callers at once. Run under ThreadSanitizer
// too.
#include "core/threads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "codecs/builtin.hpp"
#include "core/checksum.hpp"
#include "core/compress.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

TEST(Tasks, EachRunsOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 7u, 64u})
    for (const std::uint64_t count : {0, 1, 2, 63, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      parallel_for(count, threads, [&](std::uint64_t task) { ++runs[task]; });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
    }
}

TEST(Tasks, TheFailureOfTheLowestTaskIsTold) {
  for (const unsigned threads : {1u, 2u, 7u, 64u}) {
    const Status status = try_parallel_for(100, threads, [](std::uint64_t task) {
      return task % 7 == 3 ? Status(Code::io, std::to_string(task)) : Status();
    });
    EXPECT_EQ(status.message(), "3");
  }
}

class Threads : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, Threads, testing::ValuesIn(default_choices()),
                         [](const auto& info) { return test_name(info.param); });

// H3 of the list of faults: 1 to 64 threads, also where there are far fewer cores.
TEST_P(Threads, OneToSixtyFourGiveTheSameBytes) {
  const Sample sample = make_sample("nan_tenth", Dtype::f32, {kSanitized ? 150000u : 600000u});
  const auto stream = check_round_trip(GetParam(), sample, 1e-3);
  for (unsigned threads = 1; threads <= 64; threads = threads < 8 ? threads + 1 : 2 * threads) {
    EXPECT_EQ(check_round_trip(GetParam(), sample, 1e-3, {.threads = threads}), stream) << threads;
    if (HasFailure()) return;
  }
}

// H4: codecs have no state, so callers need no lock.
TEST_P(Threads, ManyCallersAtOnce) {
  const Sample sample = make_sample("fill_blocks", Dtype::f64, {70000});
  const Compression compression = compression_of(GetParam(), sample, 1e-4);
  const auto expected = encode(compression, sample.bytes());
  ASSERT_TRUE(expected.status.ok());
  std::atomic<int> different = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const auto made = compress(compression.choice, sample.field, sample.bytes(), compression.requested,
                                   sample.fill_bits, host(2));
        if (!made.ok() || !std::ranges::equal(made->stream(), expected.bytes)) ++different;
        if (made.ok() && !decompress(registry(), made->stream(), host(2)).ok()) ++different;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, 0);
}

TEST(Checksum, IsTheSameForAnyNumberOfThreads) {
  const Sample sample = make_sample("random_bits", Dtype::f32, {700001});
  for (const std::uint64_t size : {0, 1, 2, 3, 4, 5, 1048575, 1048576, 1048577, 2800004}) {
    const auto bytes = sample.bytes().first(size);
    for (const unsigned threads : {2u, 7u}) EXPECT_EQ(checksum(bytes, threads), checksum(bytes)) << size;
  }
}

}  // namespace
}  // namespace homz::test
