// What to do with which dataset: --dataset, --fill, and whether every choice has the bound that it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error_bound.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/homz/arguments.hpp"

namespace homz::cli {

// GLOB[=codec][@bound], each. A '=' with a '/' somewhere behind it, and an '@' without a bound's colon behind
// it, belong to the glob.
Result<std::vector<hdf5::DatasetRule>> parse_rules(const std::vector<std::string>& texts);

Result<hdf5::Fill> parse_fill(const Argument& argument);  // V, auto or none

// The bit pattern that it stands for; `declared` is what auto takes. An error where the type cannot hold it.
Result<std::optional<std::uint64_t>> fill_bits_in(Dtype dtype, const hdf5::Fill& fill,
                                                  std::optional<std::uint64_t> declared);

// Error if a rule matches none of the file's datasets, with what may have been meant.
Status require_matches(const std::vector<hdf5::DatasetRule>& rules, const hdf5::FileReport& file);

// Error if a lossy codec is chosen, for all datasets or by a rule, for which there is no bound.
Status require_bounds(const std::string& codec, const std::optional<ErrorBound>& bound,
                      const std::vector<hdf5::DatasetRule>& rules);

}  // namespace homz::cli
