// homz bench: speed, ratio and errors of codecs in memory.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <set>

#include "codecs/builtin.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "data/synthetic.hpp"
#include "tools/amounts.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/guard.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/measurement.hpp"
#include "tools/homz/reports.hpp"
#include "tools/homz/rules.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz bench run.h5 --rel 1e-3
  homz bench --data walk --count 64M -c cuszp2 -c zstd --rel 1e-3 --threads 1,2,4
  homz bench field.f32 --type f32 --shape 100x500x500 --abs 1e-3 --json

GB/s are 1e9 uncompressed bytes a second: the median of several runs in warm memory, without file I/O and without the
scan for the value range; memcpy is timed on the same buffers with the same threads.)";

struct Arguments {
  std::string file;
  Argument data, count, fill, threads, repeat, device;
  BoundArguments bound;
  RawArguments raw;
  std::vector<std::string> codecs, datasets;
  bool json = false, csv = false;
};

struct Task {
  ErrorBound bound;
  hdf5::Fill fill;
  std::vector<std::pair<std::string, CodecChoice>> codecs;
  std::vector<unsigned> threads;
  unsigned repeats = 5;
  Space space = Space::host;
};

Result<std::vector<unsigned>> parse_thread_list(const Argument& argument) {
  std::vector<unsigned> list;
  std::string_view rest = argument.given() ? std::string_view(argument.text) : "0";
  for (;;) {
    const std::size_t comma = rest.find(',');
    Argument one = argument;
    one.text = rest.substr(0, comma);
    HOMZ_ASSIGN(const unsigned threads, parse_threads(one));
    list.push_back(threads == 0 ? hardware_threads() : threads);
    if (comma == std::string_view::npos) return list;
    rest.remove_prefix(comma + 1);
  }
}

Result<Task> understand(const Arguments& given) {
  Task task;
  HOMZ_ASSIGN(const auto bound, given.bound.parse());
  task.bound = bound.value_or(ErrorBound{BoundMode::relative, 1e-3});
  HOMZ_ASSIGN(task.fill, parse_fill(given.fill));
  HOMZ_ASSIGN(task.threads, parse_thread_list(given.threads));
  HOMZ_ASSIGN(task.space, parse_device(given.device));
  if (task.space == Space::device) task.threads = {0};
  if (given.repeat.given()) {
    const auto repeats = parse_unsigned(given.repeat.text);
    if (!repeats.ok() || *repeats < 1 || *repeats > 1000)
      return usage_error(fmt::format("--repeat '{}': give a whole number from 1 to 1000", given.repeat.text));
    task.repeats = static_cast<unsigned>(*repeats);
  }
  for (const std::string& text : given.codecs) {
    HOMZ_ASSIGN(const CodecChoice choice, choose_codec(text));
    task.codecs.emplace_back(text, choice);
  }
  if (task.codecs.empty())
    for (const Codec* codec : registry().all()) {
      if (task.space == Space::device && !codec->on_device()) continue;
      const std::string name(codec->info().name);
      HOMZ_ASSIGN(const CodecChoice choice, choose_codec(name));
      task.codecs.emplace_back(name, choice);
    }
  return task;
}

Result<std::vector<Sample>> synthetic_sample(const Arguments& given) {
  if (!given.file.empty()) return usage_error("give a file or --data, not both");
  if (given.raw.shape.given()) return usage_error("--data takes --count; --shape is for raw binary files");
  HOMZ_ASSIGN(const Synthetic kind, parse_synthetic(given.data.text));
  Dtype dtype = Dtype::f32;
  if (given.raw.type.given()) {
    HOMZ_ASSIGN(dtype, parse_dtype(given.raw.type.text));
  }
  std::uint64_t count = 16 << 20;
  if (given.count.given()) {
    HOMZ_ASSIGN(count, parse_count("--count", given.count.text));
  }
  if (count == 0 || count > UINT64_MAX / 16) return usage_error("--count: give a number of values from 1 on");
  const std::vector<std::uint64_t> all = {count};
  HOMZ_TRY(Field::make(dtype, all).status().within("--count"));
  Sample sample{given.data.text, natural_field(kind, dtype, count), {}, std::nullopt};
  HOMZ_ASSIGN(sample.data, Buffer::make(sample.field.bytes()));
  generate(kind, dtype, sample.field.count(), sample.data.bytes(), 0);
  std::vector<Sample> samples;
  samples.push_back(std::move(sample));
  return samples;
}

bool selected(const Arguments& given, const std::string& path) {
  return given.datasets.empty() ||
         std::any_of(given.datasets.begin(), given.datasets.end(),
                     [&](const auto& glob) { return ::fnmatch(glob.c_str(), path.c_str(), 0) == 0; });
}

