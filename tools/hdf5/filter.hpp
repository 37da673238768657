// The HDF5 filter "homz": reads and writes datasets through the HDF5 library itself. Depends on nothing of
// the file tools, so that a loadable plugin is this file and coding.cpp.
#pragma once

#include <hdf5.h>

#include "core/status.hpp"
#include "tools/hdf5/coding.hpp"

namespace homz::hdf5 {

// In the range 256-511, which The HDF Group leaves for use without registration. The only place that says it.
inline constexpr H5Z_filter_t kFilterId = 473;

// What H5Zregister and H5PLget_plugin_info want.
const H5Z_class2_t& filter_class() noexcept;

// The filter's parameters, and its flags, as a dataset's creation properties hold them.
Result<Words> stored_words(hid_t properties, unsigned* flags);

// Makes the filter known to the HDF5 library of this process; again and again does no harm.
Status register_filter();

}  // namespace homz::hdf5
