// Finds value ranges that a few wild values stretch, such as fill values that nobody declared: a bound
// relative to such a range destroys the data.
#pragma once

#include <string>
#include <vector>

#include "core/error_bound.hpp"
#include "core/field.hpp"

namespace homz::hdf5 {

// What to tell the user, or nothing. `sample`: some of the values that make up the range.
std::string outlier_warning(Dtype dtype, const ValueRange& range, std::vector<double> sample,
                            double abs_error);

}  // namespace homz::hdf5
