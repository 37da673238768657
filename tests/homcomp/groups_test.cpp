// Payloads of many groups whose sizes differ much: the bytes are those that one thread writes, in whatever
// order the groups become complete.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>

#include "codecs/homcomp/payload_writer.hpp"
#include "tests/homcomp/coding.hpp"

namespace homz::test {
namespace {

// Stretches of a constant, fill values, noise that is stored raw, a walk, and a walk with NaN.
template <class T>
std::vector<T> mixture(std::size_t count, T fill) {
  std::mt19937_64 random(count);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<T> values;
  values.reserve(count);
  while (values.size() < count) {
    const std::uint64_t kind = below(5), length = 1 + below(std::uint64_t{1} << (8 + below(12)));
    T value = static_cast<T>(below(1000));
    for (std::uint64_t i = 0; i < length && values.size() < count; ++i) {
      if (kind == 1) value = fill;
      if (kind == 2) value = static_cast<T>(below(1u << 24)) * T{1e12};
      if (kind >= 3) value += static_cast<T>(below(5)) - 2;
      const bool is_nan = kind == 4 && below(50) == 0;
      values.push_back(is_nan ? std::numeric_limits<T>::quiet_NaN() : value);
    }
  }
  return values;
}

template <class T>
void expect_same_bytes(const std::vector<std::uint64_t>& extents, std::uint64_t groups) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= extent;
  const Sample sample = sample_of<T>("mixture", mixture<T>(count, T{-999}), extents, T{-999});
  const homcomp::Plan plan = plan_for(sample.field);
  EXPECT_GE(homcomp::Layout(homcomp::Grid(sample.field, plan.dim).chunks()).groups, groups);
  const Payload alone = make_payload(sample, 0.5, plan, homcomp::kernels());
  ASSERT_FALSE(alone.empty());
  for (const unsigned threads : {2u, 3u, 5u, 8u}) {
    EXPECT_TRUE(make_payload(sample, 0.5, plan, homcomp::kernels(), threads) == alone) << threads;
    EXPECT_TRUE(read_payload(sample, 0.5, plan, homcomp::kernels(), alone, threads) ==
                read_payload(sample, 0.5, plan, homcomp::kernels(), alone))
        << threads;
  }
}

TEST(Groups, OfALine) {
  expect_same_bytes<float>({23 * 64 * 4096 + 777}, 24);
}
TEST(Groups, OfCutOffCubes) {
  expect_same_bytes<double>({180, 17, 33, 19}, 21);
}

constexpr std::uint64_t kGroups = 24, kLate = 3;  // group kLate is complete when those behind it are

// Chunks of made-up bytes. Given two workers, whoever has group kLate waits until the other has come to the
// last.
class Chunks {
 public:
  explicit Chunks(bool is_late) : is_late_(is_late) {}

  Status begin(std::uint64_t group, std::uint64_t) {
    if (group + 1 == kGroups) is_at_end_ = true;
    while (is_late_ && group == kLate && !is_at_end_) std::this_thread::yield();
    return Status();
  }
  Result<homcomp::ChunkSize> write(std::uint64_t chunk, std::uint64_t, std::byte* to) {
    const std::uint64_t words =
        chunk % 97 == 0 ? 4096 : 2 + chunk * chunk % (chunk / homcomp::kGroup * 20 + 1);
    for (std::uint64_t i = 0; i < words; ++i)
      store_le(to + 4 * i, static_cast<std::uint32_t>(chunk << 12 | i));
    return homcomp::ChunkSize{4 * words, words == 4096};
  }

 private:
  const bool is_late_;
  std::atomic<bool> is_at_end_{false};
};

Payload write_chunks(unsigned workers) {
  const Field field = *Field::make(Dtype::f32, std::vector{kGroups * homcomp::kGroup * homcomp::kChunk});
  const homcomp::Grid grid(field, 1);
  Arena needed;
  homcomp::WriterSpace(needed, grid, sizeof(float), workers);
  Payload scratch(needed.needed()), payload(homcomp::Layout(grid.chunks()).data + field.bytes());
  Arena arena(scratch);
  const homcomp::WriterSpace space(arena, grid, sizeof(float), workers);
  Chunks chunks(workers > 1);
  Encoded encoded;
  EXPECT_TRUE(
      homcomp::PayloadWriter(grid, 1.0, sizeof(float), chunks, payload.data(), space).write(&encoded).ok());
  payload.resize(encoded.bytes);
  return payload;
}

TEST(Groups, BehindALateOneAreClosedUp) {
  EXPECT_TRUE(write_chunks(2) == write_chunks(1));
}

}  // namespace
}  // namespace homz::test
