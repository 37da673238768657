// homz compress: HDF5 to HDF5, raw binary to one stream.
#include "core/compress.hpp"

#include <fmt/format.h>

#include <memory>

#include "codecs/builtin.hpp"
#include "core/gpu/offload.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/field_warnings.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/output_file.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/rules.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz compress run.h5 small.h5 --rel 1e-4
  homz compress run.nc small.nc --abs 0.01 --dataset '/T*' --dataset '/precip=zstd'
  homz compress run.h5 small.h5 --rel 1e-4 --exclude '/grid/*' --fill 1e20
  homz compress field.f32 field.homz --type f32 --shape 100x500x500 --abs 1e-3

--dataset restricts compression to the datasets that match. To compress all of them, some with a bound of their own:
  homz compress run.h5 small.h5 --rel 1e-4 --dataset '*' --dataset '/T*@abs:0.01' --dataset '/mask=zstd@lossless')";

struct Arguments {
  std::string input, output, codec = kDefaultCodec;
  Argument fill, threads, device;
  BoundArguments bound;
  RawArguments raw;
  std::vector<std::string> datasets, exclude;
  bool json = false, force = false, quiet = false;
};

// The arguments, understood.
struct Task {
  Arguments given;
  CodecChoice codec;
  std::optional<ErrorBound> bound;
  std::vector<hdf5::DatasetRule> rules;
  hdf5::Fill fill;
  std::optional<RawLayout> raw;
  unsigned threads = 0;
  Space space = Space::host;
};

Result<Task> understand(const Arguments& given) {
  Task task;
  task.given = given;
  HOMZ_TRY(require_name("input", given.input));
  HOMZ_TRY(require_name("output", given.output));
  HOMZ_ASSIGN(task.codec, choose_codec(given.codec));
  HOMZ_ASSIGN(task.bound, given.bound.parse());
  HOMZ_ASSIGN(task.rules, parse_rules(given.datasets));
  HOMZ_TRY(require_bounds(given.codec, task.bound, task.rules));
  HOMZ_ASSIGN(task.fill, parse_fill(given.fill));
  HOMZ_ASSIGN(task.raw, given.raw.parse());
  HOMZ_ASSIGN(task.threads, parse_threads(given.threads));
  HOMZ_ASSIGN(task.space, parse_device(given.device));
  for (const std::string& glob : given.exclude)
    if (glob.empty()) return usage_error("--exclude: the pattern is empty; give one such as '/grid/*'");
  return task;
}

ErrorBound bound_or_lossless(const Task& task) {
  return task.bound.value_or(ErrorBound{BoundMode::lossless, 0});
}

Result<Compressed> encode(const Task& task, const Field& field, ConstBytes data,
                          std::vector<std::string>* warnings) {
  HOMZ_ASSIGN(const std::optional<std::uint64_t> fill_bits,
              fill_bits_in(field.dtype, task.fill, std::nullopt));
  const Exec exec = host(task.threads);
  const ErrorBound bound = bound_or_lossless(task);
  Compression compression{task.codec, field, 0, bound, fill_bits, task.raw->big_endian};
  const ValueRange range = value_range(field, data, fill_bits, exec);
  HOMZ_ASSIGN(compression.abs_error, resolve(bound, range));
  if (!task.codec.codec->info().lossless) {
    for (const auto& warning :
         {outliers_in(field, data, fill_bits, bound, range, compression.abs_error), flattened(bound, range)})
      if (warning) warnings->push_back(*warning);
  }
  HOMZ_ASSIGN(Compressed compressed, task.space == Space::host ? compress_resolved(compression, data, exec)
                                                               : gpu::compress_resolved(compression, data));
  HOMZ_ASSIGN(const StreamHeader header, load(compressed.stream()));
  if (const auto warning = unsuitable_step(task.codec, compression.abs_error, range, header.representation))
    warnings->push_back(*warning);
  return compressed;
}

Result<FileReport> compress_raw(const Task& task, const InputFile& input, OutputFile& output,
                                Progress& progress) {
  HOMZ_ASSIGN(const Buffer data, read_raw(input, *task.raw, progress));
  progress.begin("compressing", 0);
  std::vector<std::string> warnings;
  const auto compressed = encode(task, task.raw->field, data.bytes(), &warnings);
  if (!compressed.ok()) return compressed.status().within(printable(input.path()));
  HOMZ_TRY(output.write(compressed->stream(), progress));
  HOMZ_ASSIGN(const StreamHeader header, load(compressed->stream()));
  FileReport report;
  report.datasets.push_back(report_of(header, input.path()));
  report.datasets.back().warnings = std::move(warnings);
  report.input_bytes = input.size();
  report.output_bytes = compressed->bytes;
  return report;
}

