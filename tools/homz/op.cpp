// homz op: arithmetic on streams that are not decompressed for it.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "codecs/builtin.hpp"
#include "homomorphic/arithmetic.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/memory_limit.hpp"
#include "tools/homz/output_file.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Operations that write a stream (-o OUT):
  add A B [C ...]     A + B + ...            sub A B        A - B
  avg A B [C ...]     their mean             neg A          -A
  mul A --by X        X times A              shift A --by X A + X
  axpy A B --by K     K A + B, K whole       min A B, max A B
Operations that print numbers:
  stats A             sum, mean, variance, deviation, L2 norm, least and greatest value
  dot A B             sum of products
Streams must be of codec homcomp, cuszp or cuszp2 and have one shape, type and step. Compress them with the same
options, step among them (and dim), as in -c homcomp:step=1e-3, or give --requantise.

Examples:
  homz compress a.f32 a.homz --type f32 --shape 512x512 --abs 1e-3 -c homcomp:step=0.0019
  homz compress b.f32 b.homz --type f32 --shape 512x512 --abs 1e-3 -c homcomp:step=0.0019
  homz op add a.homz b.homz -o sum.homz
  homz op stats sum.homz)";

struct Arguments {
  std::string operation;
  std::vector<std::string> inputs;
  Argument output, by, threads;
  LimitArgument limit;
  bool requantise = false, json = false, force = false, quiet = false;
};

// What an operation takes.
struct Operation {
  const char* name;
  std::size_t least, most;  // streams
  bool takes_by, writes;
};
constexpr std::size_t kAny = 4096;
constexpr Operation kOperations[] = {
    {"add", 2, kAny, false, true}, {"sub", 2, 2, false, true},  {"avg", 1, kAny, false, true},
    {"neg", 1, 1, false, true},    {"mul", 1, 1, true, true},   {"shift", 1, 1, true, true},
    {"axpy", 2, 2, true, true},    {"min", 2, 2, false, true},  {"max", 2, 2, false, true},
    {"stats", 1, 1, false, false}, {"dot", 2, 2, false, false},
};

struct Task {
  Arguments given;
  Operation operation;
  double by = 0;
  unsigned threads = 0;
  std::optional<std::uint64_t> limit;
};

Result<Operation> find_operation(const std::string& name) {
  for (const Operation& each : kOperations)
    if (name == each.name) return each;
  return usage_error(
      fmt::format("unknown operation '{}': add, sub, avg, neg, mul, shift, axpy, min, max, "
                  "stats or dot",
                  printable(name)));
}

Result<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(value))
    return usage_error(fmt::format("--by '{}': a finite number is needed", printable(text)));
  return value;
}

Result<Task> understand(const Arguments& given) {
  Task task;
  task.given = given;
  HOMZ_ASSIGN(task.operation, find_operation(given.operation));
  const Operation& operation = task.operation;
  if (given.inputs.size() < operation.least || given.inputs.size() > operation.most)
    return usage_error(fmt::format("{} takes {}{} stream{}, {} are given", operation.name, operation.least,
                                   operation.most > operation.least ? " or more" : "",
                                   operation.most == 1 ? "" : "s", given.inputs.size()));
  if (operation.takes_by != given.by.given())
    return usage_error(
        fmt::format("{} {} --by", operation.name, operation.takes_by ? "needs a number:" : "does not take"));
  if (operation.writes != given.output.given())
    return usage_error(
        fmt::format("{} {}", operation.name,
                    operation.writes ? "writes a stream: give -o OUT" : "prints its result and takes no -o"));
  if (operation.writes) HOMZ_TRY(require_name("output", given.output.text));
  if (operation.takes_by) {
    HOMZ_ASSIGN(task.by, parse_number(given.by.text));
  }
  HOMZ_ASSIGN(task.threads, parse_threads(given.threads));
  HOMZ_ASSIGN(task.limit, given.limit.parse());
  return task;
}

// ---- Streams to a stream

bool is_whole(double x) {
  return x == std::trunc(x) && std::abs(x) <= std::numeric_limits<std::int32_t>::max();
}

