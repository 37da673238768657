#include "collectives/communicator.hpp"

#include <fmt/format.h>

#include "collectives/launch.hpp"
#include "core/fp_environment.hpp"

namespace homz {
namespace {

// Runs an operation; if it fails, or is given up before it is done, the other ranks are told.
class Watched final : public Operation {
 public:
  Watched(Wire& wire, std::unique_ptr<Operation> operation)
      : wire_(wire),
        generation_(wire.generation()),
        call_(wire.last_call()),
        operation_(std::move(operation)) {}

  ~Watched() override {
    if (!operation_ || is_outdated()) return;
    const Status given_up(Code::invalid_argument,
                          fmt::format("rank {} gives up a call before it is done", wire_.rank()));
    static_cast<void>(no_throw([&] { return wire_.fail(call_, given_up); }));
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  Result<bool> advance() override {
    if (is_outdated()) return Status(Code::invalid_argument, "the call was given up by renew()");
    Result<bool> is_done = enter([&] { return operation_->advance(); });
    if (is_done.ok() && !*is_done) {
      wire_.transport().yield();
      return false;
    }
    const Status status = is_done.status();
    operation_.reset();
    return status.ok() ? Result<bool>(true) : wire_.fail(call_, status);
  }

 private:
  bool is_outdated() const { return generation_ != wire_.generation(); }

  Wire& wire_;
  std::uint32_t generation_, call_;
  std::unique_ptr<Operation> operation_;
};

std::vector<std::uint64_t> listed(std::span<const std::uint64_t> counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

Ongoing::Ongoing() noexcept = default;
Ongoing::Ongoing(std::unique_ptr<Operation> operation) noexcept : operation_(std::move(operation)) {}
Ongoing::Ongoing(Ongoing&&) noexcept = default;
Ongoing& Ongoing::operator=(Ongoing&&) noexcept = default;
Ongoing::~Ongoing() = default;

Result<bool> Ongoing::test() {
  if (!operation_) return true;
  Result<bool> is_done = operation_->advance();
  if (!is_done.ok() || *is_done) operation_.reset();
  return is_done;
}

Status Ongoing::wait() {
  while (true) {
    HOMZ_ASSIGN(const bool is_done, test());
    if (is_done) return Status();
  }
}

class Communicator::State {
 public:
  Office office;

  Result<Ongoing> start(Call call) {
    return watch(enter([&] { return launch(office, std::move(call)); }));
  }

  Result<Ongoing> start_choice(Call call, Decision* decision) {
    return watch(enter([&] { return launch_choice(office, std::move(call), decision); }));
  }

  Result<Ongoing> watch(Result<std::unique_ptr<Operation>> launched) {
    if (!launched.ok()) {
      static_cast<void>(office.wire->fail(office.wire->last_call(), launched.status()));
      return launched.status();
    }
    return Ongoing(std::make_unique<Watched>(*office.wire, std::move(*launched)));
  }

  Status run(Call call) {
    HOMZ_ASSIGN(Ongoing ongoing, start(std::move(call)));
    return ongoing.wait();
  }
};

Communicator::Communicator(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::make(std::unique_ptr<Transport> transport, const Profile& profile) {
  return no_throw([&]() -> Result<Communicator> {
    auto state = std::make_unique<State>();
    HOMZ_ASSIGN(state->office.wire, Wire::make(std::move(transport), LinkProfile().segment_bytes));
    Result<Profile> shared = share_profile(*state->office.wire, profile);
    if (!shared.ok()) return state->office.wire->fail(state->office.wire->last_call(), shared.status());
    state->office.profile = std::move(*shared);
    state->office.wire->set_segment_bytes(state->office.profile.between.segment_bytes);
    return Communicator(std::move(state));
  });
}

int Communicator::rank() const noexcept {
  return state_->office.wire->rank();
}
int Communicator::size() const noexcept {
  return state_->office.wire->size();
}

Status Communicator::allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                               const CollectiveOptions& options) {
  return state_->run({Collective::allreduce, op, dtype, 0, in, out, {}, {}, options, {}});
}

Status Communicator::reduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op, int root,
                            const CollectiveOptions& options) {
  return state_->run({Collective::reduce, op, dtype, root, in, out, {}, {}, options, {}});
}

Status Communicator::reduce_scatter(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts,
                                    Dtype dtype, ReduceOp op, const CollectiveOptions& options) {
  return state_->run({Collective::reduce_scatter, op, dtype, 0, in, out, listed(counts), {}, options, {}});
}

Status Communicator::reduce_scatter_block(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                          const CollectiveOptions& options) {
  return state_->run({Collective::reduce_scatter, op, dtype, 0, in, out, {}, {}, options, {}});
}

Status Communicator::bcast(Bytes data, Dtype dtype, int root, const CollectiveOptions& options) {
  return state_->run({Collective::bcast, ReduceOp::none, dtype, root, data, data, {}, {}, options, {}});
}

Status Communicator::allgather(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options) {
  return state_->run({Collective::allgather, ReduceOp::none, dtype, 0, in, out, {}, {}, options, {}});
}

Status Communicator::allgatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                                const CollectiveOptions& options) {
  return state_->run(
      {Collective::allgather, ReduceOp::none, dtype, 0, in, out, listed(counts), {}, options, {}});
}

Status Communicator::scatter(ConstBytes in, Bytes out, Dtype dtype, int root,
                             const CollectiveOptions& options) {
  return state_->run({Collective::scatter, ReduceOp::none, dtype, root, in, out, {}, {}, options, {}});
}

Status Communicator::gather(ConstBytes in, Bytes out, Dtype dtype, int root,
                            const CollectiveOptions& options) {
  return state_->run({Collective::gather, ReduceOp::none, dtype, root, in, out, {}, {}, options, {}});
}

Status Communicator::scatterv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                              int root, const CollectiveOptions& options) {
  return state_->run(
      {Collective::scatter, ReduceOp::none, dtype, root, in, out, listed(counts), {}, options, {}});
}

Status Communicator::gatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                             int root, const CollectiveOptions& options) {
  return state_->run(
      {Collective::gather, ReduceOp::none, dtype, root, in, out, listed(counts), {}, options, {}});
}

