#include "collectives/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/native.hpp"
#include "collectives/running.hpp"
#include "collectives/schemes/schemes.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- The audit: the uncompressed collective besides, and the largest difference to it.

// Infinite where one is a number that the other is not.
template <class T>
double largest_difference(ConstBytes a, ConstBytes b) {
  const T* const x = reinterpret_cast<const T*>(a.data());
  const T* const y = reinterpret_cast<const T*>(b.data());
  double largest = 0;
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    largest =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

// Owns what the audit needs until it is done.
struct Audit {
  std::vector<std::byte> in, out;
  Running run;
};

Result<std::unique_ptr<Operation>> audit(Office& office, const std::shared_ptr<Running>& run,
                                         const std::shared_ptr<Audit>& audit) {
  audit->run = *run;
  audit->run.processor = office.host.get();
  Call& call = audit->run.call;
  audit->out.resize(call.out.size());
  call.out = audit->out;
  call.in = audit->in;
  if (call.collective == Collective::bcast) {
    std::ranges::copy(audit->in, audit->out.begin());
    call.in = call.out;
  }
  call.options.space = Space::host;
  Candidate& plain = audit->run.decision.candidate;
  plain.scheme = Scheme::plain;
  if (plain.algorithm == Algorithm::two_level) plain.algorithm = Algorithm::ring;
  const bool has_native =
      office.wire->transport().has_native(call.collective, audit->run.signature.count, Space::host);
  if (plain.algorithm == Algorithm::native && !has_native)
    plain.algorithm = call.collective == Collective::bcast ? Algorithm::binomial : Algorithm::direct;
  ++audit->run.signature.plan;
  return transfer(office, audit->run);
}

void report(const Running& run) {
  if (run.call.options.report == nullptr) return;
  CallReport& to = *run.call.options.report;
  to = run.report;
  const Candidate& chosen = run.decision.candidate;
  to.algorithm = chosen.algorithm;
  to.scheme = chosen.scheme;
  to.reason = run.decision.reason;
  to.codec.clear();
  to.share = 0;
  if (chosen.scheme != Scheme::plain) {
    const auto codec = codec_of(run.call.options, chosen.codec);
    if (codec.ok()) to.codec = to_string(*codec);
    to.share = run.spending.share;
  }
}

// Whether ranks agree before they choose.
bool asks(Office& office, const Running& run) {
  const CollectiveOptions& options = run.call.options;
  if (run.place.size == 1 || options.scheme == Scheme::plain) return false;
  if (run.call.fixed) return run.call.fixed->candidate.scheme != Scheme::plain;
  if (options.scheme != Scheme::automatic) return true;
  if (!(options.abs_error > 0)) return false;
  const bool* is_worth = office.worth_asking.find(run.task, run.signature.plan);
  if (is_worth == nullptr)
    is_worth = &office.worth_asking.put(run.task, run.signature.plan,
                                        worth_asking(run.task, options, office.profile));
  if (!*is_worth) return false;
  Office::Reluctance* const known =
      run.call.may_block ? office.reluctances.find(run.task, run.signature.plan) : nullptr;
  if (known == nullptr || known->left == 0) return true;
  --known->left;
  return false;
}

// Kernels that reach for memory of the host leave the GPU unusable.
Status check_space(Office& office, const Call& call) {
  constexpr std::size_t kMostKnown = 64;
  if (call.options.space == Space::host) return Status();
  for (const ConstBytes buffer : {call.in, ConstBytes(call.out)}) {
    if (buffer.empty() || std::ranges::find(office.on_gpu, buffer.data()) != office.on_gpu.end()) continue;
    HOMZ_ASSIGN(const gpu::Residence residence, gpu::residence(buffer.data()));
    if (!residence.is_reached)
      return Status(Code::invalid_argument,
                    fmt::format("{}: a buffer of {} where options.space says device, of the current GPU",
                                to_string(call.collective),
                                residence.gpu < 0 ? "the host" : fmt::format("GPU {}", residence.gpu)));
    if (residence.gpu < 0) continue;  // addresses of the host come back as those of other memory
    if (office.on_gpu.size() == kMostKnown) office.on_gpu.clear();
    office.on_gpu.push_back(buffer.data());
  }
  return Status();
}

Result<std::shared_ptr<Running>> prepare(Office& office, Call call) {
  Wire& wire = *office.wire;
  const Status earlier = wire.check(wire.last_call() + 1);
  if (!earlier.ok())
    return Status(
        earlier.code(),
        fmt::format("an earlier call on this communicator has failed ({}): call renew() on all ranks",
                    earlier.message()));
  auto run = std::make_shared<Running>();
  run->place = {wire.rank(), wire.size(), call.root};
  run->call = without_ignored(std::move(call), run->place);
  HOMZ_TRY(check(run->call, run->place).within(fmt::format("rank {}", wire.rank())));
  run->signature = signature_of(run->call, wire.size());
  run->task = task_of(run->call, wire.size(), office.ranks_per_node);
  HOMZ_ASSIGN(run->processor, office.processor(run->call.options));
  run->task.on_device = run->processor->space() == Space::device;
  HOMZ_TRY(check_space(office, run->call));
  if (!run->call.may_block)
    HOMZ_TRY(run->follow_caller());  // not what is enqueued between start() and wait()
  run->task.has_native =
      run->call.may_block && !run->task.uneven &&
      wire.transport().has_native(run->call.collective, run->signature.count, run->call.options.space);
  run->call.options = overridden(run->call.options, office.overrides, run->task);
  run->signature.plan = digest_of(run->call);
  return run;
}

// Calls that cannot begin count, too: ranks number them alike.
Result<std::shared_ptr<Running>> begin(Office& office, Call call) {
  auto run = no_throw([&] { return prepare(office, std::move(call)); });
  if (!run.ok()) {
    office.wire->next_call();
    return run;
  }
  HOMZ_TRY(office.wire->begin_call((*run)->signature));
  return run;
}

// The stages up to the decision. Transports' own collectives check no arguments: that is done before.
std::vector<Sequence::Stage> stages_of_choice(Office& office, const std::shared_ptr<Running>& run) {
  std::vector<Sequence::Stage> stages;
  if (run->task.has_native && office.calls->any_before(run->signature.sequence))
    stages.push_back([&office, run]() -> Result<std::unique_ptr<Operation>> {
      return behind_others(office, run->signature.sequence);
    });
  if (asks(office, *run))
    stages.push_back(
        [&office, run] { return ask(office, *run, run->call.fixed ? Look::magnitudes : Look::ratios); });
  stages.push_back([&office, run]() -> Result<std::unique_ptr<Operation>> {
    HOMZ_TRY(decide(office, *run));
    const bool is_native = run->decision.candidate.algorithm == Algorithm::native;
    if (is_native && !run->has_asked && !run->call.options.trusts_ranks)
      return ask(office, *run, Look::nothing);
    return std::unique_ptr<Operation>();
  });
  return stages;
}

}  // namespace

