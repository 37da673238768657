#include "tools/hdf5/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codecs/builtin.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/selection.hpp"
#include "tools/hdf5/survey.hpp"

namespace homz::hdf5 {
namespace {

Status describe_coding(const Dataset& dataset, DatasetReport* report) {
  HOMZ_ASSIGN(const ChunkCoding coding, dataset.coding());
  if (coding.extents.empty()) {
    report->reason = "the homz filter was asked for, but does not take this type";
    return Status();
  }
  report->compressed = true;
  const Codec* const codec = registry().find(coding.codec);
  report->codec = codec != nullptr
                      ? to_string(CodecChoice{codec, coding.params})
                      : fmt::format("codec {} (unknown here)", static_cast<unsigned>(coding.codec));
  report->requested = coding.requested;
  report->abs_error = coding.abs_error;
  if (coding.fill_bits) report->fill = value_of_bits(coding.dtype, *coding.fill_bits);
  return Status();
}

}  // namespace

Result<DatasetReport> describe(const Dataset& dataset) {
  DatasetReport report;
  report.path = dataset.path;
  report.type = type_text(dataset.type);
  report.is_virtual = dataset.layout == H5D_VIRTUAL;
  report.shape.assign(dataset.extents.begin(), dataset.extents.end());
  report.original_bytes = dataset.values() * dataset.value_bytes();
  report.stored_bytes = H5Dget_storage_size(dataset.id);
  report.chunk_shape.assign(dataset.chunk.begin(), dataset.chunk.end());
  if (dataset.layout == H5D_CHUNKED) {
    hsize_t chunks = 0;
    HOMZ_TRY(check(H5Dget_num_chunks(dataset.id, dataset.space, &chunks), "count the chunks"));
    report.chunks = chunks;
  }
  if (dataset.is_ours()) {
    HOMZ_TRY(describe_coding(dataset, &report));
  } else {
    const std::string filters = dataset.filter_names();
    report.reason = "not compressed by homz" + (filters.empty() ? "" : "; filters: " + filters);
  }
  return report;
}

Result<std::vector<DatasetReport>> describe_all(hid_t file, const Tree& tree) {
  const PathsOf paths_of = paths_of_datasets(tree);
  std::vector<DatasetReport> reports;
  for (const Object& object : tree.objects()) {
    if (object.kind != Object::Kind::dataset) continue;
    const auto described = [&]() -> Result<DatasetReport> {
      HOMZ_ASSIGN(const Dataset dataset, Dataset::open(file, object.path));
      return describe(dataset);
    };
    auto report = described();
    if (!report.ok()) return report.status().within(fmt::format("dataset '{}'", object.path));
    const std::vector<std::string>& paths = paths_of.at(object.path);
    report->other_paths.assign(paths.begin() + 1, paths.end());
    reports.push_back(std::move(*report));
  }
  sort_by_path(&reports);
  return reports;
}

void sort_by_path(std::vector<DatasetReport>* reports) {
  std::sort(reports->begin(), reports->end(),
            [](const DatasetReport& a, const DatasetReport& b) { return a.path < b.path; });
}

}  // namespace homz::hdf5
