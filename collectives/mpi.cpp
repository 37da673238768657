#include "collectives/mpi.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <vector>

#include "collectives/environment.hpp"
#include "collectives/mpi_requests.hpp"
#include "collectives/operate.hpp"
#include "core/gpu/gpu.hpp"

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace homz {
namespace {

using mpi::checked;
using mpi::Comm;
using mpi::is_over;

constexpr const char* kDeviceVariable = "HOMZ_MPI_CUDA";

MPI_Datatype type_of(Dtype dtype) {
  return dtype == Dtype::f32 ? MPI_FLOAT : MPI_DOUBLE;
}

MPI_Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::prod:
      return MPI_PROD;
    default:
      return MPI_SUM;
  }
}

// Whether a part begins within the whole: calls in place say so by their addresses.
bool lies_in(ConstBytes part, ConstBytes whole) {
  const std::less<> before;
  return !part.empty() && !before(part.data(), whole.data()) &&
         before(part.data(), whole.data() + whole.size());
}

// The node of each rank, numbered by first appearance.
Result<std::vector<int>> nodes_of(MPI_Comm all) {
  int rank = 0, size = 0, leader = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Comm node = MPI_COMM_NULL;
  HOMZ_TRY(checked("MPI_Comm_split_type",
                   MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node)));
  leader = rank;
  Status status = checked("MPI_Bcast", MPI_Bcast(&leader, 1, MPI_INT, 0, node));
  MPI_Comm_free(&node);
  HOMZ_TRY(status);
  std::vector<int> leaders(static_cast<std::size_t>(size)), nodes;
  HOMZ_TRY(checked("MPI_Allgather", MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, all)));
  std::vector<int> seen;
  for (const int of_rank : leaders) {
    const auto found = std::ranges::find(seen, of_rank);
    nodes.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(of_rank);
  }
  return nodes;
}

// ---- Memory of GPUs

// What MPI says of itself.
bool takes_device_memory() {
#if defined(OMPI_HAVE_MPI_EXT_CUDA)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH
  int is_taken = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_taken) == MPI_SUCCESS && is_taken != 0;
#else
  return false;
#endif
}

Result<bool> wants_device_memory() {
  HOMZ_ASSIGN(const std::optional<bool> told, environment_yes_or_no(kDeviceVariable));
  return gpu::built() && (told ? *told : takes_device_memory());
}

// Ranks that expect messages in different memory would wait for each other: all must want it.
Result<bool> all_want_device_memory(MPI_Comm all) {
  enum : int { kConfused, kNo, kYes };
  const Result<bool> wants = wants_device_memory();
  const int own = !wants.ok() ? kConfused : *wants ? kYes : kNo;
  int least = kConfused;
  HOMZ_TRY(checked("MPI_Allreduce", MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, all)));
  HOMZ_TRY(wants.status());
  if (least == kConfused)
    return Status(
        Code::invalid_argument,
        fmt::format("{} of another rank is neither 0 nor 1: set it there, or unset it", kDeviceVariable));
  return least == kYes;
}

// Its messages have tags of their own. None, where MPI is not to move them.
Result<Comm> comm_for_device(MPI_Comm comm, bool moves_device_memory) {
  return moves_device_memory ? Comm::duplicate(comm) : Comm();
}

// ---- The transport

class Mpi final : public Transport {
 public:
  // `device`: of the same ranks, or none.
  Mpi(Comm comm, Comm device, std::vector<int> nodes)
      : comm_(std::move(comm)), device_(std::move(device)), nodes_(std::move(nodes)) {
    MPI_Comm_rank(comm_.get(), &rank_);
  }