Result<Processor*> Office::processor(const CollectiveOptions& options) {
  if (host == nullptr) host = host_processor();
  if (options.space == Space::host) return host.get();
  HOMZ_ASSIGN(const int current, gpu::current());
  const int own = gpu == nullptr ? wire->transport().gpu() : calls->gpu();
  if (own >= 0 && own != current)
    return Status(Code::invalid_argument,
                  fmt::format("GPU {} is current, but the communicator {} on GPU {}: make one for each",
                              current, gpu == nullptr ? "was made" : "has begun to work", own));
  if (gpu != nullptr) return gpu.get();
  HOMZ_ASSIGN(gpu, gpu_processor(wire->transport().moves_device_memory() ? Home::device : Home::pinned));
  calls->work_on(current);
  return gpu.get();
}

constexpr double kMostProfileBytes = 1 << 26;

// By a tree, in messages of a fixed size, so that profiles of any length meet.
Result<Profile> share_profile(Wire& wire, const Profile& own, double timeout_seconds) {
  if (wire.size() == 1) return own;
  std::string text = to_json(own);
  const Place place{wire.rank(), wire.size(), 0};
  const auto processor = host_processor();
  double length = static_cast<double>(text.size());
  for (const bool is_length : {true, false}) {
    if (!(length >= 0 && length <= kMostProfileBytes))
      return Status(Code::corrupt_stream, fmt::format("a profile of {} bytes", length));
    text.resize(is_length ? text.size() : static_cast<std::size_t>(length));
    std::vector<std::byte> bytes(is_length ? sizeof length : text.size());
    std::memcpy(bytes.data(), is_length ? static_cast<const void*>(&length) : text.data(), bytes.size());
    Job job;
    job.call = {Collective::bcast, ReduceOp::none, Dtype::f32, bytes.size(), 0, 0, 0, wire.next_call()};
    job.parts.resize(1);
    if (place.rank == 0) job.parts[0].in = bytes;
    job.parts[0].out = bytes;
    job.parts[0].bytes = bytes.size();
    job.schedule = binomial_bcast(place);
    job.piece_bytes = std::uint64_t{1} << 20;
    job.timeout_seconds = timeout_seconds;
    Transfers transfers(wire, std::move(job), plain_handling({}, *processor, wire.pool(), true), nullptr);
    while (true) {
      HOMZ_ASSIGN(const bool is_done, transfers.advance());
      if (is_done) break;
      wire.transport().yield();
    }
    std::memcpy(is_length ? static_cast<void*>(&length) : text.data(), bytes.data(), bytes.size());
  }
  return parse_profile(text);
}