Result<std::vector<Sample>> hdf5_samples(const Arguments& given) {
  HOMZ_ASSIGN(const hdf5::Reader reader, hdf5::Reader::open(given.file));
  std::vector<Sample> samples;
  for (const DatasetReport& d : reader.datasets()) {
    if (!reader.is_float(d.path) || !selected(given, d.path) || d.original_bytes == 0) continue;
    auto values = reader.read_floats(d.path);
    if (!values.ok()) return values.status();
    samples.push_back({d.path, values->field, std::move(values->data), values->fill_bits});
  }
  if (samples.empty())
    return usage_error(fmt::format("{}: no floating-point dataset to measure", printable(given.file)));
  return samples;
}

Result<std::vector<Sample>> file_samples(const Arguments& given) {
  HOMZ_ASSIGN(const InputFile file, InputFile::open(given.file));
  HOMZ_ASSIGN(const Content content, recognise(file));
  HOMZ_ASSIGN(const auto layout, given.raw.parse());
  if (content == Content::hdf5) return hdf5_samples(given);
  if (content == Content::stream || !layout)
    return usage_error(fmt::format(
        "{}: {}", printable(given.file),
        foreign_format(file).value_or("give an HDF5 file, or a raw binary one with --type and --shape")));
  if (layout->field.count() == 0) return usage_error("there is nothing to measure in a field without values");
  Progress progress(given.json || given.csv);
  HOMZ_ASSIGN(Buffer data, read_raw(file, *layout, progress));
  std::vector<Sample> samples;
  samples.push_back({given.file, layout->field, std::move(data), std::nullopt});
  return samples;
}

Result<std::vector<Sample>> collect_samples(const Arguments& given) {
  if (given.data.given()) return synthetic_sample(given);
  if (given.count.given()) return usage_error("--count belongs to --data");
  if (given.file.empty())
    return usage_error("bench needs a file, or made-up data such as --data walk --count 16M");
  return file_samples(given);
}

Result<std::vector<Measurement>> measure_all(const Task& task, const std::vector<Sample>& samples,
                                             Progress& progress) {
  Bench bench(task.repeats);
  std::vector<Measurement> all;
  for (const Sample& sample : samples)
    for (const unsigned threads : task.threads) {
      const bool on_gpu = task.space == Space::device;
      double memcpy_gbps = 0;
      if (!on_gpu) {
        HOMZ_ASSIGN(memcpy_gbps, bench.memcpy_gbps(sample, threads));
      }
      for (const auto& [name, choice] : task.codecs) {
        progress.begin(fmt::format("measuring {}", name), 0);
        auto measured = on_gpu ? bench.measure_on_gpu(sample, choice, task.bound)
                               : bench.measure(sample, choice, task.bound, threads);
        if (!measured.ok())
          return measured.status().within(fmt::format("{}, {}", printable(sample.name), name));
        measured->codec = name;
        if (!on_gpu) measured->memcpy_gbps = memcpy_gbps;
        all.push_back(std::move(*measured));
      }
    }
  return all;
}

std::string_view space_name(const Measurement& m) {
  return m.space == Space::host ? "host" : "cuda";
}

Json json_of(const Measurement& m) {
  const ErrorStatistics& s = m.verdict.statistics;
  return {{"dataset", m.dataset},
          {"codec", m.codec},
          {"space", space_name(m)},
          {"threads", m.threads},
          {"original_bytes", m.original_bytes},
          {"compressed_bytes", m.compressed_bytes},
          {"ratio", json_ratio(m.original_bytes, m.compressed_bytes)},
          {"compress_gbps", m.compress_gbps},
          {"decompress_gbps", m.decompress_gbps},
          {"memcpy_gbps", m.memcpy_gbps},
          {"requested", json_bound(m.requested)},
          {"bound", json_number(m.verdict.abs_bound)},
          {"bound_ok", m.verdict.ok},
          {"max_abs_error", json_number(s.max_abs_error)},
          {"psnr", json_number(s.psnr())}};
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string csv_of(const std::vector<Measurement>& all) {
  std::string text =
      "dataset,codec,space,threads,original_bytes,compressed_bytes,ratio,compress_gbps,decompress_gbps,"
      "memcpy_gbps,"
      "requested,bound,bound_ok,max_abs_error,psnr\n";
  for (const Measurement& m : all) {
    const auto psnr = m.verdict.statistics.psnr();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(printable(m.dataset)),
                        quoted(m.codec), space_name(m), m.threads, m.original_bytes, m.compressed_bytes,
                        static_cast<double>(m.original_bytes) / static_cast<double>(m.compressed_bytes),
                        m.compress_gbps, m.decompress_gbps, m.memcpy_gbps, to_string(m.requested),
                        m.verdict.abs_bound.value_or(0), m.verdict.ok, m.verdict.statistics.max_abs_error,
                        psnr ? fmt::format("{}", *psnr) : "");
  }
  return text;
}

