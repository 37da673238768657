// What the library does to values, charged in the place of being done: stands in for collectives/operate.cpp
// and collectives/sample.cpp.
#include "collectives/operate.hpp"
#include "collectives/sample.hpp"
#include "tools/mpi_sim/machine.hpp"

namespace homz {

using mpi_sim::machine;
using mpi_sim::mark;
using mpi_sim::summed_in;
using mpi_sim::take;

namespace {

void take_for(ConstBytes bytes, double seconds_per_byte) {
  take(static_cast<double>(bytes.size()) * seconds_per_byte);
}

}  // namespace

void operate(ReduceOp, Dtype, ConstBytes left, ConstBytes right, Bytes to) {
  mark(to, summed_in(left) + summed_in(right));
  take_for(to, machine().profile.reduce_seconds_per_byte);
}

void divide(Dtype, Bytes values, int) {
  take_for(values, machine().profile.reduce_seconds_per_byte);
}

void copy_values(ConstBytes from, Bytes to) {
  const ConstBytes real_from = mpi_sim::real(from);
  const Bytes real_to = mpi_sim::real(to);
  std::copy_n(real_from.begin(), std::min(real_from.size(), real_to.size()), real_to.begin());
  if (real_from.empty()) mark(to, 1);
  take_for(from, machine().profile.copy_seconds_per_byte);
}

Result<std::uint64_t> sample_scratch(const CodecChoice&, Dtype, double) {
  return std::uint64_t{0};
}

Result<double> sampled_ratio(const CodecChoice&, Dtype dtype, double, ConstBytes data, Bytes) {
  const std::uint64_t count = data.size() / size_of(dtype);
  const double bytes = static_cast<double>(sampled_chunks(count) * kSampledChunk * size_of(dtype));
  const double run = static_cast<double>(kSampledRun * kSampledChunk * size_of(dtype));
  take(bytes / run * machine().profile.codecs.front().encode.seconds(run));
  return machine().ratio;
}

double largest_magnitude(Dtype, ConstBytes data) {
  take_for(data, machine().profile.copy_seconds_per_byte);
  return 1;
}

}  // namespace homz
