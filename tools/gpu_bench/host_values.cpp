#include "tools/gpu_bench/host_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/gpu/gpu.hpp"
#include "core/threads.hpp"
#include "tools/bench/point.hpp"
#include "tools/bench/rank_data.hpp"

namespace homz::gpu_bench {
namespace {

constexpr std::uint64_t kShift = 1000003;  // values between two repetitions; less than a period
constexpr std::uint64_t kSlice = std::uint64_t{1} << 18;  // values that a thread checks at once

// The value of a period that value i of the whole repeats.
std::uint64_t place_of(std::uint64_t i, std::uint64_t period) {
  return i < period ? i : (i % period + i / period * kShift) % period;
}

template <class W>
W combined(ReduceOp op, W a, W b) {
  switch (op) {
    case ReduceOp::min:
      return std::min(a, b);
    case ReduceOp::max:
      return std::max(a, b);
    case ReduceOp::prod:
      return a * b;
    default:
      return a + b;
  }
}

}  // namespace

// What results should be, value by value.
template <class T>
class HostValues::Exact {
 public:
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

  Exact(const HostValues& values, const bench::Extents& extents)
      : values_(values), count_(extents.count), period_(std::min(extents.in, kPeriod) / sizeof(T)) {}

  std::uint64_t period() const { return period_; }

  Wide input(int rank, std::uint64_t i) const {
    T value;
    std::memcpy(&value,
                values_.of_rank_[static_cast<std::size_t>(rank)].data() + place_of(i, period_) * sizeof(T),
                sizeof(T));
    return value;
  }

  Wide reduced(std::uint64_t i) const {
    const ReduceOp op = values_.settings_.op;
    Wide result = input(0, i);
    for (int r = 1; r < values_.ranks(); ++r) result = combined(op, result, input(r, i));
    return op == ReduceOp::average ? result / values_.ranks() : result;
  }

  // Value i of a rank's result.
  Wide result(int rank, std::uint64_t i) const {
    switch (values_.settings_.collective) {
      case Collective::bcast:
        return input(0, i);
      case Collective::allgather:
        return input(static_cast<int>(i / count_), i % count_);
      case Collective::reduce_scatter:
        return reduced(static_cast<std::uint64_t>(rank) * count_ + i);
      default:
        return reduced(i);
    }
  }

 private:
  const HostValues& values_;
  std::uint64_t count_, period_;
};

Status HostValues::make(int rank, const std::string& data, std::uint64_t bytes) {
  std::vector<std::byte>& own = of_rank_[static_cast<std::size_t>(rank)];
  own.resize(std::min(bytes, kPeriod));
  return bench::fill({data == "noise" ? "incompressible" : data, false, settings_.dtype}, rank, own);
}

Status HostValues::copy_to(int rank, Bytes device, CUstream_st* stream) const {
  const std::uint64_t size = size_of(settings_.dtype),
                      period = std::min<std::uint64_t>(device.size(), kPeriod);
  const ConstBytes made = of_rank_[static_cast<std::size_t>(rank)];
  HOMZ_TRY(gpu::copy(made.first(period), device, stream));
  const Bytes first = device.first(period);
  for (std::uint64_t at = period; at < device.size();) {
    // From its place in the period to the end of the period or of the repetition.
    const std::uint64_t place = place_of(at / size, period / size) * size;
    const std::uint64_t some =
        std::min({period - place, period - at % period, std::uint64_t{device.size()} - at});
    HOMZ_TRY(gpu::copy(first.subspan(place, some), device.subspan(at, some), stream));
    at += some;
  }
  return Status();
}

ValueRange HostValues::part_of_range(int rank, const bench::Extents& extents) const {
  return with_dtype(settings_.dtype, [&](auto zero) {
    const Exact<decltype(zero)> exact(*this, extents);
    const std::uint64_t n = static_cast<std::uint64_t>(ranks()), r = static_cast<std::uint64_t>(rank);
    ValueRange range;
    const auto take = [&](auto exact_value) {
      const auto value = static_cast<double>(exact_value);
      if (!std::isfinite(value)) return;
      range.min = std::min(range.min, value);
      range.max = std::max(range.max, value);
    };
    // Repetitions show nothing new.
    for (std::uint64_t i = exact.period() * r / n; i < exact.period() * (r + 1) / n; ++i) {
      if (reduces(settings_.collective)) take(exact.reduced(i));
      if (settings_.collective == Collective::bcast) take(exact.input(0, i));
      for (int k = 0; settings_.collective == Collective::allgather && k < ranks(); ++k)
        take(exact.input(k, i));
    }
    return range;
  });
}

double HostValues::largest_error(int rank, const bench::Extents& extents, ConstBytes out,
                                 unsigned threads) const {
  return with_dtype(settings_.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Wide = typename Exact<T>::Wide;
    const Exact<T> exact(*this, extents);
    const std::uint64_t count = out.size() / sizeof(T), slices = (count + kSlice - 1) / kSlice;
    std::vector<double> worst(slices);
    parallel_for(slices, threads, [&](std::uint64_t slice) {
      Wide most = 0;
      for (std::uint64_t i = slice * kSlice; i < std::min(count, (slice + 1) * kSlice); ++i) {
        T value;
        std::memcpy(&value, out.data() + i * sizeof(T), sizeof(T));
        most = std::max(most, bench::error_of<Wide>(value, exact.result(rank, i)));
      }
      worst[slice] = static_cast<double>(most);
    });
    return worst.empty() ? 0 : *std::ranges::max_element(worst);
  });
}

}  // namespace homz::gpu_bench
