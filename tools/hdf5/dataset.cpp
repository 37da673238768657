#include "tools/hdf5/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/filter.hpp"

namespace homz::hdf5 {
namespace {

Status read_extents(Dataset* dataset) {
  dataset->space_class = H5Sget_simple_extent_type(dataset->space);
  if (dataset->space_class != H5S_SIMPLE) return Status();
  const int rank = H5Sget_simple_extent_ndims(dataset->space);
  HOMZ_TRY(check(rank, "read the dataspace"));
  dataset->extents.resize(static_cast<std::size_t>(rank));
  dataset->max_extents.resize(static_cast<std::size_t>(rank));
  return check(
      H5Sget_simple_extent_dims(dataset->space, dataset->extents.data(), dataset->max_extents.data()),
      "read the extents");
}

Status read_storage(Dataset* dataset) {
  const hid_t properties = dataset->properties;
  dataset->layout = H5Pget_layout(properties);
  dataset->external = H5Pget_external_count(properties) > 0;
  if (dataset->layout == H5D_CHUNKED) {
    dataset->chunk.resize(dataset->extents.size());
    HOMZ_TRY(check(H5Pget_chunk(properties, static_cast<int>(dataset->chunk.size()), dataset->chunk.data()),
                   "read the chunk extents"));
  }
  const int filters = H5Pget_nfilters(properties);
  for (int i = 0; i < filters; ++i) {
    unsigned flags, config;
    std::size_t no_words = 0;
    dataset->filters.push_back(H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &no_words,
                                              nullptr, 0, nullptr, &config));
  }
  return Status();
}

// Afterwards no product of extents can wrap, those of the chunks rounded up to cover the dataset included.
Status check_size(const Dataset& dataset) {
  std::uint64_t bytes = H5Tget_size(dataset.type), chunk_bytes = bytes;
  bool fits = true;
  for (std::size_t i = 0; i < dataset.extents.size(); ++i) {
    const std::uint64_t chunk = dataset.chunk.empty() ? 1 : dataset.chunk[i];
    std::uint64_t covered = dataset.extents[i];
    if (covered == 0) return Status();
    if (chunk == 0) return Status(Code::corrupt_stream, "a chunk without extent");
    fits = fits && !__builtin_mul_overflow(ceil_div(covered, chunk), chunk, &covered) &&
           !__builtin_mul_overflow(bytes, covered, &bytes) &&
           !__builtin_mul_overflow(chunk_bytes, chunk, &chunk_bytes);
  }
  if (fits) return Status();
  return Status(Code::corrupt_stream,
                fmt::format("its extents ({}) make more than 2^64 bytes", fmt::join(dataset.extents, ", ")));
}

std::string filter_name(hid_t properties, unsigned place) {
  char name[64] = "";
  unsigned flags, config;
  std::size_t no_words = 0;
  const H5Z_filter_t id =
      H5Pget_filter2(properties, place, &flags, &no_words, nullptr, sizeof name, name, &config);
  name[sizeof name - 1] = 0;
  return name[0] != 0 ? fmt::format("{} ({})", name, id) : fmt::format("filter {}", id);
}

}  // namespace

Result<Dataset> Dataset::open(hid_t file, const std::string& path) {
  Dataset dataset;
  dataset.path = path;
  HOMZ_ASSIGN(dataset.id, own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "open the dataset"));
  HOMZ_ASSIGN(dataset.type, own(H5Dget_type(dataset.id), "read the type"));
  HOMZ_ASSIGN(dataset.space, own(H5Dget_space(dataset.id), "read the dataspace"));
  HOMZ_ASSIGN(dataset.properties, own(H5Dget_create_plist(dataset.id), "read the properties"));
  dataset.element = float_type(dataset.type);
  HOMZ_TRY(read_extents(&dataset));
  HOMZ_TRY(read_storage(&dataset));
  HOMZ_TRY(check_size(dataset));
  return dataset;
}

bool Dataset::is_ours() const {
  return std::find(filters.begin(), filters.end(), kFilterId) != filters.end();
}

std::uint64_t Dataset::values() const {
  if (space_class == H5S_NULL) return 0;
  std::uint64_t product = 1;
  for (const hsize_t extent : extents) product *= extent;
  return product;
}

Result<ChunkCoding> Dataset::coding() const {
  unsigned flags = 0;
  HOMZ_ASSIGN(const Words words, stored_words(properties, &flags));
  HOMZ_ASSIGN(ChunkCoding coding, parse_all_words(registry(), words));
  const bool agrees =
      coding.extents.empty() ||
      (element && coding.dtype == element->dtype && coding.big_endian == element->big_endian &&
       std::equal(coding.extents.begin(), coding.extents.end(), chunk.begin(), chunk.end()));
  if (!agrees)
    return Status(Code::corrupt_stream, "the homz filter's parameters are not those of this dataset");
  return coding;
}

std::string Dataset::filter_names() const {
  std::string names;
  for (std::size_t i = 0; i < filters.size(); ++i)
    names += (i == 0 ? "" : ", ") + filter_name(properties, static_cast<unsigned>(i));
  return names;
}

Result<LibraryFill> library_fill(hid_t properties, Dtype dtype) {
  LibraryFill fill;
  fill.value.resize(size_of(dtype));
  H5D_fill_value_t status;
  HOMZ_TRY(check(H5Pfill_value_defined(properties, &status), "read the fill value"));
  if (status == H5D_FILL_VALUE_USER_DEFINED) {
    fill.user_defined = true;
    HOMZ_TRY(
        check(H5Pget_fill_value(properties, native_type(dtype), fill.value.data()), "read the fill value"));
  }
  return fill;
}

}  // namespace homz::hdf5