Result<FileReport> compress_hdf5(const Task& task, const InputFile& input, OutputFile& output,
                                 Progress& progress) {
  hdf5::CompressOptions options;
  options.codec = task.given.codec;
  options.bound = bound_or_lossless(task);
  options.datasets = task.rules;
  options.exclude = task.given.exclude;
  options.fill = task.fill;
  options.threads = task.threads;
  options.space = task.space;
  if (!task.rules.empty()) {
    HOMZ_ASSIGN(const FileReport there, hdf5::inspect_file(input.path()));
    HOMZ_TRY(require_matches(task.rules, there).within(printable(input.path())));
  }
  std::uint64_t known_total = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (total != known_total) progress.begin("compressing", known_total = total);
    progress.update(done);
  };
  return hdf5::compress_file(input.path(), output.temporary(), options);
}

Status check_content(const Task& task, const InputFile& input, Content content) {
  const std::string name = printable(input.path());
  if (content == Content::stream)
    return usage_error(fmt::format("{}: already compressed: it is a homz stream; see homz info", name));
  if (content == Content::hdf5 && task.raw)
    return usage_error(fmt::format("{}: is an HDF5 file; --type and --shape are for raw binary files", name));
  if (content == Content::hdf5) return Status();
  if (!task.raw)
    return usage_error(fmt::format(
        "{}: {}", name,
        foreign_format(input).value_or("neither HDF5 nor netCDF-4; for a raw binary file give --type and "
                                       "--shape, such as --type f32 --shape 100x500x500")));
  if (!task.rules.empty() || !task.given.exclude.empty())
    return usage_error(
        fmt::format("{}: is a raw binary file; --dataset and --exclude are for HDF5 files", name));
  return Status();
}

Result<Exit> do_it(const Task& task, const InputFile& input, Content content, OutputFile& output) {
  const Arguments& given = task.given;
  HOMZ_TRY(require_device(task.space));
  Progress progress(given.quiet || given.json);
  HOMZ_ASSIGN(const FileReport report, content == Content::hdf5
                                           ? compress_hdf5(task, input, output, progress)
                                           : compress_raw(task, input, output, progress));
  HOMZ_TRY(output.commit());
  progress.clear();
  print_warnings(report);
  if (given.json)
    print_json(json_of(report, given.input, given.output));
  else if (!given.quiet)
    print(datasets_text(report) + '\n' + totals_text(report));
  return kOk;
}

Result<Exit> run(const Arguments& given) {
  HOMZ_ASSIGN(const Task task, understand(given));
  HOMZ_ASSIGN(const InputFile input, InputFile::open(given.input));
  HOMZ_ASSIGN(const Content content, recognise(input));
  HOMZ_TRY(check_content(task, input, content));
  HOMZ_ASSIGN(OutputFile output, OutputFile::create(given.output, input, given.force));
  const Action work = [&] { return do_it(task, input, content, output); };
  return content == Content::hdf5 ? run_guarded(given.input, work) : work();
}

}  // namespace

void add_compress(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("compress", "Compress an HDF5, netCDF-4 or raw binary file");
  const auto given = std::make_shared<Arguments>();
  command.add_option("input", given->input, "HDF5, netCDF-4 or raw binary file")->required()->type_name("IN");
  command.add_option("output", given->output, "HDF5 file, or homz stream of a raw one")
      ->required()
      ->type_name("OUT");
  command.add_option("-c,--codec", given->codec, "codec and its options; see homz codecs")
      ->type_name("CODEC[:key=value,...]")
      ->capture_default_str();
  given->bound.add_to(command, "error bound");
  command
      .add_option(
          "--dataset", given->datasets,
          "HDF5: compress only datasets whose path, such as /group/T, matches, with a codec and bound "
          "(abs:E, rel:R, psnr:D; lossless of a lossless codec) of their own if given; repeatable: a later "
          "match that states a codec or bound wins over an earlier one")
      ->type_name("GLOB[=codec][@bound]")
      ->allow_extra_args(false);
  command.add_option("--exclude", given->exclude, "HDF5: leave datasets whose path matches; repeatable")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  add_argument(
      command, "--fill", given->fill, "V|auto|none",
      "value that marks missing data: it returns bit for bit and is no part of the value range; auto takes "
      "it from the file's attributes (default)");
  given->raw.add_to(command);
  add_argument(command, "--threads", given->threads, "N", "worker threads; 0, the default, is one a core");
  add_argument(command, "--device", given->device, "cpu|cuda",
               "where values are compressed: the same bytes either way");
  command.add_flag("--json", given->json, "report as JSON");
  command.add_flag("--force", given->force, "replace an output that exists");
  command.add_flag("-q,--quiet", given->quiet, "no report, no progress; warnings are told");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
