// homz tune: measures what choices of collectives are made from, as far as one process can.
#include "collectives/tune.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <thread>

#include "codecs/builtin.hpp"
#include "collectives/loopback.hpp"
#include "core/text.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/output_file.hpp"
#include "tools/homz/progress.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz tune -o profile.json --latency 30 --bandwidth 1
  homz tune -o profile.json -c homcomp -c zstd:level=1 --latency 2 --bandwidth 100
  homz tune                                   # prints the profile

Codecs, memory, calls and messages are measured, the latter between two threads; links are not: state them.
The MPI benchmark's own tuning measures links and the MPI library's collectives, too.)";

struct Arguments {
  Argument output, latency, bandwidth, inside_latency, inside_bandwidth, machine, seconds;
  std::vector<std::string> codecs;
  bool force = false, quiet = false;
};

Result<double> parse_positive(const Argument& argument, const char* option, double fallback) {
  if (!argument.given()) return fallback;
  const auto number = parse_double(argument.text);
  if (!number.ok() || !(*number > 0))
    return usage_error(fmt::format("{} '{}': give a number above 0", option, printable(argument.text)));
  return *number;
}

constexpr double kMicrosecond = 1e-6, kGigabit = 1e9 / 8;

Status take_link(const Argument& latency, const Argument& bandwidth, const std::string& prefix,
                 LinkProfile& link) {
  const std::string first = prefix + "latency", second = prefix + "bandwidth";
  HOMZ_ASSIGN(const double microseconds, parse_positive(latency, first.c_str(), link.latency / kMicrosecond));
  HOMZ_ASSIGN(const double gigabits,
              parse_positive(bandwidth, second.c_str(), 1 / (link.seconds_per_byte * kGigabit)));
  if (latency.given()) link.latency = microseconds * kMicrosecond;
  if (bandwidth.given()) link.seconds_per_byte = 1 / (gigabits * kGigabit);
  return Status();
}

// Of two threads that are ranks: only what does not depend on links is taken.
Status measure_calls(const TuneOptions& options, Profile& profile) {
  auto ranks = loopback(2);
  Profile measured[2] = {profile, profile};
  Status failures[2];
  const auto work = [&](int rank) {
    failures[rank] = tune_links(*ranks[static_cast<std::size_t>(rank)], options, measured[rank]);
    if (failures[rank].ok())
      failures[rank] = tune_calls(*ranks[static_cast<std::size_t>(rank)], options, measured[rank]);
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  for (const Status& failure : failures) HOMZ_TRY(failure);
  profile.call_seconds = measured[0].call_seconds;
  profile.message_seconds = measured[0].message_seconds;
  return Status();
}

std::string text_of(const Profile& profile) {
  using Align = Table::Align;
  Table table({{"codec", Align::left},
               {"bytes a piece", Align::right},
               {"encode GB/s", Align::right},
               {"decode GB/s", Align::right},
               {"combine GB/s", Align::right},
               {"accumulate GB/s", Align::right}});
  for (const CodecProfile& codec : profile.codecs)
    for (const Curve::Point& point : codec.encode.points) {
      const auto speed = [&](const Curve& curve) {
        const double seconds = curve.seconds(point.bytes);
        return seconds > 0 ? fmt::format("{:.2f}", point.bytes / seconds * 1e-9) : "-";
      };
      table.add({codec.codec, fmt::format("{:.0f}", point.bytes), speed(codec.encode), speed(codec.decode),
                 speed(codec.combine), speed(codec.accumulate)});
    }
  return table.text() +
         fmt::format("\na call {:.2f} us, a message {:.2f} us, adding {:.1f} GB/s, copying {:.1f} GB/s\n",
                     profile.call_seconds / kMicrosecond, profile.message_seconds / kMicrosecond,
                     1e-9 / profile.reduce_seconds_per_byte, 1e-9 / profile.copy_seconds_per_byte);
}

Result<Exit> run(const Arguments& given) {
  TuneOptions options;
  for (const std::string& name : given.codecs) {
    HOMZ_TRY(choose_codec(name).status());
    options.codecs.push_back(name);
  }
  HOMZ_ASSIGN(options.seconds_each, parse_positive(given.seconds, "--seconds", options.seconds_each));
  Profile profile = Profile::unmeasured();
  profile.machine = given.machine.text;
  HOMZ_TRY(take_link(given.latency, given.bandwidth, "--", profile.between));
  HOMZ_TRY(take_link(given.inside_latency, given.inside_bandwidth, "--inside-", profile.inside));
  std::optional<OutputFile> output;
  if (given.output.given()) {
    HOMZ_ASSIGN(OutputFile file, OutputFile::create(given.output.text, given.force));
    output.emplace(std::move(file));
  }
  Progress progress(given.quiet || !output);
  progress.begin("measuring", 0);
  HOMZ_TRY(tune_processor(options, profile));
  HOMZ_TRY(measure_calls(options, profile));
  const std::string text = to_json(profile);
  if (!output) {
    print(text);
    return kOk;
  }
  HOMZ_TRY(output->write(std::as_bytes(std::span(text)), progress));
  HOMZ_TRY(output->commit());
  progress.clear();
  if (!given.quiet) print(text_of(profile));
  return kOk;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("tune", "Measure this machine's profile, from which collectives choose");
  const auto given = std::make_shared<Arguments>();
  add_argument(command, "-o,--output", given->output, "OUT",
               "the profile to write; it is printed if not given");
  command.add_option("-c,--codec", given->codecs, "codecs to measure; homcomp if not given")
      ->type_name("CODEC");
  add_argument(command, "--latency", given->latency, "US", "of a message between nodes, in microseconds");
  add_argument(command, "--bandwidth", given->bandwidth, "GBIT", "between nodes, each way, in Gbit/s");
  add_argument(command, "--inside-latency", given->inside_latency, "US", "the same inside a node");
  add_argument(command, "--inside-bandwidth", given->inside_bandwidth, "GBIT", "the same inside a node");
  add_argument(command, "--machine", given->machine, "TEXT", "a name for the profile");
  add_argument(command, "--seconds", given->seconds, "S", "to spend on each number; 0.02 if not given");
  command.add_flag("--force", given->force, "replace an output that exists");
  command.add_flag("-q,--quiet", given->quiet, "no report, no progress");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
