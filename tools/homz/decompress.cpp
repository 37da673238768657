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
  homz decompress small.h5 plain.h5)";

struct Arguments {
  std::string input, output;
  Argument threads, device;
  LimitArgument limit;
  bool json = false, force = false, quiet = false;
};

Result<FileReport> decompress_stream(const InputFile& input, OutputFile& output, unsigned threads,
                                     Space space, std::optional<std::uint64_t> limit, Progress& progress) {
  HOMZ_ASSIGN(const Buffer stream, input.read_all(progress));
  progress.begin("decompressing", 0);
  const auto decode = [&]() -> Result<Decompressed> {
    HOMZ_ASSIGN(const StreamHeader header, load(stream.bytes()));
    HOMZ_TRY(check_limit(header.field.bytes(), limit));
    return space == Space::host ? decompress(registry(), stream.bytes(), host(threads))
                                : gpu::decompress(registry(), stream.bytes());
  };
  auto decoded = decode();
  if (!decoded.ok()) return decoded.status().within(printable(input.path()));
  const StreamHeader& header = decoded->header;
  if (header.big_endian_origin) swap_bytes(header.field.dtype, decoded->data.bytes(), threads);
  HOMZ_TRY(output.write(decoded->data.bytes(), progress));
  FileReport report;
  report.datasets.push_back(report_of(header, input.path()));
  report.input_bytes = input.size();
  report.output_bytes = header.field.bytes();
  return report;
}

// HDF5 passes through memory in parts: without a limit given, any size is fine.
Result<FileReport> decompress_hdf5(const InputFile& input, OutputFile& output, unsigned threads,
                                   std::optional<std::uint64_t> limit, Progress& progress) {
  std::uint64_t known_total = 0;
  return hdf5::decompress_file(input.path(), output.temporary(), threads, limit.value_or(UINT64_MAX),
                               [&](std::uint64_t done, std::uint64_t total) {
                                 if (total != known_total)
                                   progress.begin("decompressing", known_total = total);
                                 progress.update(done);
                               });
}

std::string summary(const FileReport& report) {
  return restored_text(report) +
         fmt::format("\nfile: {} -> {}\n", bytes_text(report.input_bytes), bytes_text(report.output_bytes));
}

struct Task {
  Arguments given;
  unsigned threads = 0;
  Space space = Space::host;
  std::optional<std::uint64_t> limit;
};

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
  Progress progress(given.quiet || given.json);
  HOMZ_ASSIGN(const FileReport report,
              content == Content::hdf5
                  ? decompress_hdf5(input, output, task.threads, task.limit, progress)
                  : decompress_stream(input, output, task.threads, task.space, task.limit, progress));
  HOMZ_TRY(output.commit());
  progress.clear();
  print_warnings(report);
  if (given.json)
    print_json(json_of(report, given.input, given.output));
  else if (!given.quiet)
    print(summary(report));
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
  if (content == Content::hdf5 && task.space == Space::device)
    return usage_error(
        fmt::format("{}: is an HDF5 file; --device cuda is for homz streams", printable(given.input)));
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
  add_argument(command, "--device", given->device, "cpu|cuda", "where homz streams are decompressed");
  given->limit.add_to(command);
  command.add_flag("--json", given->json, "report as JSON");
  command.add_flag("--force", given->force, "replace an output that exists");
  command.add_flag("-q,--quiet", given->quiet, "no report, no progress; warnings are told");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
