// homz doctor: is everything here as it must be, and if not, what to do.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zstd.h>

#include <clocale>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codecs/builtin.hpp"
#include "codecs/simd/dispatch.hpp"
#include "core/canary.hpp"
#include "core/compress.hpp"
#include "core/gpu/gpu.hpp"
#include "core/metrics.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "tools/hdf5/library.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/json_output.hpp"
#include "tools/homz/plugin_path.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz doctor
  HDF5_PLUGIN_PATH=/opt/plugins homz doctor --json)";

// What a build may lack, with the version that it was built with; empty: without.
struct Part {
  const char *name, *key, *version_of, *version;
};
constexpr Part kParts[] = {{"MPI", "mpi_standard", "standard ", HOMZ_MPI_STANDARD},
                           {"CUDA", "cuda", "", HOMZ_CUDA_VERSION},
                           {"NCCL", "nccl", "", HOMZ_NCCL_VERSION}};

struct Check {
  std::string name;
  bool ok;
  std::string detail;  // what was found; of a failure, with its remedy
};

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

// Their names, if this build can use them.
Result<std::vector<std::string>> gpus() {
  HOMZ_ASSIGN(const int number, gpu::count());
  std::vector<std::string> names(static_cast<std::size_t>(number));
  for (int i = 0; i < number; ++i) {
    HOMZ_TRY(gpu::use(i));
    HOMZ_ASSIGN(names[static_cast<std::size_t>(i)], gpu::name());
  }
  return names;
}

Check check_hdf5(const hdf5::LibraryInfo& info) {
  return {"HDF5", info.compatible,
          info.compatible
              ? fmt::format("library {}, built with the headers of {}", info.library, info.headers)
              : fmt::format("library {}, but built with the headers of {}; rebuild homz with this library",
                            info.library, info.headers)};
}

Check check_canary() {
  const Status status = check_arithmetic();
  return {"arithmetic", status.ok(),
          status.ok() ? "no fused multiply-add, subnormal numbers are kept" : status.message()};
}

Check check_instructions() {
  const std::string wanted = environment("HOMZ_SIMD").value_or(""), all = simd::names_of_machine();
  if (wanted.empty()) return {"instructions", true, fmt::format("{}: the last of them", all)};
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == wanted)
      return {"instructions", true, fmt::format("{}, by HOMZ_SIMD; there are {}", wanted, all)};
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return {"instructions", false,
          fmt::format("HOMZ_SIMD={} is ignored: give one of {}, or unset it", printable(wanted), all)};
}

// A small field with everything in it that hurts, through every codec and back.
Status round_trip(const Codec& codec) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * i) % 1009) * 0.37f - 100;
  values[17] = std::numeric_limits<float>::quiet_NaN();
  values[1700] = -std::numeric_limits<float>::infinity();
  const ConstBytes data = std::as_bytes(std::span(values));
  HOMZ_ASSIGN(const CodecChoice choice, registry().choose(codec.info().name));
  const ErrorBound bound{BoundMode::absolute, 0.01};
  HOMZ_ASSIGN(const Compressed compressed,
              compress(choice, Field::flat(Dtype::f32, values.size()), data, bound, std::nullopt, host()));
  HOMZ_ASSIGN(const Decompressed back, decompress(registry(), compressed.stream(), host()));
  const Comparison comparison{Dtype::f32, codec.info().lossless ? 0 : bound.value, std::nullopt};
  if (compare(comparison, data, back.data.bytes(), 0, 1).violations == 0) return Status();
  return Status(Code::internal, "the error bound was not kept; report this build, and do not use it");
}

Check check_codecs() {
  std::string names;
  for (const Codec* codec : registry().all()) {
    const Status status = round_trip(*codec);
    if (!status.ok()) return {"codecs", false, fmt::format("{}: {}", codec->info().name, status.message())};
    names += (names.empty() ? "" : ", ") + std::string(codec->info().name);
  }
  return {"codecs", true, names + ": round trip within the bound"};
}

// The program runs in the locale "C"; here it tries the user's, which a library may have set.
Check check_locale() {
  const char* const chosen = std::setlocale(LC_ALL, "");
  const std::string name = chosen == nullptr ? "unknown to this system" : chosen;
  const auto parsed = parse_double("1234.5");
  const bool ok = parsed.ok() && *parsed == 1234.5 && fmt::format("{}", 1234.5) == "1234.5";
  std::setlocale(LC_ALL, "C");
  return {"locale", ok,
          fmt::format("{}: numbers are {} with a decimal point", printable(name),
                      ok ? "read and written" : "not read")};
}

