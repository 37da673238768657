// The HDF5 library itself: what programs must know about it without seeing a type of it.
#pragma once

#include <string>

namespace homz::hdf5 {

struct LibraryInfo {
  std::string library;           // version at run time
  std::string headers;           // version at build time
  bool compatible = false;       // same major and minor version
  std::string plugin_directory;  // where it looks for plugins now, first entry; empty if unknown
  int filter_id = 0;             // of homz
};

LibraryInfo library_info();

// To be called before any other use of HDF5 in a program whose handles all have owners: after a full disk the
// library's own clean-up at exit would crash.
void disable_cleanup_at_exit();

}  // namespace homz::hdf5
