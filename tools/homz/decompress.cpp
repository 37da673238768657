// homz decompress: a stream to raw binary, HDF5 to HDF5 that needs no plugin.
#include <fmt/format.h>

#include <memory>

#include "codecs/builtin.hpp"
#include "core/byte_order.hpp"
#include "core/compress.hpp"
#include "core/gpu/offload.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/memory_limit.hpp"
#include "tools/homz/output_file.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz decompress field.homz field.f32
  homz decompress field.homz part.f32 --region 0:10,5:50,:
  homz decompress small.h5 plain.h5

With --region, the JSON report has the field's shape, sizes and ratio under "part_of"; what the part alone takes in the
stream is not known: its "stored_bytes" and "ratio" are null.)";

struct Arguments {
  std::string input, output;
  Argument threads, region, device;
  LimitArgument limit;
  bool json = false, force = false, quiet = false;
};

struct Task {
  Arguments given;
  unsigned threads = 0;
  Space space = Space::host;
  std::optional<std::uint64_t> limit;
};

// The field that is restored: all of that in the stream, or the region that was asked for.
struct Restored {
  Decompressed decoded;
  Field field;
  std::optional<Region> region;
};

// The report, and of a region what it is a part of.
struct Outcome {
  FileReport report;
  std::optional<Region> region;
  std::optional<DatasetReport> whole;
};

Result<Restored> decode(const Task& task, ConstBytes stream) {
  HOMZ_ASSIGN(const StreamHeader header, load(stream));
  if (!task.given.region.given()) {
    HOMZ_TRY(check_limit(header.field.bytes(), task.limit));
    auto decoded = task.space == Space::host ? decompress(registry(), stream, host(task.threads))
                                             : gpu::decompress(registry(), stream);
    if (!decoded.ok()) return decoded.status();
    return Restored{std::move(*decoded), header.field, std::nullopt};
  }
  HOMZ_ASSIGN(const Region region, parse_region(task.given.region.text, header.field));
  HOMZ_ASSIGN(const Field part, field_of(region, header.field));
  HOMZ_ASSIGN(const OpenStream open, open_stream(registry(), stream, host(task.threads)));
  const bool is_part = task.space == Space::host && open.region_scratch_bytes == 0;
  HOMZ_TRY(check_limit(is_part ? part.bytes() : header.field.bytes(), task.limit));
  HOMZ_ASSIGN(Decompressed decoded, task.space == Space::host
                                        ? decompress_region(registry(), stream, region, host(task.threads))
                                        : gpu::decompress_region(registry(), stream, region));
  return Restored{std::move(decoded), part, region};
}

Result<Outcome> decompress_stream(const Task& task, const InputFile& input, OutputFile& output,
                                  Progress& progress) {
  HOMZ_ASSIGN(const Buffer stream, input.read_all(progress));
  progress.begin("decompressing", 0);
  auto restored = decode(task, stream.bytes());
  if (!restored.ok()) return restored.status().within(printable(input.path()));
  StreamHeader header = restored->decoded.header;
  const Bytes data = restored->decoded.data.bytes();
  if (header.big_endian_origin) swap_bytes(header.field.dtype, data, task.threads);
  HOMZ_TRY(output.write(data, progress));
  Outcome outcome;
  if (restored->region) outcome.whole = report_of(header, input.path());
  outcome.region = restored->region;
  header.field = restored->field;
  outcome.report.datasets.push_back(report_of(header, input.path()));
  outcome.report.input_bytes = input.size();
  outcome.report.output_bytes = data.size();
  return outcome;
}

// HDF5 passes through memory in parts: without a limit given, any size is fine.
Result<Outcome> decompress_hdf5(const Task& task, const InputFile& input, OutputFile& output,
                                Progress& progress) {
  std::uint64_t known_total = 0;
  hdf5::DecompressOptions options;
  options.threads = task.threads;
  options.space = task.space;
  options.max_bytes = task.limit.value_or(UINT64_MAX);
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (total != known_total) progress.begin("decompressing", known_total = total);
    progress.update(done);
  };
  auto report = hdf5::decompress_file(input.path(), output.temporary(), options);
  if (!report.ok()) return report.status();
  return Outcome{std::move(*report), std::nullopt, std::nullopt};
}

