// homz verify: holds a compressed or decompressed file against its original.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/memory_limit.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/rules.hpp"
#include "tools/homz/text_output.hpp"
#include "tools/homz/verification.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz verify run.h5 small.h5
  homz verify run.h5 small.h5 --rel 1e-4 --json
  homz verify field.f32 field.homz
  homz verify field.f32 restored.f32 --type f32 --shape 100x500x500 --abs 1e-3
  homz verify field.f32 restored.f32 --type f32 --shape 100x500x500 --rel 1e-4 --fill 1e20

Without a bound option the bound recorded in B, if any, is tested: for every value, in exact arithmetic.)";

struct Arguments {
  std::string original, compressed;
  BoundArguments bound;
  RawArguments raw;
  Argument fill, threads;
  LimitArgument limit;
  bool json = false;
};

struct Task {
  std::optional<ErrorBound> bound;
  std::optional<RawLayout> raw;
  hdf5::Fill fill;
  std::optional<std::uint64_t> limit;
  unsigned threads = 0;
};

// The values of a raw file or a stream.
struct Values {
  RawLayout layout;
  Buffer data;
  std::optional<StreamHeader> header;
};

Result<Values> decode_stream_file(const Task& task, const InputFile& file, Progress& progress) {
  HOMZ_ASSIGN(const Buffer bytes, file.read_all(progress));
  const auto decode = [&]() -> Result<Decompressed> {
    HOMZ_ASSIGN(const StreamHeader header, load(bytes.bytes()));
    HOMZ_TRY(check_limit(header.field.bytes(), task.limit));
    return decompress(registry(), bytes.bytes(), host(task.threads));
  };
  auto decoded = decode();
  if (!decoded.ok()) return decoded.status().within(printable(file.path()));
  const StreamHeader& header = decoded->header;
  return Values{{header.field, header.big_endian_origin}, std::move(decoded->data), header};
}

Result<Values> read_values(const Task& task, const InputFile& file, Content content,
                           const std::optional<RawLayout>& layout, Progress& progress) {
  if (content == Content::stream) return decode_stream_file(task, file, progress);
  if (!layout)
    return usage_error(
        fmt::format("{}: {}", printable(file.path()),
                    foreign_format(file).value_or("a raw binary file; give --type and --shape")));
  HOMZ_ASSIGN(Buffer data, read_raw(file, *layout, progress));
  return Values{*layout, std::move(data), std::nullopt};
}

Result<Promise> promise_of(const Task& task, Dtype dtype, const std::optional<StreamHeader>& header) {
  Promise promise{task.bound, std::nullopt, std::nullopt};
  HOMZ_ASSIGN(promise.fill_bits, fill_bits_in(dtype, task.fill, header ? header->fill_bits : std::nullopt));
  if (!header || task.bound) return promise;
  promise.bound = header->requested;
  promise.abs_error = header->abs_error;
  return promise;
}

Result<std::vector<Verdict>> verify_flat(const Task& task, const InputFile& a, Content a_content,
                                         const InputFile& b, Content b_content, Progress& progress) {
  HOMZ_ASSIGN(const Values decoded, read_values(task, b, b_content, task.raw, progress));
  const RawLayout& layout = task.raw ? *task.raw : decoded.layout;
  HOMZ_ASSIGN(const Values original, read_values(task, a, a_content, layout, progress));
  Verdict verdict;
  verdict.name = b.path();
  verdict.type = original.layout.type_name();
  verdict.shape.assign(original.layout.field.extents.begin(),
                       original.layout.field.extents.begin() + original.layout.field.rank);
  verdict.original_bytes = original.layout.field.bytes();
  if (b_content == Content::stream) verdict.compressed_bytes = b.size();
  if (original.layout.field != decoded.layout.field) {
    verdict.difference = fmt::format("the original is {} {}, this is {} {}", original.layout.type_name(),
                                     original.layout.field.shape_text(), decoded.layout.type_name(),
                                     decoded.layout.field.shape_text());
  } else {
    progress.begin("comparing", 0);
    HOMZ_ASSIGN(const Promise promise, promise_of(task, original.layout.field.dtype, decoded.header));
    HOMZ_TRY(judge({original.layout.field, original.data.bytes(), decoded.data.bytes()}, promise,
                   task.threads, &verdict));
  }
  return std::vector<Verdict>{std::move(verdict)};
}

