#include "tools/hdf5/library.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include "tools/hdf5/filter.hpp"

namespace homz::hdf5 {
namespace {

std::string plugin_directory() {
  unsigned count = 0;
  if (H5PLsize(&count) < 0 || count == 0) return "";
  const ssize_t length = H5PLget(0, nullptr, 0);
  if (length <= 0) return "";
  std::string path(static_cast<std::size_t>(length), '\0');
  H5PLget(0, path.data(), path.size() + 1);  // the terminator has its place in a std::string
  return path;
}

}  // namespace

LibraryInfo library_info() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  LibraryInfo info;
  info.library = fmt::format("{}.{}.{}", major, minor, release);
  info.headers = fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
  info.compatible = major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
  info.plugin_directory = plugin_directory();
  info.filter_id = static_cast<int>(kFilterId);
  return info;
}

void disable_cleanup_at_exit() {
  H5dont_atexit();
}

}  // namespace homz::hdf5
