// NaN, infinities, -0, sums that overflow, incompressible data: as the uncompressed operation gives, with the
// same bits on all ranks; other values keep their bound.
#include <cmath>
#include <cstring>
#include <limits>

#include "codecs/builtin.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr Scheme kSchemes[] = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                               Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                               Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};
constexpr std::uint64_t kCount = 700;
constexpr double kBound = 1e-2;

template <class T>
bool same_bits(const Values<T>& a, const Values<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// f(inputs, results by rank, what is run) of all that can run.
template <class T, class F>
void for_all(const std::vector<Values<T>>& inputs, std::initializer_list<ReduceOp> ops, double bound, F&& f) {
  const int ranks = static_cast<int>(inputs.size());
  struct Run {
    Algorithm algorithm;
    Scheme scheme;
    ReduceOp op;
    std::vector<Values<T>> results;
    CallReport report;  // rank 0's
  };
  std::vector<Run> runs;
  for (const ReduceOp op : ops)
    for (const Scheme scheme : kSchemes)
      for (const Algorithm algorithm : kAllreduce)
        if (can_do(scheme, op))
          runs.push_back({algorithm, scheme, op, std::vector<Values<T>>(inputs.size()), {}});
  on_ranks(ranks, [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    for (Run& run : runs) {
      CallReport report;
      CollectiveOptions options;
      options.algorithm = run.algorithm;
      options.scheme = run.scheme;
      options.abs_error = run.scheme == Scheme::plain ? 0 : bound;
      options.piece_values = 256;
      options.report = rank == 0 ? &run.report : &report;
      Values<T>& out = run.results[rank];
      out.resize(inputs[rank].size());
      const Status status =
          communicator.allreduce(bytes_of(inputs[rank]), bytes_of(out), dtype_of<T>(), run.op, options);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  });
  for (const Run& run : runs) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, " << to_string(run.algorithm) << ", "
                                    << to_string(run.scheme) << ", " << to_string(run.op));
    for (const auto& result : run.results) EXPECT_TRUE(same_bits(result, run.results[0]));
    f(run.results[0], run.op, run.report);
  }
}

template <class T>
std::vector<Values<T>> smooth(int ranks) {
  std::vector<Values<T>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<T>(r, kCount));
  return inputs;
}

// Where a rank has them, so has the result; elsewhere the bound holds.
template <class T>
void check_nan_and_infinity(int ranks) {
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
  auto inputs = smooth<T>(ranks);
  auto& odd = inputs[static_cast<std::size_t>(ranks) / 2];
  odd[5] = kNaN;
  odd[300] = kInf;
  odd[301] = -kInf;
  for (std::size_t i = 400; i < 440; ++i) odd[i] = kNaN;
  inputs[0][600] = kInf;
  inputs[1][600] = -kInf;
  const auto is_special = [](std::size_t i) {
    return i == 5 || i == 300 || i == 301 || i == 600 || (i >= 400 && i < 440);
  };
  for_all(inputs, {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max}, kBound,
          [&](const Values<T>& result, ReduceOp op, const CallReport&) {
            const auto wanted = exact(inputs, op);
            long double worst = 0;
            for (std::size_t i = 0; i < result.size(); ++i)
              if (!is_special(i)) worst = std::max(worst, std::abs(result[i] - wanted[i]));
            EXPECT_LE(worst, kBound);
            for (const std::size_t i : {5, 400, 417, 439}) EXPECT_TRUE(std::isnan(result[i])) << i;
            if (op == ReduceOp::min) {
              EXPECT_LE(std::abs(result[300] - wanted[300]), kBound);
              EXPECT_EQ(result[301], -kInf);
              EXPECT_EQ(result[600], -kInf);
            } else if (op == ReduceOp::max) {
              EXPECT_EQ(result[300], kInf);
              EXPECT_LE(std::abs(result[301] - wanted[301]), kBound);
              EXPECT_EQ(result[600], kInf);
            } else {
              EXPECT_EQ(result[300], kInf);
              EXPECT_EQ(result[301], -kInf);
              EXPECT_TRUE(std::isnan(result[600]));
            }
          });
}

TEST(SpecialValues, NanAndInfinity) {
  const Watchdog watchdog(100);
  check_nan_and_infinity<float>(2);
  check_nan_and_infinity<float>(5);
  check_nan_and_infinity<double>(3);
}

// NaN of different bits on several ranks: one of them, the same on all.
TEST(SpecialValues, NanOfDifferentBits) {
  const Watchdog watchdog(100);
  auto inputs = smooth<float>(4);
  for (std::uint32_t r = 0; r < 4; ++r)
    for (std::size_t i = 10; i < 60; ++i) {
      const std::uint32_t bits =
          (r % 2 == 0 ? 0x7fc00000u : 0xffc00000u) + 17 * r + static_cast<std::uint32_t>(i);
      std::memcpy(&inputs[r][i], &bits, sizeof bits);
    }
  for_all(inputs, {ReduceOp::sum, ReduceOp::average, ReduceOp::max, ReduceOp::prod}, kBound,
          [&](const Values<float>& result, ReduceOp, const CallReport&) {
            for (std::size_t i = 0; i < result.size(); ++i)
              EXPECT_EQ(std::isnan(result[i]), i >= 10 && i < 60) << i;
          });
}

