#include "tools/homz/plugin_path.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

PluginDirectory examine(const std::string& path) {
  PluginDirectory directory;
  directory.path = path;
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) {
    directory.problem = errno == ENOENT ? "does not exist" : std::strerror(errno);
    return directory;
  }
  if (!S_ISDIR(there.st_mode)) {
    directory.problem = "is no directory";
    return directory;
  }
  DIR* const listing = ::opendir(path.c_str());
  if (listing == nullptr) {
    directory.problem = std::strerror(errno);
    return directory;
  }
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name.find("homz") != name.npos && name.find(".so") != name.npos) directory.has_homz = true;
  }
  ::closedir(listing);
  directory.usable = true;
  return directory;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t colon = text.find(':');
    if (colon != 0 && !text.empty()) parts.emplace_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

std::string first_problem(const PluginSearch& search) {
  if (search.disabled)
    return "HDF5_PLUGIN_PRELOAD=:: forbids all plugins, so other programs cannot read compressed datasets; "
           "unset it";
  if (!search.from_environment) return "";
  const auto& all = search.directories;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const PluginDirectory& d) { return d.has_homz; });
  // Directories behind the plugin do no harm.
  const auto bad = std::find_if(all.begin(), found, [](const PluginDirectory& d) { return !d.usable; });
  if (bad != found && bad + 1 != all.end())
    return fmt::format("HDF5_PLUGIN_PATH: '{}' {}, and HDF5 ends its search there; remove it from the list",
                       printable(bad->path), bad->problem);
  return "";
}

// This version of homz comes without a plugin, so nothing is wrong if there is none.
std::string first_remark(const PluginSearch& search) {
  const bool found = std::any_of(search.directories.begin(), search.directories.end(),
                                 [](const PluginDirectory& d) { return d.has_homz; });
  if (found || !search.from_environment) return "";
  return "HDF5_PLUGIN_PATH names no directory that holds a homz plugin: other programs read compressed "
         "datasets after homz decompress only";
}

}  // namespace

PluginSearch examine_plugin_search(const std::optional<std::string>& plugin_path,
                                   const std::optional<std::string>& preload,
                                   const std::string& default_directory) {
  PluginSearch search;
  search.disabled = preload && *preload == "::";
  search.from_environment = plugin_path.has_value();
  for (const std::string& path : split(plugin_path.value_or(default_directory)))
    search.directories.push_back(examine(path));
  search.problem = first_problem(search);
  search.remark = first_remark(search);
  return search;
}

}  // namespace homz::cli
