// What HDF5 will do when it looks for plugins in this environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace homz::cli {

struct PluginDirectory {
  std::string path;
  bool usable = false;    // exists and can be read
  bool has_homz = false;  // holds a shared object of homz
  std::string problem;    // why it is not usable; empty if it is
};

struct PluginSearch {
  bool disabled = false;          // HDF5_PLUGIN_PRELOAD=::
  bool from_environment = false;  // HDF5_PLUGIN_PATH replaces the default directory
  std::vector<PluginDirectory> directories;
  std::string problem;  // the first thing to be put right, with its remedy; empty if none
  std::string remark;   // what is as it may be, but worth knowing; empty if nothing
};

// `default_directory` is what HDF5 was built with; HDF5_PLUGIN_PATH replaces it.
PluginSearch examine_plugin_search(const std::optional<std::string>& plugin_path,
                                   const std::optional<std::string>& preload,
                                   const std::string& default_directory);

}  // namespace homz::cli
