// The bound of the result holds for the worst data: measured in long double, for all schemes, algorithms and
// operations. Where it cannot be held, the call runs uncompressed and says why.
#include <atomic>
#include <cmath>
#include <limits>

#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr Scheme kCompressing[] = {Scheme::cprp2p,        Scheme::ccoll,        Scheme::hzccl,
                                   Scheme::homcomp_ahead, Scheme::homcomp_step, Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};
constexpr std::uint64_t kCount = 300;

enum class Input { edges, cancelling, large_and_small, tiny };
constexpr Input kInputs[] = {Input::edges, Input::cancelling, Input::large_and_small, Input::tiny};

// Of rank `rank`, at position i: magnitudes up to 1, which value 0 has. `step`: an estimate of that between
// quanta.
template <class T>
T value_of(Input input, int rank, std::uint64_t i, double step) {
  if (i == 0) return 1;
  std::uint64_t state = i * 0x9e3779b97f4a7c15u;
  state ^= state >> 29;
  const double unit = static_cast<double>(state >> 11) * 0x1p-53;  // the same on all ranks
  switch (input) {
    case Input::edges: {  // errors of half a step, of the same sign on all ranks
      const double most = std::min(0.9 / step, 1000.0);
      const T edge = static_cast<T>((std::floor((2 * unit - 1) * most) + 0.5) * step);
      if (i % 3 == 0) return edge;
      return std::nextafter(edge, static_cast<T>(i % 3 == 1 ? -2 : 2));
    }
    case Input::cancelling:
      return static_cast<T>((rank % 2 == 0 ? 1 : -1) * unit + (i % 7 == 0 ? 0.5 * step : 0));
    case Input::large_and_small:
      return static_cast<T>((static_cast<std::uint64_t>(rank) + i) % 3 == 0 ? unit : 1e-6 * unit);
    case Input::tiny:
      return static_cast<T>(unit * static_cast<double>(std::numeric_limits<T>::min()) * 1e-2);
  }
  return 0;
}

template <class T>
Values<T> values_of(Input input, int rank, double step) {
  Values<T> values(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) values[i] = value_of<T>(input, rank, i, step);
  return values;
}

// How close the worst came, and how often something was compressed: whether the tests test anything.
std::atomic<double> closest = 0;
std::atomic<int> compressed = 0;

bool can(Scheme scheme, ReduceOp op) {
  if (!is_homomorphic(scheme)) return true;
  if (op == ReduceOp::prod) return false;
  return scheme != Scheme::homcomp_fused || op == ReduceOp::sum || op == ReduceOp::average;
}

template <class T>
void check_bound(Communicator& communicator, Input input, Algorithm algorithm, Scheme scheme, ReduceOp op,
                 double bound) {
  CallReport report;
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = bound;
  options.piece_values = 128;
  options.report = &report;
  Values<T> out(kCount);
  double step = bound;
  for (int round = 0; round < 2; ++round) {  // the first tells the share
    const Values<T> in = values_of<T>(input, communicator.rank(), step);
    const Status status = communicator.allreduce(bytes_of(in), bytes_of(out), dtype_of<T>(), op, options);
    ASSERT_TRUE(status.ok()) << status.message();
    if (round == 0 && report.scheme != Scheme::plain)
      step = 2 * (report.share - static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
  }
  if (report.scheme == Scheme::plain) {
    EXPECT_NE(report.reason.find("too close"), std::string::npos) << report.reason;
    return;
  }
  std::vector<Values<T>> inputs;
  for (int r = 0; r < communicator.size(); ++r) inputs.push_back(values_of<T>(input, r, step));
  const auto wanted = exact(inputs, op);
  long double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) worst = std::max(worst, std::abs(out[i] - wanted[i]));
  ++compressed;
  closest = std::max<double>(closest, static_cast<double>(worst / bound));
  EXPECT_LE(worst, static_cast<long double>(bound))
      << communicator.size() << " ranks, input " << static_cast<int>(input) << ", " << to_string(algorithm)
      << ", " << to_string(scheme) << ", " << to_string(op) << ": " << static_cast<double>(worst / bound);
}

template <class T>
void check_all(int ranks, double bound, std::initializer_list<ReduceOp> ops, int ranks_per_node = 1) {
  on_ranks(
      ranks,
      [&](Communicator& communicator) {
        for (const Input input : kInputs)
          for (const ReduceOp op : ops)
            for (const Scheme scheme : kCompressing)
              for (const Algorithm algorithm : kAllreduce) {
                const Algorithm used = ranks_per_node > 1 ? Algorithm::two_level : algorithm;
                if (!can(scheme, op) || (ranks_per_node > 1 && algorithm != Algorithm::ring)) continue;
                check_bound<T>(communicator, input, used, scheme, op, bound);
              }
      },
      ranks_per_node);
}

constexpr auto kAllOps = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod};

class Bounds : public testing::TestWithParam<int> {
 protected:
  const Watchdog watchdog{250};
};

TEST_P(Bounds, HoldInF32) {
  check_all<float>(GetParam(), 1e-2, kAllOps);
  EXPECT_GT(closest, 0.9);
  EXPECT_GT(compressed, 500);
  check_all<float>(GetParam(), 3e-5, {ReduceOp::sum, ReduceOp::average});
}

