// homz info: what is in a stream or an HDF5 file, from headers alone.
#include <fmt/format.h>

#include <memory>

#include "codecs/builtin.hpp"
#include "core/stream.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz info field.homz
  homz info small.h5 --json)";

struct Arguments {
  std::string file;
  bool json = false;
};

const char* representation_text(Representation representation) {
  switch (representation) {
    case Representation::coded:
      return "coded";
    case Representation::stored:
      return "stored as it was: the codec would not have made it smaller";
    case Representation::constant:
      return "one value throughout, apart from fill values";
  }
  return "unknown";
}

const char* representation_name(Representation representation) {
  static constexpr const char* kNames[] = {"coded", "stored", "constant"};
  return kNames[static_cast<int>(representation)];
}

std::string stream_text(const OpenStream& stream, const DatasetReport& report) {
  const StreamHeader& header = stream.header;
  Facts facts;
  facts.add("type", report.type);
  facts.add("shape",
            fmt::format("{} (slowest first), {} values", shape_text(report.shape), header.field.count()));
  facts.add("codec", fmt::format("{}, payload version {}", printable(report.codec), header.codec_version));
  facts.add("payload", representation_text(header.representation));
  facts.add("bound asked", bound_text(header.requested));
  facts.add("bound held", header.abs_error == 0 ? "exact: every value returns bit for bit"
                                                : fmt::format("{} absolute", exact_text(header.abs_error)));
  if (const auto step = step_of(stream))
    facts.add("step", fmt::format("{} between quanta", exact_text(*step)));
  if (const auto alike = codec_alike(stream)) facts.add("goes with", "streams of -c " + *alike);
  if (header.order_matters)
    facts.add("sums", "some values are exact: in further sums the order of streams may matter");
  if (report.fill) facts.add("fill value", fmt::format("{}, returns bit for bit", exact_text(*report.fill)));
  facts.add("original",
            fmt::format("{} ({} bytes)", bytes_text(report.original_bytes), report.original_bytes));
  facts.add("stored", fmt::format("{} ({} bytes)", bytes_text(report.stored_bytes), report.stored_bytes));
  facts.add("ratio", ratio_text(report.original_bytes, report.stored_bytes));
  facts.add("checksums", "header and payload are intact");
  return facts.text();
}

Result<Exit> stream_info(const Arguments& given, const InputFile& file) {
  Progress progress(given.json);
  HOMZ_ASSIGN(const Buffer bytes, file.read_all(progress));
  const auto stream = open_stream(registry(), bytes.bytes(), host(0));
  if (!stream.ok()) return stream.status().within(printable(given.file));
  const Status sound = verify_payload(*stream, host(0));
  if (!sound.ok()) return sound.within(printable(given.file));
  progress.clear();
  const StreamHeader& header = stream->header;
  const DatasetReport report = report_of(header, given.file);
  if (!given.json) {
    print(stream_text(*stream, report));
    return kOk;
  }
  Json json = {{"file", given.file}, {"kind", "homz stream"}, {"format", StreamHeader::kFormat}};
  json.update(json_of(report));
  json["codec_id"] = static_cast<unsigned>(header.codec);
  json["codec_version"] = header.codec_version;
  json["representation"] = representation_name(header.representation);
  json["big_endian_origin"] = header.big_endian_origin;
  if (const auto step = step_of(*stream)) json["step"] = json_number(*step);
  if (const auto alike = codec_alike(*stream)) json["codec_alike"] = *alike;
  json["order_matters"] = header.order_matters;
  json["checksums_ok"] = true;
  print_json(json);
  return kOk;
}

std::string chunks_text(const FileReport& report) {
  Table table({{"chunked dataset", Table::Align::left},
               {"chunks", Table::Align::right},
               {"chunk shape", Table::Align::right}});
  for (const DatasetReport& d : report.datasets)
    if (!d.chunk_shape.empty())
      table.add({printable(d.path), std::to_string(d.chunks), shape_text(d.chunk_shape)});
  return table.empty() ? "" : '\n' + table.text();
}

Result<Exit> hdf5_info(const Arguments& given) {
  HOMZ_ASSIGN(const FileReport report, hdf5::inspect_file(given.file));
  print_warnings(report);
  if (given.json) {
    Json json = {{"file", given.file}, {"kind", "HDF5"}};
    json.update(json_of(report, given.file, ""));
    json.erase("input");
    json.erase("output");
    json.erase("output_bytes");
    json.erase("ratio");
    print_json(json);
    return kOk;
  }
  print(datasets_text(report) + chunks_text(report));
  return kOk;
}

Result<Exit> run(const Arguments& given) {
  HOMZ_ASSIGN(const InputFile file, InputFile::open(given.file));
  HOMZ_ASSIGN(const Content content, recognise(file));
  switch (content) {
    case Content::stream:
      return stream_info(given, file);
    case Content::hdf5:
      return run_guarded(given.file, [&] { return hdf5_info(given); });
    case Content::raw:
      break;
  }
  return Status(Code::corrupt_stream,
                fmt::format("{}: {}", printable(given.file),
                            foreign_format(file).value_or(
                                "neither a homz stream nor HDF5; a raw binary file tells nothing about "
                                "itself")));
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("info", "Tell codecs, bounds and ratios of a stream or an HDF5 file");
  const auto given = std::make_shared<Arguments>();
  command.add_option("file", given->file, "homz stream or HDF5 file")->required()->type_name("FILE");
  command.add_flag("--json", given->json, "report as JSON");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