// A part has no stored size of its own, so no ratio either; that of the whole stream stands apart.
Json report_json(const Outcome& outcome, const Arguments& given) {
  Json json = json_of(outcome.report, given.input, given.output);
  if (!outcome.region) return json;
  const DatasetReport& whole = *outcome.whole;
  const auto first = outcome.region->first.begin();
  Json& part = json["datasets"][0];
  part["part_of"] = {{"first", std::vector(first, first + static_cast<std::ptrdiff_t>(whole.shape.size()))},
                     {"shape", whole.shape},
                     {"original_bytes", whole.original_bytes},
                     {"stored_bytes", whole.stored_bytes},
                     {"ratio", json_ratio(whole.original_bytes, whole.stored_bytes)}};
  part["stored_bytes"] = part["ratio"] = json["ratio"] = nullptr;
  return json;
}

std::string summary(const FileReport& report) {
  return restored_text(report) +
         fmt::format("\nfile: {} -> {}\n", bytes_text(report.input_bytes), bytes_text(report.output_bytes));
}

Result<Task> understand(const Arguments& given) {
  Task task;
  task.given = given;
  HOMZ_TRY(require_name("output", given.output));
  HOMZ_ASSIGN(task.threads, parse_threads(given.threads));
  HOMZ_ASSIGN(task.space, parse_device(given.device));
  HOMZ_ASSIGN(task.limit, given.limit.parse());
  return task;
}

Result<Exit> do_it(const Task& task, const InputFile& input, Content content, OutputFile& output) {
  const Arguments& given = task.given;
  HOMZ_TRY(require_device(task.space));
  Progress progress(given.quiet || given.json);
  HOMZ_ASSIGN(const Outcome outcome, content == Content::hdf5
                                         ? decompress_hdf5(task, input, output, progress)
                                         : decompress_stream(task, input, output, progress));
  HOMZ_TRY(output.commit());
  progress.clear();
  print_warnings(outcome.report);
  if (given.json)
    print_json(report_json(outcome, given));
  else if (!given.quiet)
    print(summary(outcome.report));
  return kOk;
}

Result<Exit> run(const Arguments& given) {
  HOMZ_ASSIGN(const Task task, understand(given));
  HOMZ_ASSIGN(const InputFile input, InputFile::open(given.input));
  HOMZ_ASSIGN(const Content content, recognise(input));
  if (content == Content::raw)
    return Status(Code::corrupt_stream,
                  fmt::format("{}: {}", printable(given.input),
                              foreign_format(input).value_or(
                                  "neither a homz stream nor HDF5; is it the compressed file?")));
  if (content == Content::hdf5 && given.region.given())
    return Status(
        Code::unsupported,
        fmt::format("{}: --region is for homz streams; decompress the HDF5 file, then read the part "
                    "from it (h5dump --start --count, h5py slices)",
                    printable(given.input)));
  HOMZ_ASSIGN(OutputFile output, OutputFile::create(given.output, input, given.force));
  const Action work = [&] { return do_it(task, input, content, output); };
  return content == Content::hdf5 ? run_guarded(given.input, work) : work();
}

}  // namespace

void add_decompress(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("decompress",
                                          "Restore a raw binary file, or an HDF5 file that is read without "
                                          "homz; what homz did not compress keeps its filters");
  const auto given = std::make_shared<Arguments>();
  command.add_option("input", given->input, "homz stream or HDF5 file")->required()->type_name("IN");
  command.add_option("output", given->output, "raw binary file or HDF5 file")->required()->type_name("OUT");
  add_argument(command, "--threads", given->threads, "N", "worker threads; 0, the default, is one a core");
  add_argument(command, "--region", given->region, "RANGES",
               "of a homz stream, restore this part alone: first:end, an index or : for each extent");
  add_argument(command, "--device", given->device, "cpu|cuda", "where values are decompressed");
  given->limit.add_to(command);
  command.add_flag("--json", given->json, "report as JSON");
  command.add_flag("--force", given->force, "replace an output that exists");
  command.add_flag("-q,--quiet", given->quiet, "no report, no progress; warnings are told");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