class Hdf5Verification {
 public:
  Hdf5Verification(const Task& task, const hdf5::Reader& a, const hdf5::Reader& b)
      : task_(task), a_(a), b_(b) {
    any_compressed_ =
        std::any_of(b.datasets().begin(), b.datasets().end(), [](const auto& d) { return d.compressed; });
  }

  Result<std::vector<Verdict>> run(Progress& progress) const {
    std::vector<Verdict> verdicts;
    std::uint64_t total = 1, done = 0;
    for (const DatasetReport& d : a_.datasets()) total += d.original_bytes;
    progress.begin("comparing", total);
    for (const DatasetReport& d : a_.datasets()) {
      Result<Verdict> verdict = compare_dataset(d);
      verdicts.push_back(verdict.ok() ? std::move(*verdict) : unreadable(d, verdict.status()));
      progress.update(done += d.original_bytes);
    }
    for (const DatasetReport& d : b_.datasets())
      if (find(a_, d.path) == nullptr) verdicts.push_back(differing(d, "not in the original"));
    return verdicts;
  }

 private:
  static const DatasetReport* find(const hdf5::Reader& file, const std::string& path) {
    const auto& all = file.datasets();
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.path == path; });
    return at == all.end() ? nullptr : &*at;
  }

  static Verdict named(const DatasetReport& d) {
    Verdict verdict;
    verdict.name = d.path;
    verdict.type = d.type;
    verdict.shape = d.shape;
    return verdict;
  }

  static Verdict differing(const DatasetReport& d, std::string how) {
    Verdict verdict = named(d);
    verdict.difference = std::move(how);
    return verdict;
  }

  // The others are told all the same.
  static Verdict unreadable(const DatasetReport& d, Status why) {
    Verdict verdict = differing(d, why.message());
    verdict.readable = std::move(why);
    return verdict;
  }

  Result<Verdict> compare_dataset(const DatasetReport& a) const {
    const DatasetReport* b = find(b_, a.path);
    if (b == nullptr) return differing(a, "missing");
    if (a.type != b->type || a.shape != b->shape)
      return differing(a, fmt::format("the original is {} {}, this is {} {}", a.type, shape_text(a.shape),
                                      b->type, shape_text(b->shape)));
    if (a.is_virtual && b->is_virtual) {
      Verdict verdict = named(a);
      verdict.ok = true;
      verdict.not_compared = "a virtual dataset: its values are in other datasets";
      return verdict;
    }
    if (a_.is_float(a.path)) {
      Result<Verdict> verdict = compare_floats(a, *b);
      if (verdict.ok() || b->compressed) return verdict;
      const Result<Verdict> as_stored = compare_elements(a);  // what no filter here reads
      return as_stored.ok() ? as_stored : verdict;
    }
    return compare_elements(a);
  }

  Result<Verdict> compare_elements(const DatasetReport& a) const {
    const auto equal = hdf5::Reader::equal(a_, b_, a.path);
    if (!equal.ok()) return equal.status().within(printable(a.path));
    Verdict verdict = differing(a, *equal ? "" : "the elements are not the same");
    verdict.ok = *equal;
    return verdict;
  }

  Result<Verdict> compare_floats(const DatasetReport& a, const DatasetReport& b) const {
    const auto original = a_.read_floats(a.path), decoded = b_.read_floats(a.path);
    if (!original.ok()) return original.status();
    if (!decoded.ok()) return decoded.status();
    Verdict verdict = named(a);
    verdict.original_bytes = original->field.bytes();
    if (b.compressed) verdict.compressed_bytes = b.stored_bytes;
    auto declared = decoded->fill_bits ? decoded->fill_bits : original->fill_bits;
    const bool seeks_default = task_.fill.policy == hdf5::Fill::Policy::automatic && !b.compressed;
    if (seeks_default && !declared) declared = hdf5::default_fill_in(*original);  // as compress does
    const auto fill_bits = fill_of(original->field.dtype, declared);
    const Pair pair{original->field, original->data.bytes(), decoded->data.bytes()};
    HOMZ_TRY(judge(pair, promise_of(b, fill_bits), task_.threads, &verdict).within(printable(a.path)));
    return verdict;
  }

  // A value that the type cannot hold does not occur in the dataset.
  std::optional<std::uint64_t> fill_of(Dtype dtype, std::optional<std::uint64_t> declared) const {
    const auto bits = fill_bits_in(dtype, task_.fill, declared);
    return bits.ok() ? *bits : std::nullopt;
  }

  // What was left alone in a file with compressed datasets must be as it was.
  Promise promise_of(const DatasetReport& b, std::optional<std::uint64_t> fill_bits) const {
    Promise promise{task_.bound, std::nullopt, fill_bits};
    if (task_.bound || !any_compressed_) return promise;
    promise.bound = b.compressed ? b.requested : ErrorBound{BoundMode::lossless, 0};
    promise.abs_error = b.compressed ? b.abs_error : 0;
    return promise;
  }

  const Task& task_;
  const hdf5::Reader& a_;
  const hdf5::Reader& b_;
  bool any_compressed_ = false;
};

