// Reports about the datasets of a file, which is HDF5, or one raw array with its stream.
#pragma once

#include <optional>
#include <string>

#include "core/registry.hpp"
#include "core/stream.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/homz/json_output.hpp"

namespace homz::cli {

using hdf5::DatasetReport;
using hdf5::FileReport;

// The name of a stream's codec with its options: "cuszp2:mode=plain", or "codec 77" if it is not known here.
std::string codec_text(const StreamHeader& header);
// Between the quanta of a stream that can be computed with.
std::optional<double> step_of(const OpenStream& stream);
// The codec whose options make streams that go together with this one, if it can be computed with.
std::optional<std::string> codec_alike(const OpenStream& stream);
// What a stream's header tells, as a report of one dataset.
DatasetReport report_of(const StreamHeader& header, const std::string& name);

// The tables of compressed and of other datasets.
std::string datasets_text(const FileReport& report);
void print_warnings(const FileReport& report);  // on standard error
// What decompression restored: how exact each dataset is now.
std::string restored_text(const FileReport& report);
std::string totals_text(const FileReport& report);  // one line

Json json_of(const DatasetReport& dataset);
Json json_of(const FileReport& report, const std::string& input, const std::string& output);

}  // namespace homz::cli
