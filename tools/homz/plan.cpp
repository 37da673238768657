// homz plan: what a collective would be done by, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "collectives/choose.hpp"
#include "core/text.hpp"
#include "tools/amounts.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/json_output.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  homz plan --ranks 32 --size 64MiB --ratio 8
  homz plan --ranks 32 --ranks-per-node 4 --size 64MiB --ratio 8 --profile profile.json
  homz plan --ranks 16 --size 1MiB --collective bcast --ratio 5 --algorithm binomial --json

Without --ratio values must be exact, and nothing is compressed. Without --profile links and codecs are guessed;
homz tune makes a profile. HOMZ_ALGORITHM, HOMZ_SCHEME and HOMZ_CODEC hold here as they do in programs.)";

struct Arguments {
  Argument ranks, per_node, size, collective, op, type, ratio, profile, algorithm, scheme, codec, threads;
  bool uneven = false, without_native = false, json = false;
};

struct Plan {
  Task task;
  CollectiveOptions options;
  Profile profile;
  Ratios ratios;
  std::string ignored;  // of the environment
};

Result<int> parse_ranks(const Argument& argument, const char* option, int fallback) {
  if (!argument.given()) return fallback;
  constexpr std::uint64_t kMost = 1 << 24;
  const auto number = parse_unsigned(argument.text);
  if (!number.ok() || *number < 1 || *number > kMost)
    return usage_error(
        fmt::format("{} '{}': give a whole number from 1 to {}", option, printable(argument.text), kMost));
  return static_cast<int>(*number);
}

// In place of what is not given, the fallback.
template <class T, class Parse>
Status take(const Argument& argument, Parse&& parse, T& value) {
  if (!argument.given()) return Status();
  HOMZ_ASSIGN(value, parse(argument.text));
  return Status();
}

Result<Task> understand_task(const Arguments& given) {
  Task task;
  if (!given.ranks.given() || !given.size.given())
    return usage_error("a plan needs --ranks and --size, as in --ranks 32 --size 64MiB");
  HOMZ_ASSIGN(task.ranks, parse_ranks(given.ranks, "--ranks", 1));
  HOMZ_ASSIGN(task.ranks_per_node, parse_ranks(given.per_node, "--ranks-per-node", 1));
  if (task.ranks_per_node > task.ranks)
    return usage_error(
        fmt::format("--ranks-per-node {}: there are {} ranks", task.ranks_per_node, task.ranks));
  HOMZ_TRY(take(given.collective, parse_collective, task.collective).within("--collective"));
  HOMZ_TRY(take(given.type, parse_dtype, task.dtype));
  if (!reduces(task.collective)) task.op = ReduceOp::none;
  HOMZ_TRY(take(given.op, parse_reduce_op, task.op).within("--op"));
  if (reduces(task.collective) != (task.op != ReduceOp::none))
    return usage_error(fmt::format(
        "--op {}: {} {}", to_string(task.op), to_string(task.collective),
        reduces(task.collective) ? "needs sum, average, min, max or prod" : "moves data and takes none"));
  HOMZ_ASSIGN(const std::uint64_t bytes, parse_size("--size", given.size.text));
  HOMZ_TRY(check_whole("--size", bytes, task.dtype));
  task.count = bytes / size_of(task.dtype);
  task.uneven = given.uneven;
  task.has_native = !given.without_native;
  task.lossy = given.ratio.given();
  return task;
}

Result<Plan> understand(const Arguments& given) {
  Plan plan;
  HOMZ_ASSIGN(plan.task, understand_task(given));
  HOMZ_TRY(take(given.algorithm, parse_algorithm, plan.options.algorithm).within("--algorithm"));
  HOMZ_TRY(take(given.scheme, parse_scheme, plan.options.scheme).within("--scheme"));
  HOMZ_TRY(take(given.codec, choose_codec, plan.options.codec));
  const Codec* const codec = plan.options.codec.codec;
  const bool is_exact = !plan.task.lossy && (codec == nullptr || !codec->info().lossless);
  if (compresses(plan.options.scheme) && is_exact && plan.options.algorithm != Algorithm::native)
    return usage_error(fmt::format("--scheme {} compresses: say by how much, as in --ratio 8",
                                   to_string(plan.options.scheme)));
  if (given.threads.given()) {
    HOMZ_ASSIGN(plan.options.threads, parse_threads(given.threads));
  }
  plan.options.abs_error = plan.task.lossy ? 1 : 0;  // whichever: the ratio stands for it
  HOMZ_ASSIGN(const Overrides overrides, overrides_of_environment());
  plan.options = overridden(plan.options, overrides, plan.task);
  plan.ignored = ignored_overrides(plan.options, overrides, plan.task);
  plan.profile = Profile::unmeasured();
  HOMZ_TRY(take(given.profile, read_profile, plan.profile));
  if (given.ratio.given()) {
    const auto ratio = parse_double(given.ratio.text);
    if (!ratio.ok() || !(*ratio > 0))
      return usage_error(fmt::format("--ratio '{}': give a number above 0", printable(given.ratio.text)));
    plan.ratios.assign(codecs_in_question(plan.options, plan.profile).size(), *ratio);
  }
  return plan;
}

Json json_of(const Candidate& candidate) {
  return {{"algorithm", to_string(candidate.algorithm)},
          {"scheme", to_string(candidate.scheme)},
          {"codec", candidate.codec},
          {"piece_values", candidate.piece_values},
          {"seconds", json_number(candidate.seconds)},
          {"wire_bytes", json_number(candidate.wire_bytes)}};
}

