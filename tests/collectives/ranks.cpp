#include "tests/collectives/ranks.hpp"

#include <cmath>
#include <thread>

#include "collectives/loopback.hpp"

namespace homz::test {

void on_ranks(Transports transports, const std::function<void(Communicator&)>& work, const Profile& profile) {
  std::vector<std::thread> threads;
  for (auto& transport : transports)
    threads.emplace_back([&work, &profile, own = std::move(transport)]() mutable {
      auto communicator = Communicator::make(std::move(own), profile);
      ASSERT_TRUE(communicator.ok()) << communicator.status().message();
      work(*communicator);
    });
  for (std::thread& thread : threads) thread.join();
}

void on_ranks(int ranks, const std::function<void(Communicator&)>& work, int ranks_per_node) {
  on_ranks(loopback(ranks, ranks_per_node), work);
}

template <class T>
Values<T> rank_data(int rank, std::uint64_t count) {
  Values<T> values(count);
  std::uint64_t state = 1000003u * static_cast<std::uint64_t>(rank + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double noise = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    values[i] = static_cast<T>(std::sin(0.01 * static_cast<double>(i) + rank) + 0.01 * noise);
  }
  return values;
}

template <class T>
std::vector<long double> exact(const std::vector<Values<T>>& of_ranks, ReduceOp op) {
  std::vector<long double> result(of_ranks[0].begin(), of_ranks[0].end());
  for (std::size_t r = 1; r < of_ranks.size(); ++r)
    for (std::size_t i = 0; i < result.size(); ++i) {
      const long double x = of_ranks[r][i];
      switch (op) {
        case ReduceOp::min:
          result[i] = std::min(result[i], x);
          break;
        case ReduceOp::max:
          result[i] = std::max(result[i], x);
          break;
        case ReduceOp::prod:
          result[i] *= x;
          break;
        default:
          result[i] += x;
      }
    }
  if (op == ReduceOp::average)
    for (long double& x : result) x /= static_cast<long double>(of_ranks.size());
  return result;
}

template <class T>
void expect_within(const Values<T>& values, const std::vector<long double>& wanted, double bound) {
  ASSERT_EQ(values.size(), wanted.size());
  long double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - wanted[i]));
  EXPECT_LE(worst, bound);
}

template Values<float> rank_data(int, std::uint64_t);
template Values<double> rank_data(int, std::uint64_t);
template std::vector<long double> exact(const std::vector<Values<float>>&, ReduceOp);
template std::vector<long double> exact(const std::vector<Values<double>>&, ReduceOp);
template void expect_within(const Values<float>&, const std::vector<long double>&, double);
template void expect_within(const Values<double>&, const std::vector<long double>&, double);

}  // namespace homz::test
