// The functions of hdf5_files.hpp as a program for the Python tests; it prints reports as lines of fields
// between tabs.
//
//   driver compress IN OUT CODEC BOUND [THREADS] [dataset=GLOB] [exact=GLOB] [exclude=GLOB] [fill=V|none]
//   driver decompress IN OUT [MAX_BYTES]
//   driver inspect IN
//   driver equal A B             every dataset of A: path, "equal" or "different"
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/library.hpp"

namespace homz::hdf5 {
namespace {

using Arguments = std::vector<std::string>;

int fail(const Status& status) {
  fmt::print(stderr, "{}: {}\n", to_string(status.code()), status.message());
  return 1;
}

int print(const Result<FileReport>& report) {
  if (!report.ok()) return fail(report.status());
  for (const DatasetReport& dataset : report->datasets) {
    fmt::print("{}\t{}\t{}\t{}\t{:a}\t{}\t{}\t{}\t{}\t", dataset.path,
               dataset.compressed ? "compressed" : "kept", dataset.reason, dataset.codec, dataset.abs_error,
               dataset.fill ? fmt::format("{}", *dataset.fill) : "", dataset.original_bytes,
               dataset.stored_bytes, to_string(dataset.requested));
    for (const std::string& warning : dataset.warnings) fmt::print("{};", warning);
    fmt::print("\n");
  }
  for (const std::string& warning : report->warnings) fmt::print(stderr, "warning: {}\n", warning);
  return 0;
}

int compress(const Arguments& arguments) {
  CompressOptions options;
  options.codec = arguments.at(3);
  const auto bound = parse_error_bound(arguments.at(4));
  if (!bound.ok()) return fail(bound.status());
  options.bound = *bound;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.rfind("dataset=", 0) == 0) options.datasets.push_back({value, {}, {}});
    if (argument.rfind("exact=", 0) == 0)
      options.datasets.push_back({value, {}, ErrorBound{BoundMode::lossless, 0}});
    if (argument.rfind("exclude=", 0) == 0) options.exclude.push_back(value);
    if (argument.rfind("threads=", 0) == 0) options.threads = static_cast<unsigned>(std::stoul(value));
    if (argument == "fill=none")
      options.fill.policy = Fill::Policy::none;
    else if (argument.rfind("fill=", 0) == 0)
      options.fill = {Fill::Policy::value, std::strtod(value.c_str(), nullptr)};
  }
  return print(compress_file(arguments.at(1), arguments.at(2), options));
}

int equal(const std::string& path_a, const std::string& path_b) {
  const auto a = Reader::open(path_a), b = Reader::open(path_b);
  if (!a.ok()) return fail(a.status());
  if (!b.ok()) return fail(b.status());
  for (const DatasetReport& dataset : a->datasets()) {
    const auto same = Reader::equal(*a, *b, dataset.path);
    if (!same.ok()) return fail(same.status());
    fmt::print("{}\t{}\n", dataset.path, *same ? "equal" : "different");
  }
  return 0;
}

int run(const Arguments& arguments) {
  const std::string& command = arguments.at(0);
  if (command == "compress") return compress(arguments);
  if (command == "decompress") {
    const std::uint64_t max_bytes = arguments.size() > 3 ? std::stoull(arguments[3]) : UINT64_MAX;
    return print(decompress_file(arguments.at(1), arguments.at(2), {2, Space::host, max_bytes, {}}));
  }
  if (command == "inspect") return print(inspect_file(arguments.at(1)));
  if (command == "equal") return equal(arguments.at(1), arguments.at(2));
  return 2;
}

}  // namespace
}  // namespace homz::hdf5

int main(int count, char** words) {
  homz::hdf5::disable_cleanup_at_exit();
  return homz::hdf5::run({words + 1, words + count});
}
