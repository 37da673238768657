#include "collectives/mpi.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

#include "collectives/operate.hpp"

namespace homz {
namespace {

Status failed(std::string_view what, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS) length = 0;
  return Status(Code::io, fmt::format("{}: MPI error {}: {}", what, error,
                                      std::string(text, static_cast<std::size_t>(length))));
}

Status checked(std::string_view what, int error) {
  return error == MPI_SUCCESS ? Status() : failed(what, error);
}

// After MPI_Finalize nothing of MPI may be called.
bool is_over() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  return is_finalized != 0;
}

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

class Mpi final : public Transport {
 public:
  // Takes the communicator over.
  Mpi(MPI_Comm communicator, std::vector<int> nodes) : comm_(communicator), nodes_(std::move(nodes)) {
    MPI_Comm_rank(comm_, &rank_);
  }

  ~Mpi() override {
    if (is_over()) return;
    for (std::size_t i = 0; i < requests_.size(); ++i) give_up(i);
    static_cast<void>(poll());
    drop_done();
    for (std::size_t i = 0; i < requests_.size(); ++i) forget(i);
    // MPI gives the number of a freed communicator to the next one: what still arrives would be taken for
    // its.
    if (requests_.empty()) MPI_Comm_free(&comm_);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  std::span<const int> nodes() const noexcept override { return nodes_; }

  Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
              Pending* pending) override {
    *pending = Pending{};
    MPI_Request request = MPI_REQUEST_NULL;
    HOMZ_TRY(checked("MPI_Isend", MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag,
                                            comm_, &request)));
    add(request, pending, owner ? std::move(owner) : kSomebody);
    return Status();
  }

  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    *pending = Pending{};
    MPI_Request request = MPI_REQUEST_NULL;
    const int source = from == kAnyRank ? MPI_ANY_SOURCE : from;
    HOMZ_TRY(checked("MPI_Irecv", MPI_Irecv(capacity.data(), static_cast<int>(capacity.size()), MPI_BYTE,
                                            source, tag, comm_, &request)));
    add(request, pending, nullptr);
    return Status();
  }

  Status poll() override {
    if (requests_.empty()) return Status();
    if (is_over()) return Status(Code::invalid_argument, "MPI is finalised: its communicators are gone");
    done_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int error = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(),
                                   statuses_.data());
    if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return failed("MPI_Testsome", error);
    if (count == MPI_UNDEFINED || count == 0) return Status();
    idle_polls_ = 0;
    Status first;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto which = static_cast<std::size_t>(done_[i]);
      if (error == MPI_SUCCESS || statuses_[i].MPI_ERROR == MPI_SUCCESS)
        mark_done(which, statuses_[i]);
      else if (first.ok() && pendings_[which] != nullptr)
        first = failed(owners_[which] ? "sending" : "receiving", statuses_[i].MPI_ERROR);
    }
    drop_done();
    return first;
  }

  // Short waits are over before the core is worth giving away.
  void yield() override {
    const Clock::time_point now = Clock::now();
    if (idle_polls_++ == 0) idle_since_ = now;
    if (idle_polls_ >= kSpins || now - idle_since_ >= kSpin) sched_yield();
  }

  void abandon(Pending* pending) override {
    const auto found = std::ranges::find(pendings_, pending);
    if (found == pendings_.end() || is_over()) return;
    give_up(static_cast<std::size_t>(found - pendings_.begin()));
    drop_done();
  }

  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    for (const int r : ranks)
      if (r < 0 || r >= size())
        return Status(Code::invalid_argument, fmt::format("a group with rank {} of {}", r, size()));
    if (std::ranges::find(ranks, rank_) == ranks.end())
      return Status(Code::invalid_argument, "a group of ranks without this one");
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    HOMZ_TRY(checked("MPI_Comm_group", MPI_Comm_group(comm_, &all)));
    Status status =
        checked("MPI_Group_incl", MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
    if (status.ok())
      status = checked("MPI_Comm_create_group", MPI_Comm_create_group(comm_, some, kGroupTag, &comm));
    if (some != MPI_GROUP_NULL) MPI_Group_free(&some);
    MPI_Group_free(&all);
    HOMZ_TRY(status);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    std::vector<int> nodes;
    for (const int r : ranks) nodes.push_back(nodes_[static_cast<std::size_t>(r)]);
    return std::unique_ptr<Transport>(new Mpi(comm, std::move(nodes)));
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
  static inline const std::shared_ptr<const void> kSomebody = std::make_shared<int>(0);  // sends have owners

  void add(MPI_Request request, Pending* pending, std::shared_ptr<const void> owner) {
    requests_.push_back(request);
    pendings_.push_back(pending);
    owners_.push_back(std::move(owner));
  }

  void mark_done(std::size_t i, const MPI_Status& status) {
    if (pendings_[i] == nullptr) return;
    int bytes = 0;
    if (!owners_[i]) MPI_Get_count(&status, MPI_BYTE, &bytes);
    *pendings_[i] = {true, static_cast<std::uint64_t>(std::max(0, bytes)),
                     owners_[i] ? -1 : status.MPI_SOURCE};
  }

  // Receives can be cancelled; MPI promises that the wait is short. Sends cannot, everywhere: they stay, with
  // their bytes, until MPI is done with them.
  void give_up(std::size_t i) {
    MPI_Request& request = requests_[i];
    pendings_[i] = nullptr;
    if (request == MPI_REQUEST_NULL || owners_[i] != nullptr) return;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    request = MPI_REQUEST_NULL;
  }

  // A send that nobody will receive, of a transport that ends: its bytes are kept for ever.
  void forget(std::size_t i) {
    static auto* const kept = new std::vector<std::shared_ptr<const void>>;
    static std::mutex guard;
    MPI_Request_free(&requests_[i]);
    const std::lock_guard lock(guard);
    kept->push_back(std::move(owners_[i]));
  }

  void drop_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      pendings_[kept] = pendings_[i];
      if (kept != i) owners_[kept] = std::move(owners_[i]);
      ++kept;
    }
    requests_.resize(kept);
    pendings_.resize(kept);
    owners_.resize(kept);
  }

  MPI_Comm comm_;
  std::vector<int> nodes_;
  int rank_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Pending*> pendings_;                   // of the requests; null: given up
  std::vector<std::shared_ptr<const void>> owners_;  // of what is sent; null: a receive
  std::vector<int> done_;
  unsigned idle_polls_ = 0;
  Clock::time_point idle_since_;
  std::vector<MPI_Status> statuses_;
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
      error = MPI_Bcast(to, some, type_of(dtype), root, comm_);
    } else if (collective == Collective::allreduce) {
      error = MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, some, type_of(dtype), op_of(op), comm_);
    } else {
      if (in_place && gives_result) {
        const ConstBytes own = in.subspan(first, static_cast<std::uint64_t>(some) * size_of(dtype));
        copy.assign(own.begin(), own.end());
        from = copy.data();
      }
      error = MPI_Reduce(from, to, some, type_of(dtype), op_of(op), root, comm_);
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
                     MPI_Reduce_scatter_block(from, out.data(), some, type, op_of(op), comm_));
    case Collective::allgather:
      return checked("allgather", MPI_Allgather(from, some, type, out.data(), some, type, comm_));
    case Collective::gather:
      return checked("gather",
                     MPI_Gather(is_root ? from : in.data(), some, type, out.data(), some, type, root, comm_));
    case Collective::scatter:
      return checked("scatter", MPI_Scatter(in.data(), some, type, to, some, type, root, comm_));
    default:
      return checked("alltoall", MPI_Alltoall(from, some, type, out.data(), some, type, comm_));
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
    MPI_Comm own = MPI_COMM_NULL;
    HOMZ_TRY(checked("MPI_Comm_dup", MPI_Comm_dup(communicator, &own)));
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    auto nodes = nodes_of(own);
    if (!nodes.ok()) {
      MPI_Comm_free(&own);
      return nodes.status();
    }
    return std::unique_ptr<Transport>(new Mpi(own, std::move(*nodes)));
  });
}

}  // namespace homz
