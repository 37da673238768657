#include "collectives/communicator.hpp"

#include <fmt/format.h>

#include "collectives/launch.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {

Ongoing::Ongoing() noexcept = default;
Ongoing::Ongoing(std::unique_ptr<Operation> operation) noexcept : operation_(std::move(operation)) {}
Ongoing::Ongoing(Ongoing&&) noexcept = default;
Ongoing& Ongoing::operator=(Ongoing&&) noexcept = default;
Ongoing::~Ongoing() = default;

Result<bool> Ongoing::test() {
  if (!operation_) return true;
  Result<bool> is_done = operation_->advance();
  if (is_done.ok() && *is_done) operation_.reset();
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

  // By value: what a call refers to besides stays the caller's until it is done.
  Result<Ongoing> start(Call call, const CollectiveOptions& options) {
    return enter([&]() -> Result<Ongoing> {
      call.options = options;
      return watch([&] { return launch(office, std::move(call)); });
    });
  }

  template <class Launch>
  Result<Ongoing> watch(Launch&& launch) {
    HOMZ_ASSIGN(auto operation, office.calls->watch(no_throw(launch)));
    return Ongoing(std::move(operation));
  }

  Status run(const Call& call, const CollectiveOptions& options) {
    std::optional<Status> repeated;
    HOMZ_TRY(enter([&] {
      repeated = office.shortcuts.repeat(office, call, options);
      return Status();
    }));
    if (repeated) return *repeated;
    HOMZ_ASSIGN(Ongoing ongoing, start(call, options));
    return ongoing.wait();
  }
};

Communicator::Communicator(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::make(std::unique_ptr<Transport> transport, const Profile& profile,
                                        double timeout_seconds) {
  return no_throw([&]() -> Result<Communicator> {
    if (transport == nullptr) return Status(Code::invalid_argument, "a communicator without a transport");
    auto state = std::make_unique<State>();
    HOMZ_ASSIGN(state->office.wire, Wire::make(std::move(transport), LinkProfile().segment_bytes));
    Result<Profile> shared =
        no_throw([&] { return share_profile(*state->office.wire, profile, timeout_seconds); });
    if (!shared.ok())
      return state->office.wire->fail(state->office.wire->last_call(),
                                      shared.status().within("while all ranks make their communicators"));
    state->office.profile = std::move(*shared);
    state->office.wire->set_segment_bytes(state->office.profile.between.segment_bytes);
    state->office.calls = std::make_unique<Calls>(*state->office.wire);
    HOMZ_TRY(make_levels(state->office));
    auto overrides = overrides_of_environment();
    if (!overrides.ok()) return state->office.wire->fail(state->office.wire->last_call(), overrides.status());
    state->office.overrides = *overrides;
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
  return state_->run({Collective::allreduce, op, dtype, 0, in, out, {}, {}}, options);
}

Status Communicator::reduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op, int root,
                            const CollectiveOptions& options) {
  return state_->run({Collective::reduce, op, dtype, root, in, out, {}, {}}, options);
}

Status Communicator::reduce_scatter(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts,
                                    Dtype dtype, ReduceOp op, const CollectiveOptions& options) {
  return state_->run({Collective::reduce_scatter, op, dtype, 0, in, out, counts, {}}, options);
}

Status Communicator::reduce_scatter_block(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                          const CollectiveOptions& options) {
  return state_->run({Collective::reduce_scatter, op, dtype, 0, in, out, {}, {}}, options);
}

Status Communicator::bcast(Bytes data, Dtype dtype, int root, const CollectiveOptions& options) {
  return state_->run({Collective::bcast, ReduceOp::none, dtype, root, data, data, {}, {}}, options);
}

Status Communicator::allgather(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options) {
  return state_->run({Collective::allgather, ReduceOp::none, dtype, 0, in, out, {}, {}}, options);
}

Status Communicator::allgatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                                const CollectiveOptions& options) {
  return state_->run({Collective::allgather, ReduceOp::none, dtype, 0, in, out, counts, {}}, options);
}

Status Communicator::scatter(ConstBytes in, Bytes out, Dtype dtype, int root,
                             const CollectiveOptions& options) {
  return state_->run({Collective::scatter, ReduceOp::none, dtype, root, in, out, {}, {}}, options);
}

Status Communicator::gather(ConstBytes in, Bytes out, Dtype dtype, int root,
                            const CollectiveOptions& options) {
  return state_->run({Collective::gather, ReduceOp::none, dtype, root, in, out, {}, {}}, options);
}

Status Communicator::scatterv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                              int root, const CollectiveOptions& options) {
  return state_->run({Collective::scatter, ReduceOp::none, dtype, root, in, out, counts, {}}, options);
}

Status Communicator::gatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                             int root, const CollectiveOptions& options) {
  return state_->run({Collective::gather, ReduceOp::none, dtype, root, in, out, counts, {}}, options);
}

Status Communicator::alltoall(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options) {
  return state_->run({Collective::alltoall, ReduceOp::none, dtype, 0, in, out, {}, {}}, options);
}

Status Communicator::alltoallv(ConstBytes in, std::span<const std::uint64_t> send_counts, Bytes out,
                               std::span<const std::uint64_t> receive_counts, Dtype dtype,
                               const CollectiveOptions& options) {
  return state_->run({Collective::alltoall, ReduceOp::none, dtype, 0, in, out, receive_counts, send_counts},
                     options);
}

Result<Ongoing> Communicator::start_allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                              const CollectiveOptions& options) {
  return state_->start({Collective::allreduce, op, dtype, 0, in, out, {}, {}, false}, options);
}

class AllreducePlan::State {
 public:
  Communicator::State* communicator = nullptr;
  Call call;
};

AllreducePlan::AllreducePlan(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
AllreducePlan::AllreducePlan(AllreducePlan&&) noexcept = default;
AllreducePlan& AllreducePlan::operator=(AllreducePlan&&) noexcept = default;
AllreducePlan::~AllreducePlan() = default;

Result<Ongoing> AllreducePlan::start() {
  return state_->communicator->start(state_->call, state_->call.options);
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
  return enter([&]() -> Result<AllreducePlan> {
    auto plan = std::make_unique<AllreducePlan::State>();
    plan->communicator = state_.get();
    plan->call = {Collective::allreduce, op, dtype, 0, in, out, {}, {}, false};
    plan->call.options = options;
    Decision decision;
    HOMZ_ASSIGN(Ongoing choice,
                state_->watch([&] { return launch_choice(state_->office, plan->call, &decision); }));
    HOMZ_TRY(choice.wait());
    plan->call.fixed = decision;
    plan->call.is_under_way = std::make_shared<bool>(false);
    return AllreducePlan(std::move(plan));
  });
}

Status Communicator::renew() {
  Office& office = state_->office;
  const gpu::OnGpu on(office.calls->gpu());
  office.calls->drop("the call was given up by renew()");
  office.levels = Levels{};
  office.audits = 0;
  office.reluctances.clear();
  office.shortcuts.clear();
  return no_throw([&] {
    HOMZ_TRY(office.wire->renew());
    return make_levels(office);
  });
}

}  // namespace homz