Result<std::unique_ptr<Operation>> launch_choice(Office& office, Call call, Decision* decision) {
  HOMZ_ASSIGN(const auto run, begin(office, std::move(call)));
  std::vector<Sequence::Stage> stages = stages_of_choice(office, run);
  stages.push_back([run, decision]() -> Result<std::unique_ptr<Operation>> {
    *decision = run->decision;
    return std::unique_ptr<Operation>();
  });
  return std::unique_ptr<Operation>(new Sequence(std::move(stages)));
}

Result<std::unique_ptr<Operation>> launch(Office& office, Call call) {
  const std::uint64_t number = call.options.audit_every != 0 ? office.audits++ : 0;  // of refused calls, too
  HOMZ_ASSIGN(const auto run, begin(office, std::move(call)));
  const CollectiveOptions& options = run->call.options;
  const bool is_audited =
      options.audit_every != 0 && options.abs_error > 0 && number % options.audit_every == 0;
  const auto audited = is_audited ? std::make_shared<Audit>() : nullptr;
  if (is_audited) {
    audited->in.resize(run->call.in.size());
    HOMZ_TRY(run->follow_caller());
    HOMZ_TRY(run->processor->copy(run->call.in, audited->in));
    HOMZ_TRY(run->processor->settle());
  }

  std::vector<Sequence::Stage> stages = stages_of_choice(office, run);
  stages.push_back([&office, run] {
    run->signature.plan = digest_of(run->decision.candidate, run->signature.plan);
    return transfer(office, *run);
  });
  stages.push_back([run]() -> Result<std::unique_ptr<Operation>> {
    run->report.total_seconds = seconds_since(run->start);  // without the audit
    return std::unique_ptr<Operation>();
  });
  if (is_audited) stages.push_back([&office, run, audited] { return audit(office, run, audited); });
  stages.push_back([run, audited]() -> Result<std::unique_ptr<Operation>> {
    if (audited) {
      std::vector<std::byte> result(run->call.out.size());
      HOMZ_TRY(run->processor->follow(run->call.options.stream));
      HOMZ_TRY(run->processor->copy(run->call.out, result));
      HOMZ_TRY(run->processor->settle());
      run->report.audited_error = with_dtype(run->call.dtype, [&](auto zero) {
        return largest_difference<decltype(zero)>(result, audited->out);
      });
    }
    report(*run);
    return std::unique_ptr<Operation>();
  });
  return std::unique_ptr<Operation>(new Sequence(std::move(stages)));
}

}  // namespace homz
