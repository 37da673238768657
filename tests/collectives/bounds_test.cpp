// The bound of the result holds for the worst data: measured in long double, for all schemes, algorithms and
// operations, on up to 64 ranks. Where it cannot be held, the call runs uncompressed and says why.
#include <cmath>
#include <limits>

#include "collectives/bound.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr Scheme kCompressing[] = {Scheme::cprp2p,        Scheme::ccoll,        Scheme::hzccl,
                                   Scheme::homcomp_ahead, Scheme::homcomp_step, Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};
constexpr std::uint64_t kCount = 300;

enum class Input { edges, large_edges, cancelling, large_and_small, tiny, mixed };
constexpr Input kInputs[] = {Input::edges, Input::cancelling, Input::large_and_small, Input::tiny};

// Of rank `rank`, at position i: magnitudes up to 1, which value 0 has. `step`: that between quanta.
template <class T>
T value_of(Input input, int rank, std::uint64_t i, double step) {
  if (i == 0) return 1;
  std::uint64_t state = i * 0x9e3779b97f4a7c15u;
  state ^= state >> 29;
  const double unit = static_cast<double>(state >> 11) * 0x1p-53;  // the same on all ranks
  const auto edge_within = [&](double most) {  // errors of half a step, of the same sign on all ranks
    const T edge = static_cast<T>((std::floor((2 * unit - 1) * most) + 0.5) * step);
    return i % 3 == 0 ? edge : std::nextafter(edge, static_cast<T>(i % 3 == 1 ? -2 : 2));
  };
  switch (input) {
    case Input::edges:
      return edge_within(std::min(0.9 / step, 1000.0));
    case Input::large_edges:
      return edge_within(0.9 / step);
    case Input::cancelling:
      return static_cast<T>((rank % 2 == 0 ? 1 : -1) * unit + (i % 7 == 0 ? 0.5 * step : 0));
    case Input::large_and_small:
      return static_cast<T>((static_cast<std::uint64_t>(rank) + i) % 3 == 0 ? unit : 1e-6 * unit);
    case Input::tiny:
      return static_cast<T>(unit * static_cast<double>(std::numeric_limits<T>::min()) * 1e-2);
    case Input::mixed:  // stretches of each
      return value_of<T>(static_cast<Input>(i / 16 % 5), rank, i, step);
  }
  return 0;
}

bool can(Scheme scheme, ReduceOp op) {
  if (!is_homomorphic(scheme)) return true;
  if (op == ReduceOp::prod) return false;
  return scheme != Scheme::homcomp_fused || op == ReduceOp::sum || op == ReduceOp::average;
}

// As ranks agree on it: the largest magnitude of each is 1.
Result<Spending> spending_of(BoundedCall call) {
  Record data;
  data.magnitude_sum = call.ranks;
  data.magnitude_max = 1;
  data.amplification = std::pow(1 + call.abs_error, call.ranks);
  if (call.algorithm == Algorithm::two_level) {
    call.algorithm = Algorithm::ring;
    call.ranks /= call.ranks_per_node;
  }
  return spend(call, data);
}

// The least bound that is kept compressed: closer ones are lost in the type's roundings, or take too many
// quanta.
double least_bound(BoundedCall call) {
  double fails = 1e-12, holds = 1;
  for (int i = 0; i < 60; ++i) {
    call.abs_error = std::sqrt(fails * holds);
    (spending_of(call).ok() ? holds : fails) = call.abs_error;
  }
  return holds;
}

struct Trial {
  Input input;
  BoundedCall call;  // of two_level: with all ranks
  std::uint64_t count = kCount;
};

// How close the worst came, and how often something was compressed: whether the tests test anything.
struct Tally {
  double closest = 0;
  int compressed = 0;
};

template <class T>
Values<T> values_of(const Trial& trial, int rank) {
  const auto spending = spending_of(trial.call);
  const double step = spending.ok() && spending->step > 0 ? spending->step : trial.call.abs_error;
  Values<T> values(trial.count);
  for (std::uint64_t i = 0; i < trial.count; ++i) values[i] = value_of<T>(trial.input, rank, i, step);
  return values;
}

