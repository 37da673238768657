// Blocking messages between ranks that measure together, and medians of their times.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "collectives/block.hpp"
#include "collectives/tune.hpp"

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

// Seconds of f(), which returns a Status: the median of five means, each over `batch` seconds or one run.
// Means see what ranks that share cores take from each other. The first run does not count.
template <class F>
Result<double> typical_seconds(double batch, F&& f) {
  constexpr unsigned kBatches = 5;
  using Clock = std::chrono::steady_clock;
  HOMZ_TRY(f());
  std::vector<double> means;
  for (unsigned i = 0; i < kBatches; ++i) {
    const Clock::time_point begin = Clock::now();
    double passed = 0;
    unsigned runs = 0;
    for (; runs == 0 || passed < batch; ++runs) {
      HOMZ_TRY(f());
      passed = seconds_between(begin, Clock::now());
    }
    means.push_back(passed / runs);
  }
  return median_of(std::move(means));
}

// Nothing takes longer than more of it: what does was disturbed.
inline void smooth(Curve& curve) {
  for (std::size_t i = curve.points.size(); i-- > 1;)
    curve.points[i - 1].seconds = std::min(curve.points[i - 1].seconds, curve.points[i].seconds);
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
  // Both ways at once, from GPU to GPU, so many times.
  Status exchange_on_gpus(int peer, ConstBytes out, Bytes in, std::size_t messages);
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

// Each number of the profile that ranks measure alone: the slowest counts.
Status take_slowest(Party& party, Abilities& able);

// Codecs, copying and adding, alone: on the host, and on a GPU whose messages have that home.
Status tune_host(const TuneOptions& options, Abilities& able);
Status tune_gpu_codecs(Home home, const TuneOptions& options, Abilities& able);

// Bytes of the buffers of measure_natives().
std::uint64_t native_room(const Transport& transport, const TuneOptions& options);
// The collectives that the transport has for such values; filled with what adds up to no infinity.
Status measure_natives(Transport& transport, const TuneOptions& options, Bytes in, Bytes out, Exec exec,
                       std::vector<NativeProfile>& natives);

}  // namespace homz