Status Communicator::alltoall(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options) {
  return state_->run({Collective::alltoall, ReduceOp::none, dtype, 0, in, out, {}, {}, options, {}});
}

Status Communicator::alltoallv(ConstBytes in, std::span<const std::uint64_t> send_counts, Bytes out,
                               std::span<const std::uint64_t> receive_counts, Dtype dtype,
                               const CollectiveOptions& options) {
  return state_->run({Collective::alltoall,
                      ReduceOp::none,
                      dtype,
                      0,
                      in,
                      out,
                      listed(receive_counts),
                      listed(send_counts),
                      options,
                      {}});
}

Result<Ongoing> Communicator::start_allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                              const CollectiveOptions& options) {
  return state_->start({Collective::allreduce, op, dtype, 0, in, out, {}, {}, options, {}, false});
}

class AllreducePlan::State {
 public:
  Communicator::State* communicator;
  Call call;
};

AllreducePlan::AllreducePlan(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
AllreducePlan::AllreducePlan(AllreducePlan&&) noexcept = default;
AllreducePlan& AllreducePlan::operator=(AllreducePlan&&) noexcept = default;
AllreducePlan::~AllreducePlan() = default;

Result<Ongoing> AllreducePlan::start() {
  return state_->communicator->start(state_->call);
}
Algorithm AllreducePlan::algorithm() const noexcept {
  return state_->call.fixed->candidate.algorithm;
}
Scheme AllreducePlan::scheme() const noexcept {
  return state_->call.fixed->candidate.scheme;
}
const std::string& AllreducePlan::reason() const noexcept {
  return state_->call.fixed->reason;
}

Result<AllreducePlan> Communicator::plan_allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                                   const CollectiveOptions& options) {
  return no_throw([&]() -> Result<AllreducePlan> {
    auto plan = std::make_unique<AllreducePlan::State>();
    plan->communicator = state_.get();
    plan->call = {Collective::allreduce, op, dtype, 0, in, out, {}, {}, options, std::nullopt, false};
    Decision decision;
    HOMZ_ASSIGN(Ongoing choice, state_->start_choice(plan->call, &decision));
    HOMZ_TRY(choice.wait());
    plan->call.fixed = decision;
    return AllreducePlan(std::move(plan));
  });
}

Status Communicator::renew() {
  state_->office.levels = Levels{};
  state_->office.audits = 0;
  return no_throw([&] { return state_->office.wire->renew(); });
}

}  // namespace homz