std::string table_of(const std::vector<Measurement>& all) {
  using Align = Table::Align;
  Table table({{"dataset", Align::left},
               {"codec", Align::left},
               {"where", Align::left},
               {"ratio", Align::right},
               {"compress GB/s", Align::right},
               {"decompress GB/s", Align::right},
               {"memcpy GB/s", Align::right},
               {"max error", Align::right},
               {"bound", Align::right},
               {"PSNR dB", Align::right},
               {"verdict", Align::left}});
  for (const Measurement& m : all) {
    const auto psnr = m.verdict.statistics.psnr();
    table.add({printable(m.dataset), m.codec,
               m.space == Space::host ? fmt::format("{} threads", m.threads) : std::string(space_name(m)),
               ratio_text(m.original_bytes, m.compressed_bytes), fmt::format("{:.3g}", m.compress_gbps),
               fmt::format("{:.3g}", m.decompress_gbps), fmt::format("{:.3g}", m.memcpy_gbps),
               fmt::format("{:.4g}", m.verdict.statistics.max_abs_error),
               m.verdict.abs_bound.value_or(0) == 0 ? "exact" : fmt::format("{:.4g}", *m.verdict.abs_bound),
               psnr ? fmt::format("{:.1f}", *psnr) : "-", m.verdict.ok ? "kept" : "VIOLATED"});
  }
  return table.text();
}

// Told once a dataset, by the first lossy codec.
void print_warnings(const std::vector<Measurement>& all) {
  std::set<std::string> told;
  for (const Measurement& m : all)
    for (const std::string& warning : m.verdict.warnings)
      if (told.insert(m.dataset).second) warn(fmt::format("{}: {}", m.dataset, warning));
}

Result<Exit> work(const Arguments& given, const Task& task) {
  HOMZ_TRY(require_device(task.space));
  HOMZ_ASSIGN(std::vector<Sample> samples, collect_samples(given));
  for (Sample& sample : samples) {
    HOMZ_ASSIGN(sample.fill_bits, fill_bits_in(sample.field.dtype, task.fill, sample.fill_bits));
  }
  Progress progress(given.json || given.csv);
  HOMZ_ASSIGN(const std::vector<Measurement> all, measure_all(task, samples, progress));
  progress.clear();
  print_warnings(all);
  const bool ok = std::all_of(all.begin(), all.end(), [](const Measurement& m) { return m.verdict.ok; });
  if (given.json) {
    Json results = Json::array();
    for (const Measurement& m : all) results.push_back(json_of(m));
    print_json(Json{
        {"version", HOMZ_VERSION}, {"repeats", task.repeats}, {"results", std::move(results)}, {"ok", ok}});
  } else {
    print(given.csv ? csv_of(all) : table_of(all));
  }
  return ok ? kOk : kDiffers;
}

Result<Exit> run(const Arguments& given) {
  if (given.json && given.csv) return usage_error("--json and --csv exclude each other");
  HOMZ_ASSIGN(const Task task, understand(given));
  const Action action = [&] { return work(given, task); };
  if (given.file.empty() || given.data.given()) return action();
  HOMZ_ASSIGN(const InputFile file, InputFile::open(given.file));
  HOMZ_ASSIGN(const Content content, recognise(file));
  return content == Content::hdf5 ? run_guarded(given.file, action) : action();
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("bench", "Measure speed, ratio and errors of codecs");
  const auto given = std::make_shared<Arguments>();
  command.add_option("file", given->file, "HDF5 or raw binary file")->type_name("FILE");
  add_argument(command, "--data", given->data, "KIND",
               "made-up data: normal, walk, longwalk, smooth or waves");
  add_argument(command, "--count", given->count, "N",
               "values of made-up data, 16M if not given; K, M, G, T: powers of 1024");
  command.add_option("-c,--codec", given->codecs, "codec and its options; repeatable; default: all")
      ->type_name("CODEC[:key=value,...]")
      ->allow_extra_args(false);
  command.add_option("--dataset", given->datasets, "HDF5: measure datasets whose path matches; repeatable")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  given->bound.add_to(command, "error bound of lossy codecs (default --rel 1e-3)");
  given->raw.add_to(command);
  add_argument(command, "--fill", given->fill, "V|auto|none",
               "value that marks missing data; auto takes it from the file's attributes (default)");
  add_argument(command, "--threads", given->threads, "N,...",
               "numbers of threads; 0, the default, is one a core");
  add_argument(command, "--device", given->device, "cpu|cuda",
               "what to measure; data stay in its own memory");
  add_argument(command, "--repeat", given->repeat, "R", "timed runs of each; default 5");
  command.add_flag("--json", given->json, "results as JSON");
  command.add_flag("--csv", given->csv, "results as comma-separated values");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