Check check_plugins(const PluginSearch& search) {
  if (!search.problem.empty()) return {"plugin search", false, search.problem};
  std::string text =
      search.from_environment ? "" : "HDF5_PLUGIN_PATH is not set, HDF5 looks in its own directory";
  for (const PluginDirectory& d : search.directories)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", printable(d.path),
                        d.has_homz ? " (has homz)"
                        : d.usable ? " (without homz)"
                                   : " (" + d.problem + ")");
  if (!search.remark.empty()) text += (text.empty() ? "" : "; ") + search.remark;
  return {"plugin search", true, text};
}

Json json_of(const PluginSearch& search) {
  Json directories = Json::array();
  for (const PluginDirectory& d : search.directories)
    directories.push_back(
        {{"path", d.path}, {"usable", d.usable}, {"has_homz", d.has_homz}, {"problem", d.problem}});
  return {{"disabled", search.disabled},
          {"from_environment", search.from_environment},
          {"directories", std::move(directories)}};
}

Json json_of(const std::vector<Check>& checks, const PluginSearch& search, bool ok) {
  Json list = Json::array();
  for (const Check& check : checks)
    list.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  Json json = {{"version", HOMZ_VERSION},
               {"compiler", compiler()},
               {"build_type", HOMZ_BUILD_TYPE},
               {"zstd", ZSTD_versionString()}};
  for (const Part& part : kParts) json[part.key] = *part.version == 0 ? Json(nullptr) : Json(part.version);
  const auto names = gpus();
  json["gpus"] = names.ok() ? *names : std::vector<std::string>();
  json["gpu_problem"] = names.status().message();
  json.update({{"threads", hardware_threads()},
               {"hdf5_filter_id", hdf5::library_info().filter_id},
               {"plugin_search", json_of(search)},
               {"checks", std::move(list)},
               {"ok", ok}});
  return json;
}

std::string version_text(const Part& part) {
  if (*part.version == 0) return "not in this build: install it and run CMake again, which finds it";
  return std::string(part.version_of) + part.version;
}

std::string text_of(const std::vector<Check>& checks) {
  Facts facts;
  facts.add("homz", fmt::format("{}, {} build, {}", HOMZ_VERSION, HOMZ_BUILD_TYPE, compiler()));
  facts.add("zstd", ZSTD_versionString());
  for (const Part& part : kParts) facts.add(part.name, version_text(part));
  const auto names = gpus();
  facts.add("GPUs", names.ok() ? fmt::format("{}", fmt::join(*names, ", ")) : names.status().message());
  facts.add("threads", fmt::format("{}", hardware_threads()));
  facts.add("HDF5 filter", fmt::format("id {}", hdf5::library_info().filter_id));
  Table table({{"check", Table::Align::left}, {"", Table::Align::left}, {"found", Table::Align::left}});
  for (const Check& check : checks) table.add({check.name, check.ok ? "ok" : "WRONG", check.detail});
  return facts.text() + '\n' + table.text();
}

Result<Exit> run(bool as_json) {
  const hdf5::LibraryInfo library = hdf5::library_info();
  const PluginSearch search = examine_plugin_search(
      environment("HDF5_PLUGIN_PATH"), environment("HDF5_PLUGIN_PRELOAD"), library.plugin_directory);
  const std::vector<Check> checks = {check_canary(),      check_instructions(),  check_codecs(),
                                     check_hdf5(library), check_plugins(search), check_locale()};
  bool ok = true;
  for (const Check& check : checks) ok = ok && check.ok;
  if (as_json)
    print_json(json_of(checks, search, ok));
  else
    print(text_of(checks));
  return ok ? kOk : kDiffers;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("doctor", "Check this build and its surroundings, and say what to do");
  const auto as_json = std::make_shared<bool>(false);
  command.add_flag("--json", *as_json, "report as JSON");
  command.footer(kExamples);
  command.callback([as_json, &action] { action = [as_json] { return run(*as_json); }; });
}

}  // namespace homz::cli
