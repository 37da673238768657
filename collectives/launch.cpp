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

// What the call is about to read, and may write over.
Status remember_input(Running& run, Audit& audit) {
  audit.in.resize(run.call.in.size());
  HOMZ_TRY(run.follow_caller());
  HOMZ_TRY(run.processor->copy(run.call.in, audit.in));
  return run.processor->settle();
}

Result<std::unique_ptr<Operation>> run_uncompressed(Office& office, const Running& run, Audit& audit) {
  audit.run = run;
  audit.run.processor = office.host.get();
  Call& call = audit.run.call;
  audit.out.resize(call.out.size());
  call.out = audit.out;
  call.in = audit.in;
  if (call.collective == Collective::bcast) {
    std::ranges::copy(audit.in, audit.out.begin());
    call.in = call.out;
  }
  call.options.space = Space::host;
  audit.run.task.on_device = false;
  audit.run.task.has_native = false;  // it could not be interrupted, and nothing has been agreed on
  HOMZ_ASSIGN(audit.run.decision, choose_plain(audit.run, office.profile));
  ++audit.run.signature.plan;
  return transfer(office, audit.run);
}

Status compare(Running& run, const Audit& audit) {
  if (run.call.out.empty()) return Status();
  std::vector<std::byte> result(run.call.out.size());
  HOMZ_TRY(run.processor->follow(run.call.options.stream));
  HOMZ_TRY(run.processor->copy(run.call.out, result));
  HOMZ_TRY(run.processor->settle());
  run.report.audited_error = with_dtype(
      run.call.dtype, [&](auto zero) { return largest_difference<decltype(zero)>(result, audit.out); });
  return Status();
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

Status prepare(Office& office, Call call, Running& run) {
  Wire& wire = *office.wire;
  run.place = {wire.rank(), wire.size(), call.root};
  run.call = without_ignored(std::move(call), run.place);
  HOMZ_TRY(office.admit(run.call, run.place));
  if (run.call.is_under_way && *run.call.is_under_way)
    return Status(Code::invalid_argument,
                  fmt::format("rank {}: start() of a plan whose last call is under way: wait for that first, "
                              "or make a plan for each buffer",
                              wire.rank()));
  run.signature = signature_of(run.call, wire.size());
  run.task = task_of(run.call, wire.size(), office.ranks_per_node);
  HOMZ_ASSIGN(run.processor, office.processor(run.call.options));
  run.task.on_device = run.processor->space() == Space::device;
  if (!run.call.may_block) HOMZ_TRY(run.follow_caller());  // not what is enqueued between start() and wait()
  run.task.has_native =
      run.call.may_block && !run.task.uneven &&
      wire.transport().has_native(run.call.collective, run.signature.count, run.call.options.space);
  run.asked = run.call.options;
  run.call.options = overridden(run.call.options, office.overrides, run.task);
  run.signature.plan = digest_of(run.call);
  return Status();
}

// A call through its stages.
class Launched final : public Sequence {
 public:
  // `choice`: then nothing is moved, but this is there when the operation is done.
  explicit Launched(Office& office, Decision* choice = nullptr)
      : Sequence(choice == nullptr ? kAll : kTransfer), office_(office), choice_(choice) {}
  ~Launched() override {
    drop();
    if (uses_plan_) *run_.call.is_under_way = false;
  }

  // Calls that cannot begin count, too: ranks number them alike.
  Status begin(Call call) {
    const Status status = no_throw([&] { return prepare(office_, std::move(call), run_); });
    if (status.ok()) {
      uses_plan_ = run_.call.is_under_way != nullptr;
      if (uses_plan_) *run_.call.is_under_way = true;
      return office_.wire->begin_call(run_.signature);
    }
    office_.wire->next_call();
    return status;
  }
  Status audit() {
    audit_ = std::make_unique<Audit>();
    return remember_input(run_, *audit_);
  }

 private:
  using Wait = Result<std::unique_ptr<Operation>>;
  static Wait none() { return std::unique_ptr<Operation>(); }
  enum : unsigned { kOthers, kLook, kChoose, kTransfer, kAudit, kReport, kAll };

  Wait stage(unsigned number) override {
    switch (number) {
      case kOthers:
        return behind_earlier_calls();
      case kLook:
        return look();
      case kChoose:
        return choose();
      case kTransfer:
        return transfer(office_, run_);
      case kAudit:
        run_.report.total_seconds = seconds_since(run_.start);
        if (audit_ == nullptr) return none();
        return run_uncompressed(office_, run_, *audit_);
      default:
        if (audit_ != nullptr) HOMZ_TRY(compare(run_, *audit_));
        if (run_.call.options.report != nullptr) *run_.call.options.report = report_of(run_);
        static_cast<void>(no_throw([&] {  // a call that is done has not failed
          office_.shortcuts.note(office_, run_);
          return Status();
        }));
        return none();
    }
  }

  // Transports' own collectives check no arguments: that is done before.
  Wait behind_earlier_calls() {
    if (!run_.task.has_native || !office_.calls->any_before(run_.signature.sequence)) return none();
    return behind_others(office_, run_.signature.sequence);
  }
  Wait look() {
    if (!asks(office_, run_)) return none();
    return ask(office_, run_, run_.call.fixed ? Look::magnitudes : Look::ratios);
  }
  Wait choose() {
    HOMZ_TRY(decide(office_, run_));
    if (choice_ != nullptr) *choice_ = run_.decision;
    const bool is_native = run_.decision.candidate.algorithm == Algorithm::native;
    if (!is_native || run_.has_asked || run_.call.options.trusts_ranks) return none();
    return ask(office_, run_, Look::nothing);
  }

  Office& office_;
  Decision* choice_;
  Running run_;
  std::unique_ptr<Audit> audit_;
  bool uses_plan_ = false;
};

}  // namespace