CollectiveOptions options_of(const Trial& trial) {
  CollectiveOptions options;
  options.algorithm = trial.call.algorithm;
  options.scheme = trial.call.scheme;
  options.abs_error = trial.call.abs_error;
  options.piece_values = 128;
  return options;
}

template <class T>
void check(const Trial& trial, const std::vector<Values<T>>& results, const CallReport& report,
           Tally& tally) {
  SCOPED_TRACE(testing::Message() << trial.call.ranks << " ranks, input " << static_cast<int>(trial.input)
                                  << ", " << to_string(trial.call.algorithm) << ", "
                                  << to_string(trial.call.scheme) << ", " << to_string(trial.call.op)
                                  << " within " << trial.call.abs_error);
  for (const Values<T>& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(report.scheme, spending_of(trial.call).ok() ? trial.call.scheme : Scheme::plain) << report.reason;
  if (report.scheme == Scheme::plain) {
    EXPECT_NE(report.reason.find("too close"), std::string::npos) << report.reason;
    return;
  }
  std::vector<Values<T>> inputs;
  for (int r = 0; r < trial.call.ranks; ++r) inputs.push_back(values_of<T>(trial, r));
  const auto wanted = exact(inputs, trial.call.op);
  expect_within(results[0], wanted, trial.call.abs_error);
  long double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(results[0][i] - wanted[i]));
  ++tally.compressed;
  tally.closest = std::max(tally.closest, static_cast<double>(worst / trial.call.abs_error));
}

template <class T>
Tally check_all(const std::vector<Trial>& trials) {
  const int ranks = trials.front().call.ranks;
  std::vector<std::vector<Values<T>>> results(trials.size(),
                                              std::vector<Values<T>>(static_cast<std::size_t>(ranks)));
  std::vector<CallReport> reports(trials.size());
  on_ranks(
      ranks,
      [&](Communicator& communicator) {
        const int rank = communicator.rank();
        for (std::size_t i = 0; i < trials.size(); ++i) {
          const Values<T> in = values_of<T>(trials[i], rank);
          Values<T>& out = results[i][static_cast<std::size_t>(rank)];
          out.resize(in.size());
          CollectiveOptions options = options_of(trials[i]);
          if (rank == 0) options.report = &reports[i];
          const Status status =
              communicator.allreduce(bytes_of(in), bytes_of(out), dtype_of<T>(), trials[i].call.op, options);
          ASSERT_TRUE(status.ok()) << status.message();
        }
      },
      trials.front().call.ranks_per_node);
  Tally tally;
  for (std::size_t i = 0; i < trials.size(); ++i) check(trials[i], results[i], reports[i], tally);
  return tally;
}

template <class T>
Tally check_all(int ranks, double bound, std::initializer_list<ReduceOp> ops, int ranks_per_node = 1) {
  std::vector<Trial> trials;
  for (const Input input : kInputs)
    for (const ReduceOp op : ops)
      for (const Scheme scheme : kCompressing)
        for (const Algorithm algorithm : kAllreduce) {
          if (!can(scheme, op) || (ranks_per_node > 1 && algorithm != Algorithm::ring)) continue;
          const Algorithm used = ranks_per_node > 1 ? Algorithm::two_level : algorithm;
          trials.push_back(
              {input,
               {Collective::allreduce, op, dtype_of<T>(), used, scheme, ranks, ranks_per_node, bound, 0},
               kCount});
        }
  return check_all<T>(trials);
}

constexpr auto kAllOps = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod};

class Bounds : public testing::TestWithParam<int> {
 protected:
  const Watchdog watchdog{250};
};

TEST_P(Bounds, HoldInF32) {
  const Tally tally = check_all<float>(GetParam(), 1e-2, kAllOps);
  EXPECT_GT(tally.closest, 0.9);
  EXPECT_GT(tally.compressed, 250);
  check_all<float>(GetParam(), 3e-5, {ReduceOp::sum, ReduceOp::average});
}