TEST(SpecialValues, NegativeZeros) {
  const Watchdog watchdog(100);
  const std::vector<Values<float>> inputs(3, Values<float>(kCount, -0.0f));
  for_all(inputs, {ReduceOp::sum, ReduceOp::min}, kBound,
          [&](const Values<float>& result, ReduceOp, const CallReport&) {
            for (const float x : result) EXPECT_EQ(x, 0.0f);
          });
}

// With a bound as large as the values allow; sums beyond the type are infinite.
TEST(SpecialValues, SumsThatOverflow) {
  const Watchdog watchdog(100);
  constexpr float kMost = std::numeric_limits<float>::max();
  auto inputs = smooth<float>(3);
  for (auto& values : inputs) values[7] = kMost;
  inputs[1][8] = kMost;
  for_all(inputs, {ReduceOp::sum, ReduceOp::average}, 1e34,
          [&](const Values<float>& result, ReduceOp, const CallReport&) {
            EXPECT_EQ(result[7], std::numeric_limits<float>::infinity());
            EXPECT_TRUE(std::isfinite(result[8]));
            for (std::size_t i = 9; i < result.size(); ++i) EXPECT_LE(std::abs(result[i]), 1e34f);
          });
  for_all(inputs, {ReduceOp::sum}, kBound,  // far too tight for values of this size
          [&](const Values<float>& result, ReduceOp, const CallReport& report) {
            EXPECT_EQ(report.scheme, Scheme::plain);
            EXPECT_EQ(result[7], std::numeric_limits<float>::infinity());
          });
}

// Bits at random: large and small, NaN, infinities.
TEST(SpecialValues, BitsAtRandom) {
  const Watchdog watchdog(100);
  std::vector<Values<double>> inputs(3, Values<double>(kCount));
  std::uint64_t state = 1;
  for (auto& values : inputs)
    for (double& x : values) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t bits = state ^ state >> 31;
      std::memcpy(&x, &bits, sizeof x);
    }
  for_all(inputs, {ReduceOp::sum, ReduceOp::max}, 1e290,
          [&](const Values<double>&, ReduceOp, const CallReport&) {});
}

// Data that do not compress: right, and no more than 3 % and frames more on the wire than uncompressed.
TEST(SpecialValues, IncompressibleData) {
  const Watchdog watchdog(100);
  constexpr std::uint64_t kMany = 40000;
  std::vector<Values<float>> inputs(4, Values<float>(kMany));
  std::uint64_t state = 7;
  for (auto& values : inputs)
    for (float& x : values) {  // all magnitudes, so that few are near a quantum
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = std::ldexp(static_cast<float>(state >> 40) * 0x1p-24f - 0.5f, static_cast<int>(state >> 33) % 10);
    }
  const double bound = 4 * 512 * 12 * 0x1p-24 * 4;  // as tight as compression takes
  for_all(inputs, {ReduceOp::sum}, bound,
          [&](const Values<float>& result, ReduceOp op, const CallReport& report) {
            if (report.scheme != Scheme::plain) expect_within(result, exact(inputs, op), bound);
            const auto raw = static_cast<double>(report.raw_bytes);
            const double frames = 64.0 * (raw / 1024 + 64);  // of pieces of 256 values
            EXPECT_LE(static_cast<double>(report.sent_bytes), 1.03 * raw + frames);
          });
}

// Whatever room there is for longer pieces.
TEST(Pieces, ThatACodecMakesLongerTravelAsTheyAre) {
  for (const char* codec : {"zstd", "identity", "cuszp", "homcomp"})
    for (const std::uint64_t count : {1, 2, 3, 4, 8, 9, 33, 8193}) {
      std::vector<Values<float>> inputs;
      for (int r = 0; r < 3; ++r) inputs.push_back(rank_data<float>(r, count));
      auto results = inputs;
      on_ranks(3, [&](Communicator& communicator) {
        CollectiveOptions options = options_of(Algorithm::ring, Scheme::ccoll);
        options.codec = *registry().choose(codec);
        Values<float>& own = results[static_cast<std::size_t>(communicator.rank())];
        const Status status = communicator.allreduce(bytes_of(std::as_const(own)), bytes_of(own), Dtype::f32,
                                                     ReduceOp::sum, options);
        ASSERT_TRUE(status.ok()) << codec << ", " << count << ": " << status.message();
      });
      expect_within(results[0], exact(inputs, ReduceOp::sum), kBound);
    }
}

}  // namespace
}  // namespace homz::test
