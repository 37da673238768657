#include "tools/mpi_bench/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/checksum.hpp"
#include "tools/bench/calls.hpp"
#include "tools/bench/point.hpp"

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

double most_of_ranks(double own) {
  double most = own;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

template <class T>
T value_at(const std::vector<std::byte>& from, std::uint64_t i) {
  T value;
  std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

// This rank's values of the reduced vector, which is reduced stretch by stretch.
template <class T>
std::vector<Wide<T>> reduced(const Settings& settings, const Buffers& buffers) {
  const std::uint64_t count = buffers.in.size() / sizeof(T), own_count = buffers.out.size() / sizeof(T);
  const bool is_scattered = settings.collective == Collective::reduce_scatter;
  const std::uint64_t start = is_scattered ? own_count * static_cast<std::uint64_t>(rank()) : 0;
  std::vector<Wide<T>> values(own_count), own, all;
  for (std::uint64_t first = 0; first < count; first += kStretch) {
    const std::uint64_t some = std::min(kStretch, count - first);
    own.resize(some);
    all.resize(some);
    for (std::uint64_t i = 0; i < some; ++i) own[i] = value_at<T>(buffers.in, first + i);
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(some),
                  sizeof(T) == 4 ? MPI_DOUBLE : MPI_LONG_DOUBLE, op_of(settings.op), MPI_COMM_WORLD);
    for (std::uint64_t i = 0; i < some; ++i) {
      if (first + i < start || first + i >= start + own_count) continue;
      values[first + i - start] = settings.op == ReduceOp::average ? all[i] / ranks() : all[i];
    }
  }
  return values;
}

template <class T>
Result<std::vector<Wide<T>>> moved(Transport& transport, const Settings& settings, const Buffers& buffers) {
  std::vector<std::byte> out = buffers.out;
  if (settings.collective == Collective::bcast) out = buffers.in;
  const ConstBytes in = settings.collective == Collective::bcast ? ConstBytes(out) : ConstBytes(buffers.in);
  HOMZ_TRY(
      transport.native(settings.collective, settings.op, settings.dtype, in, out, buffers.count, 0, host()));
  std::vector<Wide<T>> values(out.size() / sizeof(T));
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = value_at<T>(out, i);
  return values;
}

template <class W>
double range_of(const std::vector<W>& values) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const W x : values) {
    if (!std::isfinite(x)) continue;
    least = std::min(least, static_cast<double>(x));
    most = std::max(most, static_cast<double>(x));
  }
  least = -most_of_ranks(-least);
  most = most_of_ranks(most);
  return least <= most ? most - least : 0;
}

}  // namespace

Buffers make_buffers(const Settings& settings, std::uint64_t size) {
  const bench::Extents extents =
      bench::extents_of(settings.collective, settings.dtype, size, ranks(), rank() == 0);
  Buffers buffers;
  buffers.count = extents.count;
  buffers.in.resize(extents.in);
  buffers.out.resize(extents.out);
  return buffers;
}

Result<Reference> Reference::make(Transport& transport, const Settings& settings, const Buffers& buffers) {
  return with_dtype(settings.dtype, [&](auto zero) -> Result<Reference> {
    using T = decltype(zero);
    Reference reference;
    if (reduces(settings.collective)) {
      reference.values_ = reduced<T>(settings, buffers);
    } else {
      HOMZ_ASSIGN(reference.values_, moved<T>(transport, settings, buffers));
    }
    reference.range_ = std::visit([](const auto& values) { return range_of(values); }, reference.values_);
    return reference;
  });
}

double Reference::largest_error(const std::vector<std::byte>& out) const {
  return std::visit(
      [&](const auto& values) {
        using W = typename std::decay_t<decltype(values)>::value_type;
        using T = std::conditional_t<std::is_same_v<W, double>, float, double>;
        W worst = 0;
        for (std::uint64_t i = 0; i < values.size(); ++i)
          worst = std::max(worst, bench::error_of<W>(value_at<T>(out, i), values[i]));
        return most_of_ranks(static_cast<double>(worst));
      },
      values_);
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