  ~Mpi() override {
    if (is_over() || requests_.end()) return;
    // MPI gives the number of a freed communicator to the next one: what still arrives would be taken for
    // its.
    comm_.release();
    device_.release();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  std::span<const int> nodes() const noexcept override { return nodes_; }

  Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
              Pending* pending) override {
    return requests_.send(comm_.get(), bytes, std::move(owner), to, tag, pending);
  }
  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    return requests_.receive(comm_.get(), capacity, from, tag, pending, false);
  }

  // What MPI has received is there for kernels that are launched from then on: no stream has to wait for it.
  bool moves_device_memory() const noexcept override { return static_cast<bool>(device_); }
  Status send_device(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
                     Pending* pending) override {
    if (!device_) return Transport::send_device(bytes, std::move(owner), to, tag, pending);
    return requests_.send(device_.get(), bytes, std::move(owner), to, tag, pending);
  }
  Status receive_device(Bytes bytes, int from, int tag, Pending* pending) override {
    if (!device_) return Transport::receive_device(bytes, from, tag, pending);
    return requests_.receive(device_.get(), bytes, from, tag, pending, true);
  }

  Status poll() override {
    if (requests_.empty()) return Status();
    if (is_over()) return Status(Code::invalid_argument, "MPI is finalised: its communicators are gone");
    HOMZ_ASSIGN(const bool is_any_done, requests_.poll());
    if (is_any_done) idle_polls_ = 0;
    return Status();
  }

  // Short waits are over before the core is worth giving away.
  void yield() override {
    const Clock::time_point now = Clock::now();
    if (idle_polls_++ == 0) idle_since_ = now;
    if (idle_polls_ >= kSpins || now - idle_since_ >= kSpin) sched_yield();
  }

  void abandon(Pending* pending) override {
    if (!is_over()) requests_.abandon(pending);
  }

  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    for (const int r : ranks)
      if (r < 0 || r >= size())
        return Status(Code::invalid_argument, fmt::format("a group with rank {} of {}", r, size()));
    if (std::ranges::find(ranks, rank_) == ranks.end())
      return Status(Code::invalid_argument, "a group of ranks without this one");
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    HOMZ_TRY(checked("MPI_Comm_group", MPI_Comm_group(comm_.get(), &all)));
    Status status =
        checked("MPI_Group_incl", MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
    if (status.ok())
      status = checked("MPI_Comm_create_group", MPI_Comm_create_group(comm_.get(), some, kGroupTag, &comm));
    if (some != MPI_GROUP_NULL) MPI_Group_free(&some);
    MPI_Group_free(&all);
    HOMZ_TRY(status);
    Comm made(comm);
    HOMZ_ASSIGN(Comm device, comm_for_device(comm, moves_device_memory()));
    std::vector<int> nodes;
    for (const int r : ranks) nodes.push_back(nodes_[static_cast<std::size_t>(r)]);
    return std::unique_ptr<Transport>(new Mpi(std::move(made), std::move(device), std::move(nodes)));
  }

  bool has_native(Collective collective, std::uint64_t count, Space space) const noexcept override {
    return space == Space::host && (is_vector(collective) || count <= most_of_a_block());
  }
  Status native(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                std::uint64_t count, int root, Exec) override;

 private:
  static bool is_vector(Collective collective) {
    return collective == Collective::allreduce || collective == Collective::reduce ||
           collective == Collective::bcast;
  }
  // Values for each rank, so that MPI can count those of all.
  std::uint64_t most_of_a_block() const {
    return static_cast<std::uint64_t>(std::numeric_limits<int>::max() / size());
  }
  Status native_vector(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                       std::uint64_t count, int root);
  Status native_blocks(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                       std::uint64_t count, int root);

  static constexpr int kGroupTag = 32766;
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kSpin{2};
  static constexpr unsigned kSpins = 20;

  Comm comm_, device_;
  std::vector<int> nodes_;
  int rank_ = 0;
  mpi::Requests requests_;
  unsigned idle_polls_ = 0;
  Clock::time_point idle_since_;
};

