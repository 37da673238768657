// How ranks agree on what their data are like, and on what to do with them.
#include <fmt/format.h>

#include <cmath>

#include "codecs/builtin.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/coder.hpp"
#include "collectives/running.hpp"
#include "collectives/sample.hpp"

namespace homz {
Result<CodecChoice> codec_of(const CollectiveOptions& options, const std::string& name) {
  if (options.codec.codec != nullptr) return options.codec;
  return registry().choose(name);
}

namespace {

Result<double> ratio_on_host(const CodecChoice& codec, Dtype dtype, double bound, ConstBytes data,
                             BlockPool& pool) {
  HOMZ_ASSIGN(const std::uint64_t bytes, sample_scratch(codec, dtype, bound));
  return sampled_ratio(codec, dtype, bound, data, pool.take(bytes)->room());
}

// One encoding of the whole sample, since a GPU takes as long for a run of it.
Result<double> ratio_on_gpu(const CodecChoice& codec, Dtype dtype, double bound, ConstBytes data,
                            Processor& processor, BlockPool& pool) {
  constexpr std::uint64_t kLongestStride = std::uint64_t{1} << 30;
  if (!codec.codec->on_device()) return 1.0;
  const std::uint64_t size = size_of(dtype);
  const SampledRuns runs = sampled_runs(data.size() / size);
  const std::uint64_t row = runs.values * size;
  HOMZ_ASSIGN(const Values sample, processor.room(runs.number * row));
  HOMZ_TRY(processor.copy_rows(data.data() + runs.first * size, std::min(runs.stride * size, kLongestStride),
                               row, runs.number, sample.bytes));
  HOMZ_ASSIGN(Coder coder, Coder::make({.choice = codec,
                                        .dtype = dtype,
                                        .share = bound,
                                        .piece_bytes = sample.bytes.size(),
                                        .processor = &processor},
                                       pool));
  HOMZ_ASSIGN(const BlockPtr coded, coder.encode(sample.bytes, sample));
  HOMZ_TRY(coder.finish(coded));
  return static_cast<double>(sample.bytes.size()) / static_cast<double>(coded->payload().size());
}

Status look_at_ratios(const Running& run, ConstBytes data, const Profile& profile, BlockPool& pool,
                      Record& record) {
  const CollectiveOptions& options = run.call.options;
  const bool divides = run.call.op == ReduceOp::sum;
  const double bound = options.abs_error / (divides ? run.place.size : 1);
  const std::vector<std::string> codecs = codecs_in_question(options, profile);
  for (std::size_t i = 0; i < std::min(codecs.size(), Record::kCodecs) && !data.empty(); ++i) {
    HOMZ_ASSIGN(const CodecChoice codec, codec_of(options, codecs[i]));
    const Dtype dtype = run.call.dtype;
    HOMZ_ASSIGN(const double ratio, run.processor->space() == Space::host
                                        ? ratio_on_host(codec, dtype, bound, data, pool)
                                        : ratio_on_gpu(codec, dtype, bound, data, *run.processor, pool));
    record.compressed[i] = 1 / ratio;
  }
  return Status();
}

// What this rank's data are like.
Result<Record> look(Running& run, Look at, const Profile& profile, BlockPool& pool) {
  const CollectiveOptions& options = run.call.options;
  const ConstBytes data = own_data(run.call, run.place);
  Record record;
  if (at == Look::nothing) return record;
  HOMZ_TRY(run.follow_caller());
  HOMZ_TRY(run.processor->seek_magnitude(run.call.dtype, data));
  if (at == Look::ratios) HOMZ_TRY(look_at_ratios(run, data, profile, pool, record));
  HOMZ_ASSIGN(record.magnitude_max, run.processor->largest_magnitude());
  record.magnitude_sum = record.magnitude_max;
  record.amplification = std::max(1.0, record.magnitude_max + options.abs_error);
  if (data.empty()) record.ranks = 0;  // what it would say of ratios does not count
  return record;
}

// What records take is told apart from what values take.
class Agreement final : public Operation {
 public:
  Agreement(Wire& wire, Job job, CallReport& report)
      : report_(report), transfers_(wire, std::move(job), record_handling(wire.pool()), &own_) {}

  Result<bool> advance() override {
    HOMZ_ASSIGN(const bool is_done, transfers_.advance());
    if (is_done) {
      report_.agreement_bytes += own_.sent_bytes;
      report_.wait_seconds += own_.wait_seconds;
    }
    return is_done;
  }