TEST_P(Bounds, HoldInF64) {
  check_all<double>(GetParam(), 1e-4, {ReduceOp::sum, ReduceOp::average, ReduceOp::prod});
  check_all<double>(GetParam(), GetParam() * GetParam() * 1.01 / (1 << 29), {ReduceOp::sum});  // most quanta
}

INSTANTIATE_TEST_SUITE_P(Ranks, Bounds, testing::Values(2, 3, 7));

TEST(Bounds, HoldOnManyRanks) {
  const Watchdog watchdog(250);
  check_all<float>(17, 1e-2, {ReduceOp::sum});
}

TEST(Bounds, HoldOnTwoLevels) {
  const Watchdog watchdog(250);
  check_all<float>(6, 1e-2, kAllOps, 2);
  check_all<float>(6, 1e-2, kAllOps, 3);
  check_all<double>(6, 1e-2, kAllOps, 2);
}

// A few units in the last place of the sum: only plain keeps what can be kept.
TEST(Bounds, TooCloseToRoundingRunUncompressed) {
  for (const double bound : {1e-7, 1e-6, 2e-6}) {
    on_ranks(4, [&](Communicator& communicator) {
      for (const Scheme scheme : kCompressing) {
        CallReport report;
        CollectiveOptions options;
        options.scheme = scheme;
        options.abs_error = bound;
        options.report = &report;
        const Values<float> in(100, 1.1f + static_cast<float>(communicator.rank()));
        Values<float> out(100);
        const Status status =
            communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options);
        ASSERT_TRUE(status.ok()) << status.message();
        if (bound > 1e-6) continue;
        EXPECT_EQ(report.scheme, Scheme::plain) << to_string(scheme);
        EXPECT_NE(report.reason.find("too close"), std::string::npos) << report.reason;
        EXPECT_TRUE(report.codec.empty());
      }
    });
  }
}

// Values and bounds below the smallest normal number; nothing can be promised but an answer within the bound.
template <class T>
void check_denormals(Communicator& communicator) {
  const double least = std::numeric_limits<T>::denorm_min();
  for (const Scheme scheme : kCompressing)
    for (const double bound :
         {10 * least, 1000 * least, static_cast<double>(std::numeric_limits<T>::min())}) {
      CollectiveOptions options;
      options.scheme = scheme;
      options.abs_error = bound;
      std::vector<Values<T>> inputs;
      for (int r = 0; r < communicator.size(); ++r) {
        Values<T> values(kCount);
        for (std::uint64_t i = 0; i < kCount; ++i)
          values[i] =
              static_cast<T>(static_cast<double>((i * 7919 + static_cast<unsigned>(r)) % 5000) * least);
        inputs.push_back(values);
      }
      Values<T> out(kCount);
      const Status status = communicator.allreduce(
          bytes_of(std::as_const(inputs[static_cast<std::size_t>(communicator.rank())])), bytes_of(out),
          dtype_of<T>(), ReduceOp::sum, options);
      ASSERT_TRUE(status.ok()) << to_string(scheme) << ", " << bound << ": " << status.message();
      expect_within(out, exact(inputs, ReduceOp::sum), bound);
    }
}

TEST(Bounds, OfDenormals) {
  const Watchdog watchdog(100);
  on_ranks(3, [&](Communicator& communicator) {
    check_denormals<float>(communicator);
    check_denormals<double>(communicator);
  });
}

// A share of erfc(sigmas / sqrt 2) of the values may miss the bound.
TEST(Bounds, OfStandardDeviationsHoldForTheShareThatIsPromised) {
  const Watchdog watchdog(100);
  constexpr std::uint64_t kMany = 20000;
  for (const int ranks : {2, 3, 8})
    for (const double sigmas : {2.0, 3.3}) {
      std::vector<Values<float>> inputs;
      for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, kMany));
      const auto wanted = exact(inputs, ReduceOp::sum);
      on_ranks(ranks, [&](Communicator& communicator) {
        for (const Scheme scheme : {Scheme::ccoll, Scheme::hzccl}) {
          CallReport worst_case, report;
          CollectiveOptions options;
          options.scheme = scheme;
          options.algorithm = Algorithm::ring;
          options.abs_error = 1e-2;
          Values<float> out(kMany);
          for (const double promised : {0.0, sigmas}) {
            options.sigmas = promised;
            options.report = promised > 0 ? &report : &worst_case;
            const auto& in = inputs[static_cast<std::size_t>(communicator.rank())];
            const Status status =
                communicator.allreduce(bytes_of(in), bytes_of(out), Dtype::f32, ReduceOp::sum, options);
            ASSERT_TRUE(status.ok()) << status.message();
          }
          EXPECT_GE(report.share, worst_case.share);
          EXPECT_GT(report.share, (ranks == 8 ? 1.4 : 0) * worst_case.share);
          double missed = 0;
          for (std::uint64_t i = 0; i < kMany; ++i) missed += std::abs(out[i] - wanted[i]) > 1e-2L;
          const double promised = std::erfc(sigmas / std::sqrt(2));
          EXPECT_LE(missed / kMany, promised + 4 * std::sqrt(promised / kMany))
              << ranks << " ranks, " << sigmas << " sigmas, " << to_string(scheme);
        }
      });
    }
}

}  // namespace
}  // namespace homz::test
