#include "tools/homz/reports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

using Align = Table::Align;

double fill_value(const StreamHeader& header) {
  if (header.field.dtype == Dtype::f64) return value_of<double>(*header.fill_bits);
  return value_of<float>(static_cast<std::uint32_t>(*header.fill_bits));
}

// The codec without its options where they are the usual ones.
std::string brief_codec(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const auto chosen = registry().choose(text), usual = registry().choose(name);
  return printable(chosen.ok() && usual.ok() && chosen->params == usual->params ? name : text);
}

std::string compressed_table(const FileReport& report) {
  Table table({{"dataset", Align::left},
               {"type", Align::left},
               {"shape", Align::right},
               {"codec", Align::left},
               {"bound asked", Align::left},
               {"absolute bound", Align::right},
               {"original", Align::right},
               {"stored", Align::right},
               {"ratio", Align::right}});
  for (const DatasetReport& d : report.datasets)
    if (d.compressed)
      table.add({printable(d.path), d.type, shape_text(d.shape), brief_codec(d.codec),
                 bound_text(d.requested), d.abs_error == 0 ? "exact" : number_text(d.abs_error),
                 bytes_text(d.original_bytes), bytes_text(d.stored_bytes),
                 ratio_text(d.original_bytes, d.stored_bytes)});
  return table.empty() ? "" : table.text();
}

std::string other_table(const FileReport& report) {
  Table table({{"left as it is", Align::left},
               {"type", Align::left},
               {"shape", Align::right},
               {"size", Align::right},
               {"reason", Align::left}});
  for (const DatasetReport& d : report.datasets)
    if (!d.compressed)
      table.add({printable(d.path), d.type, shape_text(d.shape), bytes_text(d.original_bytes),
                 printable(d.reason)});
  return table.empty() ? "" : table.text();
}

std::string join(const std::vector<std::string>& blocks) {
  std::string text;
  for (const std::string& block : blocks)
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block;
  return text;
}

}  // namespace

std::string codec_text(const StreamHeader& header) {
  const Codec* codec = registry().find(header.codec);
  if (codec == nullptr) return fmt::format("codec {}", static_cast<unsigned>(header.codec));
  return to_string(CodecChoice{codec, header.params});
}

std::optional<double> step_of(const OpenStream& stream) {
  const CodecArithmetic* const arithmetic = find_arithmetic(stream.header.codec);
  if (arithmetic == nullptr || stream.header.representation != Representation::coded) return std::nullopt;
  const Result<double> step = arithmetic->step(stream);
  return step.ok() ? std::optional(*step) : std::nullopt;
}

std::optional<std::string> codec_alike(const OpenStream& stream) {
  const CodecArithmetic* const arithmetic = find_arithmetic(stream.header.codec);
  if (arithmetic == nullptr || stream.header.representation != Representation::coded) return std::nullopt;
  const Result<CodecParams> params = arithmetic->params_like(stream);
  return params.ok() ? std::optional(to_string(CodecChoice{stream.codec, *params})) : std::nullopt;
}

DatasetReport report_of(const StreamHeader& header, const std::string& name) {
  DatasetReport report;
  report.path = name;
  report.type = std::string(to_string(header.field.dtype)) + (header.big_endian_origin ? " big-endian" : "");
  report.shape.assign(header.field.extents.begin(), header.field.extents.begin() + header.field.rank);
  report.compressed = true;
  report.codec = codec_text(header);
  report.requested = header.requested;
  report.abs_error = header.abs_error;
  if (header.fill_bits) report.fill = fill_value(header);
  report.original_bytes = header.field.bytes();
  report.stored_bytes = StreamHeader::kBytes + header.payload_bytes;
  return report;
}

std::string datasets_text(const FileReport& report) {
  return join({compressed_table(report), other_table(report)});
}

void print_warnings(const FileReport& report) {
  for (const DatasetReport& d : report.datasets)
    for (const std::string& warning : d.warnings) warn(fmt::format("{}: {}", d.path, warning));
  for (const std::string& warning : report.warnings) warn(warning);
}

std::string restored_text(const FileReport& report) {
  Table table({{"dataset", Align::left},
               {"type", Align::left},
               {"shape", Align::right},
               {"size", Align::right},
               {"was compressed by", Align::left},
               {"off by at most", Align::right}});
  std::size_t others = 0;
  for (const DatasetReport& d : report.datasets) {
    if (!d.compressed) {
      ++others;
      continue;
    }
    table.add({printable(d.path), d.type, shape_text(d.shape), bytes_text(d.original_bytes),
               brief_codec(d.codec), d.abs_error == 0 ? "nothing" : exact_text(d.abs_error)});
  }
  if (table.empty()) return "no dataset was compressed by homz: the datasets are as they were\n";
  return table.text() + (others == 0 ? "" : fmt::format("\n{} other datasets are as they were\n", others));
}

std::string totals_text(const FileReport& report) {
  std::string text =
      fmt::format("file: {} -> {}", bytes_text(report.input_bytes), bytes_text(report.output_bytes));
  if (report.output_bytes == 0 || report.input_bytes == 0) return text + '\n';
  const double part = static_cast<double>(report.output_bytes) / static_cast<double>(report.input_bytes);
  return text + fmt::format(", ratio {}, {:.1f} % {}\n", ratio_text(report.input_bytes, report.output_bytes),
                            part <= 1 ? 100 * (1 - part) : 100 * (part - 1), part <= 1 ? "saved" : "more");
}

Json json_of(const DatasetReport& d) {
  Json json = {{"name", d.path}, {"type", d.type}, {"shape", d.shape}, {"compressed", d.compressed}};
  if (d.compressed) {
    json["codec"] = d.codec;
    json["requested"] = json_bound(d.requested);
    json["abs_bound"] = d.abs_error;
    json["fill"] = json_number(d.fill);
  } else {
    json["reason"] = d.reason;
  }
  json["original_bytes"] = d.original_bytes;
  json["stored_bytes"] = d.stored_bytes;
  json["ratio"] = json_ratio(d.original_bytes, d.stored_bytes);
  if (!d.chunk_shape.empty()) {
    json["chunks"] = d.chunks;
    json["chunk_shape"] = d.chunk_shape;
  }
  if (!d.warnings.empty()) json["warnings"] = d.warnings;
  return json;
}

Json json_of(const FileReport& report, const std::string& input, const std::string& output) {
  Json datasets = Json::array();
  for (const DatasetReport& d : report.datasets) datasets.push_back(json_of(d));
  return {{"input", input},
          {"output", output},
          {"datasets", std::move(datasets)},
          {"input_bytes", report.input_bytes},
          {"output_bytes", report.output_bytes},
          {"ratio", json_ratio(report.input_bytes, report.output_bytes)},
          {"warnings", report.warnings}};
}

}  // namespace homz::cli