 private:
  CallReport& report_;
  CallReport own_;
  Transfers transfers_;
};

}  // namespace

Result<std::unique_ptr<Operation>> ask(Office& office, Running& run, Look at) {
  run.has_asked = true;
  auto own = look(run, at, office.profile, office.wire->pool());
  if (!own.ok()) static_cast<void>(run.processor->settle());  // the buffers are the caller's again
  HOMZ_ASSIGN(run.own, std::move(own));
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
  return std::unique_ptr<Operation>(new Agreement(*office.wire, std::move(job), run.report));
}

namespace {

// Steps of an eighth of a power of two: finer ones would change no choice, but few calls would meet again.
double coarse(double ratio) {
  int exponent = 0;
  const double mantissa = std::frexp(ratio, &exponent);  // exact, as is all here
  return std::ldexp(std::floor(mantissa * 16) / 16, exponent);
}

Ratios ratios_of(const Running& run) {
  Ratios ratios;
  if (!run.has_asked || run.all.ranks == 0) return ratios;
  for (const double compressed : run.all.compressed)
    ratios.push_back(compressed > 0 ? coarse(run.all.ranks / compressed) : 0);
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

// Choices between the same costs are made once: the table takes longer than a short call.
Result<Decision> choose_for(Office& office, const Task& task, const Running& run) {
  const Ratios ratios = ratios_of(run);
  const std::uint32_t key = digest_of(ratios, run.signature.plan);
  if (const Decision* const made = office.choices.find(task, key)) return *made;
  HOMZ_ASSIGN(const Decision decision, choose(task, run.call.options, office.profile, ratios));
  return office.choices.put(task, key, decision);
}

// Of one rank: the schedule of any algorithm is empty.
Decision alone() {
  Decision decision;
  decision.candidate.algorithm = Algorithm::ring;
  decision.candidate.scheme = Scheme::plain;
  decision.reason = "there is one rank";
  return decision;
}

Status choose_freely(Office& office, const Running& run, Decision& decision) {
  if (run.call.fixed) {
    decision = *run.call.fixed;
    return Status();
  }
  if (run.place.size == 1) {
    decision = alone();
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
  Office::Reluctance* known = office.reluctances.find(run.task, run.signature.plan);
  if (known == nullptr) known = &office.reluctances.put(run.task, run.signature.plan, {});
  const bool has_compressed = run.decision.candidate.scheme != Scheme::plain;
  known->skips = has_compressed ? 0 : std::min(2 * known->skips + 1, kMostSkips);
  known->left = known->skips;
}

// Where streams cannot be added within the bound, they may still be decoded, if that pays.
bool decodes_instead(Office& office, Running& run, const Decision& plain, const Status& why) {
  CollectiveOptions options = run.call.options;
  options.scheme = Scheme::ccoll;
  Result<Decision> decoding = choose(run.task, options, office.profile, ratios_of(run));
  if (!decoding.ok() || decoding->candidate.seconds >= plain.candidate.seconds) return false;
  const auto spending = spend(bounded(run, decoding->candidate), run.all);
  if (!spending.ok()) return false;
  run.decision = std::move(*decoding);
  run.decision.reason = "by ccoll: " + why.message();
  run.spending = *spending;
  return true;
}

Status choose_within_bound(Office& office, Running& run) {
  HOMZ_TRY(choose_freely(office, run, run.decision));
  if (run.decision.candidate.scheme == Scheme::plain) return Status();
  const auto spending = spend(bounded(run, run.decision.candidate), run.all);
  if (spending.ok() || run.call.options.abs_error == 0) {
    if (spending.ok()) run.spending = *spending;
    return Status();
  }
  HOMZ_ASSIGN(Decision plain, choose_plain(run, office.profile));
  const bool is_open = run.call.options.scheme == Scheme::automatic && !run.call.fixed;
  if (is_open && is_homomorphic(run.decision.candidate.scheme) &&
      decodes_instead(office, run, plain, spending.status()))
    return Status();
  run.decision = std::move(plain);
  run.decision.reason = "uncompressed: " + spending.status().message();
  return Status();
}

}  // namespace

Result<Decision> choose_plain(const Running& run, const Profile& profile) {
  if (run.place.size == 1) return alone();
  CollectiveOptions plain = run.call.options;
  plain.scheme = Scheme::plain;
  if (!can_run(plain.algorithm, Scheme::plain, run.task)) plain.algorithm = Algorithm::automatic;
  return choose(run.task, plain, profile, {});
}

Status decide(Office& office, Running& run) {
  HOMZ_TRY(choose_within_bound(office, run));
  if (!run.call.fixed)  // whose reason says it
    run.decision.reason += ignored_overrides(run.call.options, office.overrides, run.task);
  remember(office, run);
  return Status();
}

}  // namespace homz
