// Opening, creating and closing whole HDF5 files.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "tools/hdf5/handle.hpp"

namespace homz::hdf5 {

Result<std::uint64_t> file_bytes(const std::string& path);

// Opens for reading; never changes the file. Errors say what the file is instead.
Result<Handle> open_input(const std::string& path);

// Creates a file with the properties of `model`: userblock, space strategy, creation order of the root group.
Result<Handle> create_output(const std::string& path, hid_t model);

// Sets in `properties` what a group was created with. The library's own list of it also holds addresses
// within the file of the group, so it is of no use for another file.
Status copy_group_properties(hid_t group, hid_t properties);

// Flushes and closes, then copies the userblock, which HDF5 leaves alone.
Status close_output(Handle file, const std::string& path, const std::string& model_path);

}  // namespace homz::hdf5