CallReport report_of(const Running& run) {
  CallReport to = run.report;
  const Candidate& chosen = run.decision.candidate;
  to.algorithm = chosen.algorithm;
  to.scheme = chosen.scheme;
  to.reason = run.decision.reason;
  if (chosen.scheme != Scheme::plain) {
    const auto codec = codec_of(run.call.options, chosen.codec);
    if (codec.ok()) to.codec = to_string(*codec);
    to.share = run.spending.share;
  }
  return to;
}

Status Office::admit(const Call& call, Place place) {
  const Status earlier = wire->check(wire->last_call() + 1);
  if (!earlier.ok() && wire->failed_call() == wire->last_call() + 1) return earlier;  // this one, elsewhere
  if (!earlier.ok())
    return Status(
        earlier.code(),
        fmt::format("an earlier call on this communicator has failed ({}): call renew() on all ranks",
                    earlier.message()));
  const Status fits = check(call, place);
  if (!fits.ok()) return fits.within(fmt::format("rank {}", place.rank));
  HOMZ_TRY(processor(call.options).status());
  return check_space(call);
}

// Kernels that reach for memory of the host leave the GPU unusable.
Status Office::check_space(const Call& call) {
  constexpr std::size_t kMostKnown = 64;
  if (call.options.space == Space::host) return Status();
  for (const ConstBytes buffer : {call.in, ConstBytes(call.out)}) {
    if (buffer.empty() || std::ranges::find(on_gpu, buffer.data()) != on_gpu.end()) continue;
    HOMZ_ASSIGN(const gpu::Residence residence, gpu::residence(buffer.data()));
    if (!residence.is_reached)
      return Status(Code::invalid_argument,
                    fmt::format("{}: a buffer of {} where options.space says device, of the current GPU",
                                to_string(call.collective),
                                residence.gpu < 0 ? "the host" : fmt::format("GPU {}", residence.gpu)));
    if (residence.gpu < 0) continue;  // addresses of the host come back as those of other memory
    if (on_gpu.size() == kMostKnown) on_gpu.clear();
    on_gpu.push_back(buffer.data());
  }
  return Status();
}

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
  call.only_chooses = true;
  auto launched = std::make_unique<Launched>(office, decision);
  HOMZ_TRY(launched->begin(std::move(call)));
  return std::unique_ptr<Operation>(std::move(launched));
}

Result<std::unique_ptr<Operation>> launch(Office& office, Call call) {
  const unsigned every = call.options.audit_every;
  const bool is_turn = every != 0 && office.audits++ % every == 0;  // refused calls count, too
  const bool is_audited = is_turn && call.options.abs_error > 0;
  auto launched = std::make_unique<Launched>(office);
  HOMZ_TRY(launched->begin(std::move(call)));
  if (is_audited) HOMZ_TRY(launched->audit());
  return std::unique_ptr<Operation>(std::move(launched));
}

}  // namespace homz
