// What results should be, by MPI in more digits than the data have.
#pragma once

#include <mpi.h>

#include <variant>
#include <vector>

#include "collectives/transport.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"
#include "tools/mpi_bench/settings.hpp"

namespace homz::mpi_bench {

// The buffers of one point.
struct Buffers {
  std::vector<std::byte> in, out;
  std::uint64_t count = 0;  // values, as native collectives count them
};
// For `size` bytes as the settings count them, rounded up to whole values on every rank.
Buffers make_buffers(const Settings& settings, std::uint64_t size);

// The exact result of this rank: of f32 in double, of f64 in long double. All ranks make it and ask it
// together; what it says is of all of them.
class Reference {
 public:
  static Result<Reference> make(Transport& transport, const Settings& settings, const Buffers& buffers);

  // Largest minus least finite value.
  double range() const { return range_; }
  // The largest difference of the ranks' results to it; infinite where there is a number on one side only.
  double largest_error(const std::vector<std::byte>& out) const;

 private:
  std::variant<std::vector<double>, std::vector<long double>> values_;
  double range_ = 0;
};

// Whether all ranks that have the result have the same bits.
bool is_identical(const Settings& settings, const std::vector<std::byte>& out);

}  // namespace homz::mpi_bench