void print_as_json(const Plan& plan, bool asks, const std::vector<Candidate>& all, const Decision& decision) {
  Json json;
  json["collective"] = to_string(plan.task.collective);
  json["op"] = to_string(plan.task.op);
  json["type"] = to_string(plan.task.dtype);
  json["ranks"] = plan.task.ranks;
  json["ranks_per_node"] = plan.task.ranks_per_node;
  json["size_bytes"] = plan.task.count * size_of(plan.task.dtype);
  json["ratio"] = plan.ratios.empty() ? Json(nullptr) : json_number(plan.ratios.front());
  json["machine"] = plan.profile.machine;
  json["looks_at_data"] = asks;
  json["choice"] = json_of(decision.candidate);
  json["reason"] = decision.reason;
  json["candidates"] = Json::array();
  for (const Candidate& each : all) json["candidates"].push_back(json_of(each));
  print_json(json);
}

// One for all of a column.
struct Unit {
  const char* name;
  double size;
  int digits;  // behind the point
};
constexpr Unit kTimes[] = {{"us", 1e-6, 1}, {"ms", 1e-3, 3}, {"s", 1, 3}};
constexpr Unit kBytes[] = {{"B", 1, 0}, {"kB", 1e3, 2}, {"MB", 1e6, 2}, {"GB", 1e9, 2}};

// The largest of the units that leaves the least number at 1 or more. Zeros do not count.
Unit unit_for(std::span<const Unit> units, const std::vector<Candidate>& all, double Candidate::*number) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& each : all)
    if (each.*number > 0) least = std::min(least, each.*number);
  Unit best = units.front();
  for (const Unit& unit : units)
    if (least >= unit.size && !std::isinf(least)) best = unit;
  return best;
}

std::string in(const Unit& unit, double number) {
  return fmt::format("{:.{}f}", number / unit.size, unit.digits);
}

void print_as_text(bool asks, const std::vector<Candidate>& all, const Decision& decision) {
  using Align = Table::Align;
  const Unit time = unit_for(kTimes, all, &Candidate::seconds);
  const Unit bytes = unit_for(kBytes, all, &Candidate::wire_bytes);
  Table table({{fmt::format("expected, {}", time.name), Align::right},
               {"algorithm", Align::left},
               {"scheme", Align::left},
               {"codec", Align::left},
               {"values a piece", Align::right},
               {fmt::format("sent by a rank, {}", bytes.name), Align::right},
               {"", Align::left}});
  for (const Candidate& each : all) {
    const Candidate& chosen = decision.candidate;
    const bool is_chosen =
        each.algorithm == chosen.algorithm && each.scheme == chosen.scheme && each.codec == chosen.codec;
    table.add({in(time, each.seconds), std::string(to_string(each.algorithm)),
               std::string(to_string(each.scheme)), each.codec.empty() ? "-" : each.codec,
               each.algorithm == Algorithm::native ? "-" : std::to_string(each.piece_values),
               in(bytes, each.wire_bytes), is_chosen ? "<- chosen" : ""});
  }
  print(table.text());
  print(fmt::format("\n{}\n", decision.reason));
  print(asks ? "The ranks look at their data and agree first.\n" : "The ranks do not look at their data.\n");
}

Result<Exit> run(const Arguments& given) {
  HOMZ_ASSIGN(const Plan plan, understand(given));
  const bool asks = worth_asking(plan.task, plan.options, plan.profile);
  const Ratios known = asks ? plan.ratios : Ratios();
  HOMZ_ASSIGN(Decision decision, choose(plan.task, plan.options, plan.profile, known));
  const std::vector<Candidate> all = candidates(plan.task, plan.options, plan.profile, plan.ratios);
  decision.reason += plan.ignored;
  if (given.json)
    print_as_json(plan, asks, all, decision);
  else
    print_as_text(asks, all, decision);
  return kOk;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "plan", "Tell what a collective would be done by: all candidates by expected time, and the reason");
  const auto given = std::make_shared<Arguments>();
  add_argument(command, "--ranks", given->ranks, "N", "how many ranks");
  add_argument(command, "--ranks-per-node", given->per_node, "N", "of them on each node; 1 if not given");
  add_argument(command, "--size", given->size, "BYTES",
               fmt::format("of a rank's vector; of allgather, gather and scatter that of all ranks; with {}",
                           kUnitsOfBytes));
  add_argument(
      command, "--collective", given->collective, "NAME",
      "allreduce (the default), reduce_scatter, reduce, allgather, bcast, scatter, gather, alltoall");
  add_argument(command, "--op", given->op, "NAME",
               "of a reduction: sum (the default), average, min, max, prod");
  add_argument(command, "--type", given->type, "TYPE", "f32 (the default) or f64");
  add_argument(command, "--ratio", given->ratio, "R", "by which the codecs make a rank's data smaller");
  add_argument(command, "--profile", given->profile, "FILE", "made by homz tune");
  add_argument(command, "--algorithm", given->algorithm, "NAME", "only this one");
  add_argument(command, "--scheme", given->scheme, "NAME", "only this one");
  add_argument(command, "-c,--codec", given->codec, "CODEC", "only this one, as in cuszp2:mode=plain");
  add_argument(command, "--threads", given->threads, "N", "threads that code; 1 if not given");
  command.add_flag("--uneven", given->uneven, "ranks have different counts");
  command.add_flag("--without-native", given->without_native, "the transport has no collectives of its own");
  command.add_flag("--json", given->json, "report as JSON");
  command.footer(kExamples);
  command.callback([given, &action] { action = [given] { return run(*given); }; });
}

}  // namespace homz::cli
