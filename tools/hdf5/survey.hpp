// What must be known of all values of a dataset before the first is coded: the fill value and the range.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error_bound.hpp"
#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/grid.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/workers.hpp"

namespace homz::hdf5 {

struct Survey {
  double abs_error = 0;                    // the bound, resolved over the dataset
  std::optional<std::uint64_t> fill_bits;  // in the type of the data
  std::vector<std::string> warnings;
};

// `chunks`: those that exist. Reads all values only if bound or fill value depend on them.
Result<Survey> survey(const Dataset& dataset, const ChunkGrid& grid, const std::vector<std::uint64_t>& chunks,
                      const ErrorBound& bound, const Fill& fill, Workers& workers);

double value_of_bits(Dtype dtype, std::uint64_t bits);

// The fill value that the dataset's attributes or properties declare.
std::optional<std::uint64_t> declared_fill(const Dataset& dataset);

}  // namespace homz::hdf5
