// Makes the compressed copy of a file.

#include <fmt/format.h>

#include <algorithm>

#include "tools/hdf5/chunk_io.hpp"
#include "tools/hdf5/copy.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/file.hpp"
#include "tools/hdf5/filter.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/report.hpp"
#include "tools/hdf5/selection.hpp"
#include "tools/hdf5/survey.hpp"

namespace homz::hdf5 {
namespace {

class Compressor {
 public:
  Compressor(hid_t from, hid_t to, const Selection& selection, const CompressOptions& options,
             FileReport* report)
      : from_(from),
        to_(to),
        selection_(selection),
        options_(options),
        workers_(options.threads, options.space),
        report_(report) {}

  // The compressed dataset, or an invalid handle where it is to be copied as it is.
  Result<Handle> remake(const std::string& path, const Translator& translator) {
    HOMZ_ASSIGN(const Dataset dataset, Dataset::open(from_, path));
    HOMZ_ASSIGN(DatasetReport report, describe(dataset));
    const Choice& choice = selection_.choice(path);
    report.warnings = choice.warnings;
    Handle made;
    if (choice.reason.empty()) {
      HOMZ_ASSIGN(made, compress(dataset, choice, translator, &report));
    } else {
      report.compressed = false;
      report.reason = choice.reason;
    }
    report_->datasets.push_back(std::move(report));
    return made;
  }

 private:
  Result<Handle> compress(const Dataset& dataset, const Choice& choice, const Translator& translator,
                          DatasetReport* report) {
    const ChunkGrid grid(dataset.extents,
                         dataset.chunk.empty() ? default_chunk(dataset.extents) : dataset.chunk);
    HOMZ_ASSIGN(const std::vector<std::uint64_t> chunks, existing_chunks(dataset, grid));
    auto surveyed = survey(dataset, grid, chunks, choice.bound, options_.fill, workers_);
    if (!surveyed.ok()) return explain(surveyed.status());
    const ChunkCoding coding = coding_of(dataset, grid, choice, *surveyed);
    HOMZ_ASSIGN(Handle made, create(dataset, grid, coding, translator));
    HOMZ_TRY(transfer(dataset, grid, chunks, coding, made));
    fill_in(grid, chunks.size(), choice, coding, *surveyed, report);
    const std::uint64_t stored = H5Dget_storage_size(made), before = report->stored_bytes;
    if (stored >= before && (!choice.named || stored > report->original_bytes)) {
      keep(fmt::format("would not become smaller: {} bytes instead of {}", stored, before), report);
      return Handle();
    }
    report->stored_bytes = stored;
    return made;
  }

  // Not linked: closing it without a link frees its space again.
  Result<Handle> create(const Dataset& dataset, const ChunkGrid& grid, const ChunkCoding& coding,
                        const Translator& translator) {
    HOMZ_ASSIGN(const Handle type, translator.type(dataset.type));
    HOMZ_ASSIGN(const Handle properties, own(H5Pcopy(dataset.properties), "copy the properties"));
    if (!dataset.filters.empty())
      HOMZ_TRY(check(H5Premove_filter(properties, H5Z_FILTER_ALL), "remove the filters"));
    HOMZ_TRY(check(H5Pset_chunk(properties, grid.rank(), grid.chunk().data()), "set the chunks"));
    // Partial chunks must be filtered too. Not set without need: it asks for the file format of HDF5 1.10.
    unsigned chunk_options = 0;
    HOMZ_TRY(check(H5Pget_chunk_opts(properties, &chunk_options), "read the properties"));
    if (chunk_options != 0) HOMZ_TRY(check(H5Pset_chunk_opts(properties, 0), "set the properties"));
    HOMZ_TRY(check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_INCR), "set the properties"));
    HOMZ_TRY(check(H5Pset_obj_track_times(properties, false), "set the properties"));
    const Words words = user_words(coding);
    HOMZ_TRY(check(H5Pset_filter(properties, kFilterId, H5Z_FLAG_MANDATORY, words.size(), words.data()),
                   "set the homz filter"));
    return own(H5Dcreate_anon(to_, type, dataset.space, properties, H5P_DEFAULT), "create the dataset");
  }

