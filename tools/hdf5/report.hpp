// What is told about datasets.
#pragma once

#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/tree.hpp"

namespace homz::hdf5 {

// The facts that any dataset has; `compressed` and what goes with it are set if it is ours.
Result<DatasetReport> describe(const Dataset& dataset);

// Of all datasets, in the order of their paths.
Result<std::vector<DatasetReport>> describe_all(hid_t file, const Tree& tree);

void sort_by_path(std::vector<DatasetReport>* reports);

}  // namespace homz::hdf5
