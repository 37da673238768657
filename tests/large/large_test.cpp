// Fields beyond 2^32 bytes, and streams that cross that border: offsets must have 64 bits everywhere. Slow;
// skipped on machines with less free memory than it takes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "core/threads.hpp"
#include "data/synthetic.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"

namespace homz::test {
namespace {

// Free memory as Linux estimates it, in bytes; 0 where that is not known.
std::uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string key; info >> key;) {
    std::uint64_t kib = 0;
    if (key == "MemAvailable:" && info >> kib) return kib * 1024;
    info.ignore(1000, '\n');
  }
  return 0;
}

class Large : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, Large, testing::ValuesIn(default_choices()),
                         [](const auto& info) { return test_name(info.param); });

// 4.5 GiB of which the last part differs from the first: an offset that lost its upper half would show.
TEST_P(Large, MoreThanFourGibibytes) {
  constexpr std::uint64_t kCount = (std::uint64_t{9} << 27) + 3;  // values: 4.5 GiB and a few bytes
  const CodecChoice choice = choice_of(GetParam());
  const std::uint64_t bytes = kCount * 4;
  const auto needs =
      footprint({choice, Field::flat(Dtype::f32, kCount), 1e-9, {BoundMode::absolute, 1e-9}, {}}, host(0));
  ASSERT_TRUE(needs.ok()) << needs.status().message();
  const std::uint64_t memory = 2 * bytes + needs->stream_bytes + needs->scratch_bytes + (1 << 30);
  if (available_memory() < memory) GTEST_SKIP() << "needs " << (memory >> 30) << " GiB of free memory";

  auto data = Buffer::make(bytes);
  ASSERT_TRUE(data.ok());
  generate(Synthetic::normal, Dtype::f32, kCount, data->bytes(), 0);
  const Field field = Field::flat(Dtype::f32, kCount);
  // A bound so small that the stream, too, is larger than 2^32 bytes, and one that is used in practice.
  for (const double bound : {1e-8, 1e-3}) {
    const auto made = compress(choice, field, data->bytes(), {BoundMode::absolute, bound}, {}, host(0));
    ASSERT_TRUE(made.ok()) << made.status().message();
    const auto back = decompress(registry(), made->stream(), host(0));
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_TRUE(
        judge(Dtype::f32, data->bytes(), back->data.bytes(), choice.codec->info().lossless ? 0 : bound, {}));
  }
}

}  // namespace
}  // namespace homz::test
