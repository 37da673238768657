// Makes the plain copy of a file.

#include <fmt/format.h>

#include <algorithm>

#include "tools/hdf5/chunk_io.hpp"
#include "tools/hdf5/copy.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/file.hpp"
#include "tools/hdf5/filter.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/report.hpp"

namespace homz::hdf5 {
namespace {

class Decompressor {
 public:
  Decompressor(hid_t from, hid_t to, const DecompressOptions& options, std::uint64_t total,
               FileReport* report)
      : from_(from),
        to_(to),
        workers_(options.threads, options.space),
        total_(total),
        progress_(options.progress),
        report_(report) {}

  Result<Handle> remake(const std::string& path, const Translator& translator) {
    HOMZ_ASSIGN(const Dataset dataset, Dataset::open(from_, path));
    HOMZ_ASSIGN(DatasetReport report, describe(dataset));
    const bool compressed = report.compressed;
    Handle made;
    if (compressed) {
      const ChunkGrid grid(dataset.extents, dataset.chunk);
      HOMZ_ASSIGN(const std::vector<std::uint64_t> chunks, existing_chunks(dataset, grid));
      HOMZ_ASSIGN(made, create(dataset, chunks.size() < grid.count(), translator));
      HOMZ_TRY(transfer(dataset, grid, chunks, made));
      report.stored_bytes = H5Dget_storage_size(made);
    }
    report_->datasets.push_back(std::move(report));
    return made;
  }

 private:
  // `sparse`: some chunks do not exist; their part of contiguous storage gets the fill value.
  Result<Handle> create(const Dataset& dataset, bool sparse, const Translator& translator) {
    HOMZ_ASSIGN(const Handle type, translator.type(dataset.type));
    HOMZ_ASSIGN(const Handle properties, own(H5Pcopy(dataset.properties), "copy the properties"));
    HOMZ_TRY(check(H5Premove_filter(properties, H5Z_FILTER_ALL), "remove the filters"));
    if (dataset.is_fixed()) {
      HOMZ_TRY(check(H5Pset_layout(properties, H5D_CONTIGUOUS), "set the layout"));
      HOMZ_TRY(check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_DEFAULT), "set the properties"));
      H5D_fill_value_t fill;
      HOMZ_TRY(check(H5Pfill_value_defined(properties, &fill), "read the fill value"));
      if (sparse && fill != H5D_FILL_VALUE_UNDEFINED)
        HOMZ_TRY(check(H5Pset_fill_time(properties, H5D_FILL_TIME_ALLOC), "set the properties"));
    }
    HOMZ_TRY(check(H5Pset_obj_track_times(properties, false), "set the properties"));
    return own(H5Dcreate_anon(to_, type, dataset.space, properties, H5P_DEFAULT), "create the dataset");
  }

  Status transfer(const Dataset& dataset, const ChunkGrid& grid, const std::vector<std::uint64_t>& chunks,
                  hid_t made) {
    const Dtype dtype = dataset.element->dtype;
    const std::uint64_t chunk_bytes = grid.chunk_values() * size_of(dtype);
    const std::uint64_t batch = batch_chunks(grid, chunk_bytes);
    HOMZ_ASSIGN(ChunkReader reader, ChunkReader::make(dataset, grid, workers_));
    HOMZ_ASSIGN(Slots slots, Slots::make(batch, chunk_bytes));
    HOMZ_ASSIGN(const LibraryFill padding, library_fill(dataset.properties, dtype));
    const std::uint64_t before = done_, bytes = dataset.values() * size_of(dtype);
    for (std::size_t first = 0; first < chunks.size(); first += batch) {
      const auto part = std::span(chunks).subspan(first, std::min<std::size_t>(batch, chunks.size() - first));
      HOMZ_TRY(reader.read(part, slots, padding.value));
      for (std::size_t i = 0; i < part.size(); ++i)
        HOMZ_TRY(write_box(made, native_type(dtype), grid, grid.box(part[i]), slots[i]));
      tell(before + bytes / chunks.size() * (first + part.size()));
    }
    tell(before + bytes);
    return Status();
  }

  void tell(std::uint64_t done) {
    done_ = done;
    if (progress_) progress_(done, total_);
  }

  hid_t from_, to_;
  Workers workers_;
  std::uint64_t total_, done_ = 0;
  const Progress& progress_;
  FileReport* report_;
};

// Bytes of data that the compressed datasets declare.
Result<std::uint64_t> declared_bytes(hid_t file, const Tree& tree, std::uint64_t max_bytes) {
  HOMZ_ASSIGN(const auto reports, describe_all(file, tree));
  std::uint64_t total = 0;
  bool countable = true;
  for (const DatasetReport& report : reports)
    if (report.compressed)
      countable = countable && !__builtin_add_overflow(total, report.original_bytes, &total);
  if (!countable) return Status(Code::corrupt_stream, "the datasets declare more than 2^64 bytes");
  if (total <= max_bytes) return total;
  return Status(Code::capacity, fmt::format("the compressed datasets declare {} bytes of data, more than the "
                                            "limit of {} bytes; raise it with --max-bytes",
                                            total, max_bytes));
}

Result<FileReport> decompress_open(const std::string& input, const std::string& output,
                                   const DecompressOptions& options) {
  HOMZ_TRY(register_filter());
  FileReport report;
  HOMZ_ASSIGN(const Handle from, open_input(input));
  HOMZ_ASSIGN(const Tree tree, Tree::read(from));
  HOMZ_ASSIGN(const std::uint64_t total, declared_bytes(from, tree, options.max_bytes));
  HOMZ_ASSIGN(Handle to, create_output(output, from));
  Decompressor decompressor(from, to, options, total, &report);
  HOMZ_TRY(copy_file(from, to, tree, &report, [&](const std::string& path, const Translator& translator) {
    return decompressor.remake(path, translator);
  }));
  HOMZ_TRY(close_output(std::move(to), output, input));
  return finish_report(std::move(report), input, output);
}

}  // namespace

Result<FileReport> decompress_file(const std::string& input, const std::string& output,
                                   const DecompressOptions& options) {
  const QuietErrors quiet;
  auto report = no_throw([&] { return decompress_open(input, output, options); });
  if (!report.ok()) return about_file(report.status(), input, output);
  return report;
}

}  // namespace homz::hdf5
