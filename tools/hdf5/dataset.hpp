// An open dataset and the facts about it that decide what homz does with it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/hdf5/coding.hpp"
#include "tools/hdf5/grid.hpp"
#include "tools/hdf5/handle.hpp"
#include "tools/hdf5/types.hpp"

namespace homz::hdf5 {

struct Dataset {
  std::string path;
  Handle id, type, space, properties;
  std::optional<FloatType> element;  // if it is of a kind that can be compressed
  H5S_class_t space_class = H5S_NO_CLASS;
  H5D_layout_t layout = H5D_LAYOUT_ERROR;
  std::vector<hsize_t> extents, max_extents, chunk;  // chunk: empty unless chunked
  std::vector<H5Z_filter_t> filters;
  bool external = false;  // values in other files

  static Result<Dataset> open(hid_t file, const std::string& path);

  bool is_ours() const;  // our filter stands in its pipeline
  bool only_ours() const { return filters.size() == 1 && is_ours(); }
  bool is_fixed() const { return extents == max_extents; }
  std::uint64_t values() const;  // elements
  std::uint64_t value_bytes() const { return H5Tget_size(type); }
  Result<ChunkCoding> coding() const;  // of a dataset that is ours
  std::string filter_names() const;    // "shuffle, deflate"; empty without filters
};

// The fill value that HDF5 itself knows, converted to `dtype` in the machine's byte order.
struct LibraryFill {
  bool user_defined = false;
  std::vector<std::byte> value;  // zeros if none is defined
};
Result<LibraryFill> library_fill(hid_t properties, Dtype dtype);

}  // namespace homz::hdf5
