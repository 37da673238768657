// Blocking messages between ranks that measure together, and medians of their times.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "collectives/transport.hpp"

namespace homz {

inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline double seconds_between(std::chrono::steady_clock::time_point from,
                              std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Median seconds of f(), which returns a Status: five runs at least, then until the time is up. The first run
// does not count.
template <class F>
Result<double> median_seconds(double budget, F&& f) {
  constexpr std::size_t kLeast = 5, kMost = 1000;
  using Clock = std::chrono::steady_clock;
  HOMZ_TRY(f());
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (Clock::time_point before = begin;
       times.size() < kLeast || (times.size() < kMost && seconds_between(begin, before) < budget);) {
    before = Clock::now();
    HOMZ_TRY(f());
    times.push_back(seconds_between(before, Clock::now()));
  }
  return median_of(std::move(times));
}

// All ranks of the transport, with messages of their own.
Result<std::unique_ptr<Transport>> group_of_all(Transport& transport);

class Party {
 public:
  explicit Party(Transport& transport) : transport_(transport) {}

  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  Transport& transport() { return transport_; }

  Status send(ConstBytes bytes, int to) { return move(to, bytes, {}, bytes.size()); }
  Status receive(Bytes bytes, int from) { return move(from, {}, bytes, bytes.size()); }
  // Both ways at once, in segments that are all on their way together. The peer does the same.
  Status exchange(int peer, ConstBytes out, Bytes in, std::uint64_t segment) {
    return move(peer, out, in, segment);
  }

  Status barrier();
  // The greatest of all ranks', number by number, on all ranks.
  Status slowest(std::span<double> numbers);

 private:
  Status move(int peer, ConstBytes out, Bytes in, std::uint64_t segment);

  Transport& transport_;
};

}  // namespace homz