TEST_P(Bounds, HoldInF64) {
  check_all<double>(GetParam(), 1e-4, {ReduceOp::sum, ReduceOp::average, ReduceOp::prod});
  check_all<double>(GetParam(), GetParam() * GetParam() * 1.01 / (1 << 29), {ReduceOp::sum});  // most quanta
}

INSTANTIATE_TEST_SUITE_P(Ranks, Bounds, testing::Values(2, 3, 7));

TEST(Bounds, HoldOnTwoLevels) {
  const Watchdog watchdog(250);
  check_all<float>(6, 1e-2, kAllOps, 2);
  check_all<float>(6, 1e-2, kAllOps, 3);
  check_all<double>(6, 1e-2, kAllOps, 2);
}

// Sums and averages by all schemes and algorithms.
template <class T>
std::vector<Trial> of_many_ranks(int ranks, double (*bound_of)(const BoundedCall&)) {
  std::vector<Trial> trials;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average})
    for (const Scheme scheme : kCompressing)
      for (const Algorithm algorithm : kAllreduce) {
        BoundedCall call{Collective::allreduce, op, dtype_of<T>(), algorithm, scheme, ranks, 1, 0, 0};
        call.abs_error = bound_of(call);
        trials.push_back({Input::mixed, call, 40 * static_cast<std::uint64_t>(ranks)});
      }
  return trials;
}

class ManyRanks : public testing::TestWithParam<int> {
 protected:
  // All run compressed, and come so close to the bound.
  template <class T>
  void check(double (*bound_of)(const BoundedCall&), double closeness) {
    const auto trials = of_many_ranks<T>(GetParam(), bound_of);
    const Tally tally = check_all<T>(trials);
    EXPECT_EQ(tally.compressed, static_cast<int>(trials.size()));
    EXPECT_GT(tally.closest, closeness);
  }
  const Watchdog watchdog{280};
};

TEST_P(ManyRanks, KeepWideBounds) {
  check<float>([](const BoundedCall&) { return 1e-2; }, 0.95);
}
// A few units in the last place of the sum.
TEST_P(ManyRanks, KeepTheLeastBoundOfF32) {
  check<float>([](const BoundedCall& call) { return 1.001 * least_bound(call); }, 0.3);
}
// As many quanta as there may be.
TEST_P(ManyRanks, KeepTheLeastBoundOfF64) {
  check<double>([](const BoundedCall& call) { return 1.001 * least_bound(call); }, 0.3);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ManyRanks, testing::Values(16, 17, 32, 64));

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
  const Watchdog watchdog(250);
  constexpr std::uint64_t kMany = 20000;
  for (const int ranks : {2, 3, 8, 64}) {
    std::vector<Values<float>> inputs;
    for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, kMany));
    const auto wanted = exact(inputs, ReduceOp::sum);
    on_ranks(ranks, [&](Communicator& communicator) {
      for (const double sigmas : {2.0, 3.3})
        for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling})
          for (const Scheme scheme : {Scheme::ccoll, Scheme::hzccl}) {
            CallReport worst_case, report;
            CollectiveOptions options;
            options.scheme = scheme;
            options.algorithm = algorithm;
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
            EXPECT_EQ(report.scheme, scheme) << report.reason;
            EXPECT_GE(report.share, worst_case.share);
            EXPECT_GE(report.share, 0.95 * std::sqrt(3.0 * ranks) / sigmas * worst_case.share);
            double missed = 0;
            for (std::uint64_t i = 0; i < kMany; ++i) missed += std::abs(out[i] - wanted[i]) > 1e-2L;
            const double promised = std::erfc(sigmas / std::sqrt(2));
            EXPECT_LE(missed / kMany, promised + 4 * std::sqrt(promised / kMany))
                << ranks << " ranks, " << sigmas << " sigmas, " << to_string(scheme) << ", "
                << to_string(algorithm);
          }
    });
  }
}

}  // namespace
}  // namespace homz::test
