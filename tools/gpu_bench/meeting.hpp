// Where ranks that are threads wait for each other, and learn that one has failed.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace homz::gpu_bench {

// Not a std::barrier: those who wait there sleep, and start calls as late as they wake; and they would wait
// for ever for a rank that has failed.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks), slots_(static_cast<std::size_t>(ranks)), present_(ranks) {}
  int ranks() const noexcept { return ranks_; }

  // Waits for all ranks. An error once one has failed.
  Status meet();

  // Everyone's number, by rank.
  template <class T>
  Result<std::vector<T>> all(int rank, T own) {
    static_assert(sizeof(T) == sizeof(std::uint64_t));
    slots_[static_cast<std::size_t>(rank)] = std::bit_cast<std::uint64_t>(own);
    HOMZ_TRY(meet());
    std::vector<T> numbers;
    for (const std::uint64_t slot : slots_) numbers.push_back(std::bit_cast<T>(slot));
    HOMZ_TRY(meet());  // before slots are written again
    return numbers;
  }
  Result<double> most(int rank, double own) {
    HOMZ_ASSIGN(const std::vector<double> numbers, all(rank, own));
    return *std::ranges::max_element(numbers);
  }
  Result<double> sum(int rank, double own) {
    HOMZ_ASSIGN(const std::vector<double> numbers, all(rank, own));
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
  }

  // What a rank fails with first counts. To be called before anything that may wait for other ranks.
  void fail(int rank, const Status& failure);
  void leave();
  // Whether all have left: by `deadline`, and soon after the first failure.
  bool have_left_by(std::chrono::steady_clock::time_point deadline);
  // Success, or what went wrong first; with the rank, unless all say the same.
  Status outcome() const;

 private:
  struct Failure {
    int rank;
    Status status;
  };
  const int ranks_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> has_failed_{false};
  std::vector<std::uint64_t> slots_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  int present_;
  std::vector<Failure> failures_;
};

// Runs work(rank) on a thread for each rank, and gives its outcome. Calls give_up(why), which does not
// return, where ranks are stuck: beyond `most_seconds`, or in a call for a while after another rank has
// failed.
Status on_ranks(Meeting& meeting, double most_seconds, const std::function<Status(int)>& work,
                const std::function<void(const Status&)>& give_up);

}  // namespace homz::gpu_bench
