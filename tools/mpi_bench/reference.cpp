#include "tools/mpi_bench/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/checksum.hpp"

namespace homz::mpi_bench {
namespace {

constexpr std::uint64_t kStretch = std::uint64_t{1} << 20;  // values that are reduced at once

int ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int rank() {
  int own = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  return own;
}

MPI_Op op_of(ReduceOp op) {
  return op == ReduceOp::min    ? MPI_MIN
         : op == ReduceOp::max  ? MPI_MAX
         : op == ReduceOp::prod ? MPI_PROD
                                : MPI_SUM;
}

// Calls f(first, exact values) for the reduced vector, stretch by stretch, on all ranks.
template <class T, class F>
void for_each_stretch(const Settings& settings, const std::vector<std::byte>& in, F&& f) {
  const std::uint64_t count = in.size() / sizeof(T);
  std::vector<long double> own, all;
  for (std::uint64_t first = 0; first < count; first += kStretch) {
    const std::uint64_t some = std::min(kStretch, count - first);
    own.resize(some);
    all.resize(some);
    for (std::uint64_t i = 0; i < some; ++i) {
      T value;
      std::memcpy(&value, in.data() + (first + i) * sizeof(T), sizeof(T));
      own[i] = value;
    }
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(some), MPI_LONG_DOUBLE, op_of(settings.op),
                  MPI_COMM_WORLD);
    if (settings.op == ReduceOp::average)
      for (long double& x : all) x /= ranks();
    f(first, all);
  }
}

double most_of_ranks(double own) {
  double most = own;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

// The place of a rank's result within the reduced vector, in values.
std::uint64_t start_of(const Settings& settings, std::uint64_t own_count) {
  return settings.collective == Collective::reduce_scatter ? own_count * static_cast<std::uint64_t>(rank())
                                                           : 0;
}

template <class T>
double error_of(const Settings& settings, const Buffers& buffers, const std::vector<std::byte>& moved) {
  double worst = 0;
  const std::uint64_t count = buffers.out.size() / sizeof(T);
  const auto at = [](const std::vector<std::byte>& from, std::uint64_t i) {
    T value;
    std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
    return value;
  };
  if (!reduces(settings.collective)) {
    for (std::uint64_t i = 0; i < count; ++i)
      worst = std::max(worst,
                       std::abs(static_cast<double>(at(buffers.out, i)) - static_cast<double>(at(moved, i))));
    return worst;
  }
  const std::uint64_t start = start_of(settings, count);
  for_each_stretch<T>(settings, buffers.in, [&](std::uint64_t first, const std::vector<long double>& exact) {
    for (std::uint64_t i = 0; i < exact.size(); ++i) {
      if (first + i < start || first + i >= start + count) continue;
      const long double difference = std::abs(at(buffers.out, first + i - start) - exact[i]);
      if (!(difference <= worst)) worst = static_cast<double>(difference);
    }
  });
  return worst;
}

template <class T>
Range range_of(const Settings& settings, const Buffers& buffers) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const auto take = [&](double x) {
    range.min = std::min(range.min, x);
    range.max = std::max(range.max, x);
  };
  if (reduces(settings.collective)) {
    for_each_stretch<T>(settings, buffers.in, [&](std::uint64_t, const std::vector<long double>& exact) {
      for (const long double x : exact) take(static_cast<double>(x));
    });
  } else {
    for (std::uint64_t i = 0; i < buffers.in.size() / sizeof(T); ++i) {
      T value;
      std::memcpy(&value, buffers.in.data() + i * sizeof(T), sizeof(T));
      take(static_cast<double>(value));
    }
  }
  range.max = most_of_ranks(range.max);
  range.min = -most_of_ranks(-range.min);
  return range;
}

}  // namespace

Buffers make_buffers(const Settings& settings, std::uint64_t size, std::uint64_t* count) {
  const std::uint64_t value = size_of(settings.dtype), n = static_cast<std::uint64_t>(ranks());
  const bool is_root = rank() == 0;
  Buffers buffers;
  if (settings.collective == Collective::allreduce || settings.collective == Collective::reduce ||
      settings.collective == Collective::bcast) {
    *count = (size + value - 1) / value;
    buffers.in.resize(*count * value);
    if (settings.collective != Collective::reduce || is_root) buffers.out.resize(*count * value);
    return buffers;
  }
  *count = (size + n * value - 1) / (n * value);
  const std::uint64_t own = *count * value, all = own * n;
  switch (settings.collective) {
    case Collective::reduce_scatter:
      buffers.in.resize(all);
      buffers.out.resize(own);
      break;
    case Collective::allgather:
      buffers.in.resize(own);
      buffers.out.resize(all);
      break;
    case Collective::scatter:
      if (is_root) buffers.in.resize(all);
      buffers.out.resize(own);
      break;
    case Collective::gather:
      buffers.in.resize(own);
      if (is_root) buffers.out.resize(all);
      break;
    default:
      buffers.in.resize(all);
      buffers.out.resize(all);
  }
  return buffers;
}

Range range_of_result(const Settings& settings, const Buffers& buffers) {
  return with_dtype(settings.dtype, [&](auto zero) { return range_of<decltype(zero)>(settings, buffers); });
}

double largest_error(const Settings& settings, const Buffers& buffers, const std::vector<std::byte>& moved) {
  return most_of_ranks(with_dtype(
      settings.dtype, [&](auto zero) { return error_of<decltype(zero)>(settings, buffers, moved); }));
}

bool is_identical(const Settings& settings, const std::vector<std::byte>& out) {
  if (settings.collective != Collective::allreduce && settings.collective != Collective::allgather &&
      settings.collective != Collective::bcast)
    return true;
  std::uint64_t own = checksum(out), least = 0, most = 0;
  MPI_Allreduce(&own, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return least == most;
}

}  // namespace homz::mpi_bench