Result<std::vector<Verdict>> verify_hdf5(const Task& task, const InputFile& a, const InputFile& b,
                                         Progress& progress) {
  HOMZ_ASSIGN(const hdf5::Reader original, hdf5::Reader::open(a.path()));
  HOMZ_ASSIGN(const hdf5::Reader compressed, hdf5::Reader::open(b.path()));
  return Hdf5Verification(task, original, compressed).run(progress);
}

Result<std::vector<Verdict>> verify(const Task& task, const InputFile& a, Content a_content,
                                    const InputFile& b, Progress& progress) {
  HOMZ_ASSIGN(const Content b_content, recognise(b));
  const bool a_hdf5 = a_content == Content::hdf5, b_hdf5 = b_content == Content::hdf5;
  if (a_hdf5 != b_hdf5)
    return usage_error(fmt::format("{} is an HDF5 file and {} is not; give two HDF5 files, or none",
                                   printable(a_hdf5 ? a.path() : b.path()),
                                   printable(a_hdf5 ? b.path() : a.path())));
  if (!a_hdf5) return verify_flat(task, a, a_content, b, b_content, progress);
  if (task.raw) return usage_error("--type and --shape are for raw binary files; these are HDF5 files");
  return verify_hdf5(task, a, b, progress);
}

Result<Exit> report(const Arguments& given, const Task& task, const InputFile& a, Content a_content,
                    const InputFile& b) {
  Progress progress(given.json);
  HOMZ_ASSIGN(const std::vector<Verdict> verdicts, verify(task, a, a_content, b, progress));
  progress.clear();
  for (const Verdict& verdict : verdicts)
    for (const std::string& warning : verdict.warnings) warn(fmt::format("{}: {}", verdict.name, warning));
  const bool ok = std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.ok; });
  if (given.json) {
    Json datasets = Json::array();
    for (const Verdict& verdict : verdicts) datasets.push_back(json_of(verdict));
    print_json(Json{{"original", given.original},
                    {"compressed", given.compressed},
                    {"datasets", std::move(datasets)},
                    {"original_bytes", a.size()},
                    {"compressed_bytes", b.size()},
                    {"ok", ok}});
  } else {
    print(verdicts_text(verdicts));
  }
  for (const Verdict& verdict : verdicts) HOMZ_TRY(verdict.readable);
  return ok ? kOk : kDiffers;
}

Result<Exit> run(const Arguments& given) {
  Task task;
  HOMZ_ASSIGN(task.bound, given.bound.parse());
  HOMZ_ASSIGN(task.raw, given.raw.parse());
  HOMZ_ASSIGN(task.fill, parse_fill(given.fill));
  HOMZ_ASSIGN(task.limit, given.limit.parse());
  HOMZ_ASSIGN(task.threads, parse_threads(given.threads));
  HOMZ_ASSIGN(const InputFile a, InputFile::open(given.original));
  HOMZ_ASSIGN(const InputFile b, InputFile::open(given.compressed));
  HOMZ_ASSIGN(const Content content, recognise(a));
  const Action work = [&] { return report(given, task, a, content, b); };
  return content == Content::hdf5 ? run_guarded(given.compressed, work) : work();
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("verify", "Hold a compressed or decompressed file against its original");
  const auto given = std::make_shared<Arguments>();
  command.add_option("original", given->original, "the original")->required()->type_name("A");
  command.add_option("compressed", given->compressed, "compressed or decompressed file")
      ->required()
      ->type_name("B");
  given->bound.add_to(command, "bound to test");
  add_argument(
      command, "--fill", given->fill, "V|auto|none",
      "value that marks missing data: it must be there bit for bit and is no part of the value range; "
      "auto takes what B declares (default)");
  given->raw.add_to(command);
  add_argument(command, "--threads", given->threads, "N", "worker threads; 0, the default, is one a core");
  given->limit.add_to(command);
  command.add_flag("--json", given->json,
                   "report as JSON: infinities and NaN as strings, null for undefined");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
