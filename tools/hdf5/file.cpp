#include "tools/hdf5/file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/hdf5_files.hpp"

namespace homz::hdf5 {
namespace {

// Locks where the file system can, and does without where it cannot (read-only media, network file systems).
Result<Handle> access_properties() {
  HOMZ_ASSIGN(Handle access, own(H5Pcreate(H5P_FILE_ACCESS), "make a property list"));
#if H5_VERSION_GE(1, 10, 7)
  HOMZ_TRY(check(H5Pset_file_locking(access, true, true), "set the locking of files"));
#endif
  return access;
}

Result<hsize_t> userblock_bytes(hid_t file) {
  HOMZ_ASSIGN(const Handle creation, own(H5Fget_create_plist(file), "read the file's properties"));
  hsize_t bytes = 0;
  HOMZ_TRY(check(H5Pget_userblock(creation, &bytes), "read the file's properties"));
  return bytes;
}

Status copy_userblock(const std::string& from, const std::string& to, hsize_t bytes) {
  if (bytes == 0) return Status();
  std::ifstream source(from, std::ios::binary);
  std::fstream target(to, std::ios::binary | std::ios::in | std::ios::out);
  std::vector<char> block(1 << 16);
  for (hsize_t done = 0; done < bytes && source && target;) {
    const auto part = static_cast<std::streamsize>(std::min<hsize_t>(block.size(), bytes - done));
    source.read(block.data(), part);
    target.write(block.data(), part);
    done += static_cast<hsize_t>(part);
  }
  target.flush();
  if (source && target) return Status();
  return Status(Code::io, fmt::format("cannot copy the userblock of '{}': {}", from, std::strerror(errno)));
}

Result<struct stat> look_at(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return Status(Code::io, fmt::format("'{}': {}", path, std::strerror(errno)));
  return info;
}

}  // namespace

Status copy_group_properties(hid_t group, hid_t properties) {
  constexpr const char *kRead = "read the group's properties", *kSet = "set the group's properties";
  HOMZ_ASSIGN(const Handle source, own(H5Gget_create_plist(group), kRead));
  unsigned order = 0, most = 0, least = 0;
  HOMZ_TRY(check(H5Pget_link_creation_order(source, &order), kRead));
  HOMZ_TRY(check(H5Pset_link_creation_order(properties, order), kSet));
  HOMZ_TRY(check(H5Pget_attr_creation_order(source, &order), kRead));
  HOMZ_TRY(check(H5Pset_attr_creation_order(properties, order), kSet));
  HOMZ_TRY(check(H5Pget_link_phase_change(source, &most, &least), kRead));
  HOMZ_TRY(check(H5Pset_link_phase_change(properties, most, least), kSet));
  HOMZ_TRY(check(H5Pget_attr_phase_change(source, &most, &least), kRead));
  HOMZ_TRY(check(H5Pset_attr_phase_change(properties, most, least), kSet));
  return check(H5Pset_obj_track_times(properties, false), kSet);
}

Result<std::uint64_t> file_bytes(const std::string& path) {
  HOMZ_ASSIGN(const struct stat info, look_at(path));
  return static_cast<std::uint64_t>(info.st_size);
}

Result<bool> is_hdf5(const std::string& path) {
  HOMZ_ASSIGN(const struct stat info, look_at(path));
  if (!S_ISREG(info.st_mode)) return false;  // a pipe must not be read here
  constexpr unsigned char kSignature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::io, fmt::format("'{}': {}", path, std::strerror(errno)));
  for (off_t at = 0; at + 8 <= info.st_size; at = at == 0 ? 512 : 2 * at) {
    char bytes[8];
    file.seekg(at);
    if (!file.read(bytes, sizeof bytes)) return false;
    if (std::memcmp(bytes, kSignature, sizeof bytes) == 0) return true;
  }
  return false;
}

Result<Handle> open_input(const std::string& path) {
  HOMZ_ASSIGN(const struct stat info, look_at(path));
  if (S_ISDIR(info.st_mode))
    return Status(Code::io, fmt::format("'{}' is a directory, not an HDF5 file", path));
  if (S_ISREG(info.st_mode) && info.st_size == 0)
    return Status(Code::io, fmt::format("'{}' is empty, not an HDF5 file", path));
  HOMZ_ASSIGN(const bool hdf5, is_hdf5(path));
  if (!hdf5) return Status(Code::io, fmt::format("'{}' is not an HDF5 file", path));
  HOMZ_ASSIGN(const Handle access, access_properties());
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access));
  if (!file.ok()) return failure(fmt::format("open '{}'", path));
  return file;
}

Result<Handle> create_output(const std::string& path, hid_t model) {
  HOMZ_ASSIGN(const Handle creation, own(H5Fget_create_plist(model), "read the file's properties"));
  // The root group is made with the file: its properties are among those of the file.
  HOMZ_ASSIGN(const Handle root, own(H5Gopen2(model, "/", H5P_DEFAULT), "open the root group"));
  HOMZ_TRY(copy_group_properties(root, creation));
  HOMZ_ASSIGN(const Handle access, access_properties());
  H5F_info2_t info;
  HOMZ_TRY(check(H5Fget_info2(model, &info), "look at the file"));
  // Large attributes need the newer object headers; a file of the oldest format keeps it.
  if (info.super.version >= 2)
    HOMZ_TRY(check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file format"));
  Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access));
  if (!file.ok()) return failure(fmt::format("create '{}'", path));
  return file;
}

Status close_output(Handle file, const std::string& path, const std::string& model_path) {
  HOMZ_ASSIGN(const hsize_t userblock, userblock_bytes(file));
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || !file.close()) return failure(fmt::format("finish '{}'", path));
  return copy_userblock(model_path, path, userblock);
}

}  // namespace homz::hdf5