// The combination that an operation is; `factors` is where it keeps them.
Result<Combination> combination_of(const Task& task, std::vector<std::int32_t>& factors) {
  const std::string name = task.operation.name;
  factors.assign(task.given.inputs.size(), 1);
  Combination combination;
  if (name == "sub") factors[1] = -1;
  if (name == "neg") factors[0] = -1;
  if (name == "avg") combination.scale = 1.0 / static_cast<double>(factors.size());
  if (name == "shift") combination.shift = task.by;
  if (name == "mul" || name == "axpy") {
    if (is_whole(task.by)) {
      factors[0] = static_cast<std::int32_t>(task.by);
    } else if (name == "axpy") {
      return usage_error(
          "axpy takes a whole number of at most 31 bits: another factor changes the step, so that the "
          "streams could "
          "not be added any more; use mul and then add with --requantise");
    } else {
      factors[0] = task.by < 0 ? -1 : 1;
      combination.scale = std::abs(task.by);
    }
  }
  combination.factors = factors;
  return combination;
}

Result<Compressed> compute(const Task& task, std::span<const OpenStream> operands) {
  const std::string name = task.operation.name;
  if (name == "min" || name == "max")
    return extremum(name == "min" ? Extremum::least : Extremum::greatest, operands[0], operands[1],
                    host(task.threads));
  std::vector<std::int32_t> factors;
  HOMZ_ASSIGN(const Combination combination, combination_of(task, factors));
  Result<Compressed> result = combine(combination, operands, host(task.threads));
  // The type or the step of the streams does not allow the number.
  if (task.operation.takes_by && result.status().code() == Code::unsupported)
    return usage_error(fmt::format("--by {}: {}", printable(task.given.by.text), result.status().message()));
  return result;
}

Json json_of_stream(const Task& task, const StreamHeader& header, std::uint64_t bytes) {
  Json json;
  json["operation"] = task.operation.name;
  json["inputs"] = task.given.inputs;
  json["output"] = task.given.output.text;
  json["type"] = to_string(header.field.dtype);
  json["shape"] = std::vector<std::uint64_t>(header.field.extents.begin(),
                                             header.field.extents.begin() + header.field.rank);
  json["abs_bound"] = json_number(header.abs_error);
  json["order_matters"] = header.order_matters;
  json["original_bytes"] = header.field.bytes();
  json["stored_bytes"] = bytes;
  json["ratio"] = json_ratio(header.field.bytes(), bytes);
  return json;
}

std::string text_of_stream(const Task& task, const StreamHeader& header, std::uint64_t bytes) {
  return fmt::format("{} of {} stream{}: {} of {}, {}, ratio {}; bound {}\n", task.operation.name,
                     task.given.inputs.size(), task.given.inputs.size() == 1 ? "" : "s",
                     header.field.shape_text(), to_string(header.field.dtype), bytes_text(bytes),
                     ratio_text(header.field.bytes(), bytes), number_text(header.abs_error));
}

Status check_targets(const Task& task) {
  std::error_code none;
  for (const std::string& each : task.given.inputs)
    if (std::filesystem::equivalent(each, task.given.output.text, none))
      return usage_error(fmt::format("{}: is an input; give another output", printable(each)));
  return Status();
}

Result<Exit> write_stream(const Task& task, const InputFile& input, std::span<const OpenStream> operands,
                          Progress& progress) {
  HOMZ_TRY(check_targets(task));
  HOMZ_ASSIGN(OutputFile output, OutputFile::create(task.given.output.text, input, task.given.force));
  HOMZ_ASSIGN(const Compressed result, compute(task, operands));
  HOMZ_ASSIGN(const StreamHeader header, load(result.stream()));
  HOMZ_TRY(output.write(result.stream(), progress));
  HOMZ_TRY(output.commit());
  progress.clear();
  if (header.order_matters && !task.given.json)
    warn(
        "the result has values that are stored exactly: in further sums the order of the streams may matter "
        "in "
        "the last bits of these");
  if (task.given.json)
    print_json(json_of_stream(task, header, result.bytes));
  else if (!task.given.quiet)
    print(text_of_stream(task, header, result.bytes));
  return kOk;
}

// ---- Streams to numbers

Result<Exit> print_numbers(const Task& task, std::span<const OpenStream> operands) {
  Json json;
  json["operation"] = task.operation.name;
  json["inputs"] = task.given.inputs;
  Facts facts;
  const auto add = [&](const char* label, double value) {
    json[label] = json_number(value);
    facts.add(label, exact_text(value));
  };
  if (std::string(task.operation.name) == "dot") {
    HOMZ_ASSIGN(const double product, dot(operands[0], operands[1], host(task.threads)));
    add("dot", product);
  } else {
    HOMZ_ASSIGN(const Moments moments, homz::moments(operands[0], host(task.threads)));
    json["count"] = moments.count;
    json["fill_values"] = moments.fill;
    facts.add("count", std::to_string(moments.count));
    facts.add("fill_values", std::to_string(moments.fill));
    add("sum", moments.sum);
    add("mean", moments.mean);
    add("variance", moments.variance);
    add("deviation", moments.deviation);
    add("norm", moments.norm);
    add("min", moments.min);
    add("max", moments.max);
    add("bound", operands[0].header.abs_error);
  }
  if (task.given.json)
    print_json(json);
  else
    print(facts.text());
  return kOk;
}

