// How ranks agree on what their data are like, and on what to do with them.
#include <fmt/format.h>

#include <cmath>

#include "codecs/builtin.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/running.hpp"
#include "collectives/sample.hpp"

namespace homz {
Result<CodecChoice> codec_of(const CollectiveOptions& options, const std::string& name) {
  if (options.codec.codec != nullptr) return options.codec;
  return registry().choose(name);
}

namespace {

// Copies what is sampled to the host.
class Copied {
 public:
  Copied(Processor& processor, ConstBytes data) : processor_(processor), data_(data) {}
  Result<ConstBytes> operator()(std::uint64_t first, std::uint64_t bytes) {
    if (processor_.space() == Space::host) return data_.subspan(first, bytes);
    copy_.resize(bytes);
    HOMZ_TRY(processor_.copy(data_.subspan(first, bytes), copy_));
    HOMZ_TRY(processor_.settle());
    return ConstBytes(copy_);
  }

 private:
  Processor& processor_;
  ConstBytes data_;
  std::vector<std::byte> copy_;
};

// What this rank's data are like.
Result<Record> look(const Running& run, Look at, const Profile& profile, BlockPool& pool) {
  const CollectiveOptions& options = run.call.options;
  const ConstBytes data = own_data(run.call, run.place);
  Record record;
  if (at == Look::nothing) return record;
  HOMZ_TRY(run.processor->follow(options.stream));
  HOMZ_ASSIGN(record.magnitude_max, run.processor->largest_magnitude(run.call.dtype, data));
  record.magnitude_sum = record.magnitude_max;
  record.amplification = std::max(1.0, record.magnitude_max + options.abs_error);
  if (data.empty()) record.ranks = 0;  // what it would say of ratios does not count
  if (at == Look::magnitudes) return record;
  const bool divides = run.call.op == ReduceOp::sum;
  const double bound = options.abs_error / (divides ? run.place.size : 1);
  const std::vector<std::string> codecs = codecs_in_question(options, profile);
  Copied sample(*run.processor, data);
  for (std::size_t i = 0; i < std::min(codecs.size(), Record::kCodecs) && !data.empty(); ++i) {
    HOMZ_ASSIGN(const CodecChoice codec, codec_of(options, codecs[i]));
    HOMZ_ASSIGN(const std::uint64_t bytes, sample_scratch(codec, run.call.dtype, bound));
    const BlockPtr scratch = pool.take(bytes);
    const std::uint64_t count = data.size() / size_of(run.call.dtype);
    HOMZ_ASSIGN(const double ratio,
                sampled_ratio(codec, run.call.dtype, bound, count, std::ref(sample), scratch->room()));
    record.compressed[i] = 1 / ratio;
  }
  return record;
}

}  // namespace

Result<std::unique_ptr<Operation>> ask(Office& office, Running& run, Look at) {
  run.has_asked = true;
  HOMZ_ASSIGN(run.own, look(run, at, office.profile, office.wire->pool()));
  Job job;
  job.call = run.signature;
  job.parts.resize(1);
  job.parts[0].in = {reinterpret_cast<const std::byte*>(&run.own), sizeof(Record)};
  job.parts[0].out = {reinterpret_cast<std::byte*>(&run.all), sizeof(Record)};
  job.parts[0].bytes = sizeof(Record);
  job.schedule = doubling_allreduce(run.place);
  job.travels = true;
  job.piece_bytes = sizeof(Record);
  job.timeout_seconds = run.call.options.timeout_seconds;
  return std::unique_ptr<Operation>(
      new Transfers(*office.wire, std::move(job), record_handling(office.wire->pool()), &run.report));
}

namespace {

Ratios ratios_of(const Running& run) {
  Ratios ratios;
  if (!run.has_asked || run.all.ranks == 0) return ratios;
  for (const double compressed : run.all.compressed)
    ratios.push_back(compressed > 0 ? run.all.ranks / compressed : 0);
  return ratios;
}

BoundedCall bounded(const Running& run, const Candidate& candidate) {
  const bool is_two_level = candidate.algorithm == Algorithm::two_level;
  const int per_node = is_two_level ? run.task.ranks_per_node : 1;
  return {.collective = run.call.collective,
          .op = run.call.op,
          .dtype = run.call.dtype,
          .algorithm = is_two_level ? Algorithm::ring : candidate.algorithm,
          .scheme = candidate.scheme,
          .ranks = run.place.size / per_node,
          .ranks_per_node = per_node,
          .abs_error = run.call.options.abs_error,
          .sigmas = run.call.options.sigmas};
}

Result<Decision> choose_plain(const Running& run, const Profile& profile, const std::string& why) {
  CollectiveOptions plain = run.call.options;
  plain.scheme = Scheme::plain;
  if (plain.algorithm == Algorithm::native && !run.task.has_native) plain.algorithm = Algorithm::automatic;
  HOMZ_ASSIGN(Decision decision, choose(run.task, plain, profile, {}));
  if (!why.empty()) decision.reason = why;
  return decision;
}

// Choices that do not depend on data are made once.
Result<Decision> choose_for(Office& office, const Task& task, const Running& run) {
  const CollectiveOptions& options = run.call.options;
  if (run.has_asked) return choose(task, options, office.profile, ratios_of(run));
  for (const Office::Choice& made : office.choices)
    if (made.task == task && made.options == run.signature.plan) return made.decision;
  HOMZ_ASSIGN(const Decision decision, choose(task, options, office.profile, {}));
  if (office.choices.size() == Office::kChoices) office.choices.clear();
  office.choices.push_back({task, run.signature.plan, decision});
  return decision;
}

Status choose_freely(Office& office, const Running& run, Decision& decision) {
  if (run.call.fixed) {
    decision = *run.call.fixed;
    return Status();
  }
  if (run.place.size == 1) {
    decision.candidate.algorithm = Algorithm::ring;
    decision.candidate.scheme = Scheme::plain;
    decision.reason = "there is one rank";
    return Status();
  }
  Task task = run.task;
  const CodecChoice& codec = run.call.options.codec;
  const bool may_compress = task.lossy || (codec.codec != nullptr && codec.codec->info().lossless);
  task.lossy = may_compress && run.has_asked;
  HOMZ_ASSIGN(decision, choose_for(office, task, run));
  return Status();
}

void remember(Office& office, const Running& run) {
  constexpr unsigned kMostSkips = 63;
  if (!run.has_asked || !run.call.may_block || run.call.options.scheme != Scheme::automatic) return;
  Office::Reluctance* known = office.reluctance(run.task, run.signature.plan);
  if (known == nullptr) {
    if (office.reluctances.size() == Office::kChoices) office.reluctances.clear();
    known = &office.reluctances.emplace_back(Office::Reluctance{run.task, run.signature.plan});
  }
  const bool has_compressed = run.decision.candidate.scheme != Scheme::plain;
  known->skips = has_compressed ? 0 : std::min(2 * known->skips + 1, kMostSkips);
  known->left = known->skips;
}

Status choose_within_bound(Office& office, Running& run) {
  HOMZ_TRY(choose_freely(office, run, run.decision));
  if (run.decision.candidate.scheme == Scheme::plain) return Status();
  const auto spending = spend(bounded(run, run.decision.candidate), run.all);
  if (spending.ok() || run.call.options.abs_error == 0) {
    if (spending.ok()) run.spending = *spending;
    return Status();
  }
  HOMZ_ASSIGN(run.decision,
              choose_plain(run, office.profile, "uncompressed: " + spending.status().message()));
  return Status();
}

}  // namespace

Status decide(Office& office, Running& run) {
  run.report.raw_bytes = 0;  // records are no values
  HOMZ_TRY(choose_within_bound(office, run));
  remember(office, run);
  return Status();
}

}  // namespace homz