  Status transfer(const Dataset& dataset, const ChunkGrid& grid, const std::vector<std::uint64_t>& chunks,
                  const ChunkCoding& coding, hid_t made) {
    const std::uint64_t batch = batch_chunks(grid, 2 * coding.bytes());
    HOMZ_ASSIGN(ChunkReader reader, ChunkReader::make(dataset, grid, workers_));
    HOMZ_ASSIGN(ChunkWriter writer, ChunkWriter::make(made, grid, coding, batch, workers_));
    HOMZ_ASSIGN(Slots slots, Slots::make(batch, coding.bytes()));
    HOMZ_ASSIGN(const LibraryFill padding, library_fill(dataset.properties, coding.dtype));
    const std::uint64_t before = done_, bytes = dataset.values() * size_of(coding.dtype);
    for (std::size_t first = 0; first < chunks.size(); first += batch) {
      const auto part = std::span(chunks).subspan(first, std::min<std::size_t>(batch, chunks.size() - first));
      if (const Status status = reader.read(part, slots, padding.value); !status.ok()) return explain(status);
      if (const Status status = writer.write(part, slots); !status.ok())
        return status.code() == Code::io ? status : explain(status);
      tell(before + bytes / chunks.size() * (first + part.size()));
    }
    tell(before + bytes);
    return Status();
  }

  static ChunkCoding coding_of(const Dataset& dataset, const ChunkGrid& grid, const Choice& choice,
                               const Survey& surveyed) {
    ChunkCoding coding;
    coding.abs_error = surveyed.abs_error;
    coding.requested = choice.bound;
    coding.fill_bits = surveyed.fill_bits;
    coding.codec = choice.codec.codec->info().id;
    coding.params = choice.codec.params;
    coding.dtype = dataset.element->dtype;
    coding.big_endian = dataset.element->big_endian;
    coding.extents.assign(grid.chunk().begin(), grid.chunk().end());
    return coding;
  }

  static void fill_in(const ChunkGrid& grid, std::uint64_t chunks, const Choice& choice,
                      const ChunkCoding& coding, const Survey& surveyed, DatasetReport* report) {
    report->compressed = true;
    report->reason.clear();
    report->codec = to_string(choice.codec);
    report->requested = choice.bound;
    report->abs_error = coding.abs_error;
    if (coding.fill_bits) report->fill = value_of_bits(coding.dtype, *coding.fill_bits);
    report->chunks = chunks;
    report->chunk_shape.assign(grid.chunk().begin(), grid.chunk().end());
    report->warnings.insert(report->warnings.end(), surveyed.warnings.begin(), surveyed.warnings.end());
  }

  static void keep(std::string reason, DatasetReport* report) {
    report->compressed = false;
    report->reason = std::move(reason);
    report->codec.clear();
    report->abs_error = 0;
  }

  // For failures that lie in the dataset or in what was asked for it.
  static Status explain(const Status& status) {
    if (status.code() == Code::out_of_memory) return status;
    return Status(status.code(), status.message() + " (--exclude leaves the dataset as it is)");
  }

  void tell(std::uint64_t done) {
    done_ = done;
    if (options_.progress) options_.progress(done, selection_.bytes());
  }

  hid_t from_, to_;
  const Selection& selection_;
  const CompressOptions& options_;
  Workers workers_;
  FileReport* report_;
  std::uint64_t done_ = 0;
};

Result<FileReport> compress_open(const std::string& input, const std::string& output,
                                 const CompressOptions& options) {
  HOMZ_TRY(register_filter());
  FileReport report;
  HOMZ_ASSIGN(const Handle from, open_input(input));
  HOMZ_ASSIGN(const Tree tree, Tree::read(from));
  HOMZ_ASSIGN(const Selection selection, Selection::make(from, tree, options));
  HOMZ_ASSIGN(Handle to, create_output(output, from));
  Compressor compressor(from, to, selection, options, &report);
  report.warnings = selection.warnings();
  HOMZ_TRY(copy_file(from, to, tree, &report, [&](const std::string& path, const Translator& translator) {
    return compressor.remake(path, translator);
  }));
  HOMZ_TRY(close_output(std::move(to), output, input));
  return finish_report(std::move(report), input, output);
}

}  // namespace

Result<FileReport> compress_file(const std::string& input, const std::string& output,
                                 const CompressOptions& options) {
  const QuietErrors quiet;
  auto report = no_throw([&] { return compress_open(input, output, options); });
  if (!report.ok()) return about_file(report.status(), input, output);
  return report;
}

}  // namespace homz::hdf5