// ---- Streams from files

Status check_header(const Task& task, ConstBytes stream) {
  HOMZ_ASSIGN(const StreamHeader header, load(stream));
  HOMZ_TRY(check_limit(header.field.bytes(), task.limit));
  return open_stream(registry(), stream, host(1)).status();
}

// Names the file that is damaged, if one is.
Status name_damage(const Task& task, std::span<const ConstBytes> streams, Status status) {
  for (std::size_t i = 0; i < streams.size() && status.code() == Code::corrupt_stream; ++i) {
    const auto open = open_stream(registry(), streams[i], host(1));
    const Status sound = open.ok() ? verify_payload(*open, host(task.threads)) : open.status();
    if (!sound.ok()) return sound.within(printable(task.given.inputs[i]));
  }
  return status;
}

// The message with the names of files where it says "operand 1".
Status name_operands(const Task& task, const Status& status) {
  std::string text = status.message();
  for (std::size_t i = task.given.inputs.size(); i-- > 0;) {  // operand 12 before operand 1
    const std::string number = fmt::format("operand {}", i + 1), name = printable(task.given.inputs[i]);
    for (std::size_t at = 0; (at = text.find(number, at)) != std::string::npos; at += name.size())
      text.replace(at, number.size(), name);
  }
  return Status(status.code(), text);
}

Result<Exit> compute_and_tell(const Task& task, std::span<const ConstBytes> streams, const InputFile& input,
                              Progress& progress) {
  const bool is_dot = std::string(task.operation.name) == "dot";
  const Mismatch mismatch = task.given.requantise ? Mismatch::requantise
                            : is_dot              ? Mismatch::keep_steps
                                                  : Mismatch::refuse;
  HOMZ_ASSIGN(const CodedOperands operands, coded_alike(registry(), streams, mismatch, host(task.threads)));
  return task.operation.writes ? write_stream(task, input, operands.streams(), progress)
                               : print_numbers(task, operands.streams());
}

Result<Exit> run(const Arguments& given) {
  HOMZ_ASSIGN(const Task task, understand(given));
  Progress progress(given.quiet || given.json);
  std::vector<InputFile> inputs;
  std::vector<Buffer> buffers;
  std::vector<ConstBytes> streams;
  for (const std::string& path : given.inputs) {
    HOMZ_ASSIGN(InputFile input, InputFile::open(path));
    HOMZ_ASSIGN(Buffer buffer, input.read_all(progress));
    const Status is_sound = check_header(task, buffer.bytes());
    if (!is_sound.ok()) return is_sound.within(printable(path));
    inputs.push_back(std::move(input));
    buffers.push_back(std::move(buffer));
    streams.push_back(buffers.back().bytes());
  }
  const Result<Exit> exit = compute_and_tell(task, streams, inputs[0], progress);
  return exit.ok() ? exit : name_operands(task, name_damage(task, streams, exit.status()));
}

}  // namespace

void add_op(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "op", "Compute with streams without decompressing them: sums, products, statistics");
  const auto given = std::make_shared<Arguments>();
  command.add_option("operation", given->operation, "what to compute")->required()->type_name("OPERATION");
  command.add_option("inputs", given->inputs, "homz streams")->required()->type_name("IN");
  add_argument(command, "-o,--output", given->output, "OUT", "the stream to write");
  add_argument(command, "--by", given->by, "X", "the number of mul, shift and axpy");
  command.add_flag("--requantise", given->requantise,
                   "encode streams of another step again, with that of the first; its bound comes on top");
  add_argument(command, "--threads", given->threads, "N", "worker threads; 0, the default, is one a core");
  given->limit.add_to(command);
  command.add_flag("--json", given->json, "report as JSON");
  command.add_flag("--force", given->force, "replace an output that exists");
  command.add_flag("-q,--quiet", given->quiet, "no report, no progress; warnings are told");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