// Whole vectors: any count, in stretches whose bytes implementations can count. A root's input in place is
// copied first: MPICH 4.0 reduces in place to rank 0 only.
Status Mpi::native_vector(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                          std::uint64_t count, int root) {
  const bool is_reduce = collective == Collective::reduce;
  const std::uint64_t stretch = std::uint64_t{1} << (is_reduce ? 22 : 27);
  const bool in_place = lies_in(in, out), gives_result = !is_reduce || rank_ == root;
  std::vector<std::byte> copy;
  std::uint64_t done = 0;
  do {
    const auto some = static_cast<int>(std::min(stretch, count - done));
    const std::uint64_t first = done * size_of(dtype);
    const void* from = in.data() + first;
    void* const to = gives_result ? out.data() + first : nullptr;
    int error = MPI_SUCCESS;
    if (collective == Collective::bcast) {
      error = MPI_Bcast(to, some, type_of(dtype), root, comm_.get());
    } else if (collective == Collective::allreduce) {
      error = MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, some, type_of(dtype), op_of(op), comm_.get());
    } else {
      if (in_place && gives_result) {
        const ConstBytes own = in.subspan(first, static_cast<std::uint64_t>(some) * size_of(dtype));
        copy.assign(own.begin(), own.end());
        from = copy.data();
      }
      error = MPI_Reduce(from, to, some, type_of(dtype), op_of(op), root, comm_.get());
    }
    HOMZ_TRY(checked(to_string(collective), error));
    done += static_cast<std::uint64_t>(some);
  } while (done < count);
  return Status();
}

// A block for or from each rank: as many values as MPI counts.
Status Mpi::native_blocks(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                          std::uint64_t count, int root) {
  if (count > most_of_a_block())
    return Status(Code::unsupported, fmt::format("{} values for each of {} ranks are more than MPI's own {} "
                                                 "counts: leave the algorithm open, or choose another",
                                                 count, size(), to_string(collective)));
  const MPI_Datatype type = type_of(dtype);
  const auto some = static_cast<int>(count);
  const bool is_root = rank_ == root;
  const void* const from = lies_in(in, out) ? MPI_IN_PLACE : static_cast<const void*>(in.data());
  void* const to = is_root && lies_in(out, in) ? MPI_IN_PLACE : static_cast<void*>(out.data());
  switch (collective) {
    case Collective::reduce_scatter:
      return checked("reduce_scatter",
                     MPI_Reduce_scatter_block(from, out.data(), some, type, op_of(op), comm_.get()));
    case Collective::allgather:
      return checked("allgather", MPI_Allgather(from, some, type, out.data(), some, type, comm_.get()));
    case Collective::gather:
      return checked("gather", MPI_Gather(is_root ? from : in.data(), some, type, out.data(), some, type,
                                          root, comm_.get()));
    case Collective::scatter:
      return checked("scatter", MPI_Scatter(in.data(), some, type, to, some, type, root, comm_.get()));
    default:
      return checked("alltoall", MPI_Alltoall(from, some, type, out.data(), some, type, comm_.get()));
  }
}

Status Mpi::native(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                   std::uint64_t count, int root, Exec) {
  HOMZ_TRY(is_vector(collective) ? native_vector(collective, op, dtype, in, out, count, root)
                                 : native_blocks(collective, op, dtype, in, out, count, root));
  const bool has_result = collective != Collective::reduce || rank_ == root;
  if (op == ReduceOp::average && has_result && !out.empty()) divide(dtype, out, size());
  return Status();
}

}  // namespace

Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm communicator) {
  return no_throw([&]() -> Result<std::unique_ptr<Transport>> {
    int is_initialized = 0, is_inter = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized == 0)
      return Status(Code::invalid_argument, "MPI is not initialised: call MPI_Init first");
    if (is_over()) return Status(Code::invalid_argument, "MPI is finalised: make transports before");
    if (communicator == MPI_COMM_NULL) return Status(Code::invalid_argument, "MPI_COMM_NULL has no ranks");
    HOMZ_TRY(checked("MPI_Comm_test_inter", MPI_Comm_test_inter(communicator, &is_inter)));
    if (is_inter != 0)
      return Status(Code::unsupported, "an intercommunicator: merge it first (MPI_Intercomm_merge)");
    HOMZ_ASSIGN(Comm own, Comm::duplicate(communicator));
    HOMZ_ASSIGN(const bool moves_device_memory, all_want_device_memory(own.get()));
    HOMZ_ASSIGN(Comm device, comm_for_device(own.get(), moves_device_memory));
    HOMZ_ASSIGN(auto nodes, nodes_of(own.get()));
    return std::unique_ptr<Transport>(new Mpi(std::move(own), std::move(device), std::move(nodes)));
  });
}

}  // namespace homz
