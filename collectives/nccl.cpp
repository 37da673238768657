#include "collectives/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/exchange.hpp"
#include "collectives/nccl_pairs.hpp"
#include "collectives/over_control.hpp"
#include "collectives/tune_party.hpp"

namespace homz {
namespace {

using nccl::checked;
using nccl::Comm;

ncclDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::f32 ? ncclFloat32 : ncclFloat64;
}

ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::average:
      return ncclAvg;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::prod:
      return ncclProd;
    default:
      return ncclSum;
  }
}

template <class F>
Status grouped(ncclComm_t comm, F&& f) {
  HOMZ_TRY(checked("ncclGroupStart", ncclGroupStart()));
  const Status status = f();
  const Status ended = checked("ncclGroupEnd", ncclGroupEnd(), comm);
  return status.ok() ? ended : status;
}

// One call of NCCL's own collectives.
struct Native {
  ncclComm_t comm;
  int rank, size;
  Dtype dtype;
  ConstBytes in;
  Bytes out;
  std::uint64_t count;
  int root;
  CUstream_st* stream;

  std::uint64_t block_bytes() const { return count * size_of(dtype); }
  std::uint64_t first_of(int r) const { return static_cast<std::uint64_t>(r) * block_bytes(); }
  ConstBytes in_of(int r) const { return in.subspan(first_of(r), block_bytes()); }
  Bytes out_of(int r) const { return out.subspan(first_of(r), block_bytes()); }

  Status send(ConstBytes block, int to) const {
    return checked("ncclSend", ncclSend(block.data(), count, type_of(dtype), to, comm, stream), comm);
  }
  Status receive(Bytes block, int from) const {
    return checked("ncclRecv", ncclRecv(block.data(), count, type_of(dtype), from, comm, stream), comm);
  }
  Status keep(ConstBytes from, Bytes to) const {
    return from.data() == to.data() ? Status() : gpu::copy(from, to, stream);
  }
  Status each_other(bool sends, bool receives) const;
  Status run(Collective collective, ncclRedOp_t op) const;
  Status move(Collective collective) const;
};

// Of blocks that lie in order of the ranks.
Status Native::each_other(bool sends, bool receives) const {
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    if (sends) HOMZ_TRY(send(in_of(r), r));
    if (receives) HOMZ_TRY(receive(out_of(r), r));
  }
  return Status();
}

Status Native::move(Collective collective) const {
  const bool is_root = rank == root;
  switch (collective) {
    case Collective::gather:
      if (!is_root) return send(in, root);
      HOMZ_TRY(keep(in, out_of(rank)));
      return grouped(comm, [&] { return each_other(false, true); });
    case Collective::scatter:
      if (!is_root) return receive(out, root);
      HOMZ_TRY(keep(in_of(rank), out));
      return grouped(comm, [&] { return each_other(true, false); });
    default:
      if (overlap(in, out) && size > 1)
        return Status(Code::invalid_argument, "alltoall over NCCL does not work in place: give two buffers");
      HOMZ_TRY(keep(in_of(rank), out_of(rank)));
      return grouped(comm, [&] { return each_other(true, true); });
  }
}

Status Native::run(Collective collective, ncclRedOp_t op) const {
  const ncclDataType_t type = type_of(dtype);
  const auto done = [&](ncclResult_t result) { return checked(to_string(collective), result, comm); };
  switch (collective) {
    case Collective::allreduce:
      return done(ncclAllReduce(in.data(), out.data(), count, type, op, comm, stream));
    case Collective::reduce:
      return done(ncclReduce(in.data(), out.data(), count, type, op, root, comm, stream));
    case Collective::reduce_scatter:
      return done(ncclReduceScatter(in.data(), out.data(), count, type, op, comm, stream));
    case Collective::allgather:
      return done(ncclAllGather(in.data(), out.data(), count, type, comm, stream));
    case Collective::bcast:
      return done(ncclBroadcast(out.data(), out.data(), count, type, root, comm, stream));
    default:
      return move(collective);
  }
}

class NcclTransport final : public OverControl {
 public:
  NcclTransport(std::unique_ptr<Transport> control, std::unique_ptr<DeviceMail> mail,
                std::unique_ptr<Comm> all)
      : OverControl(std::move(control), std::move(mail)), all_(std::move(all)) {}

  bool has_native(Collective collective, std::uint64_t count, Space space) const noexcept override {
    return space == Space::device || OverControl::has_native(collective, count, space);
  }
  Status native(Collective collective, ReduceOp op, Dtype dtype, ConstBytes in, Bytes out,
                std::uint64_t count, int root, Exec exec) override {
    if (exec.space == Space::host)
      return OverControl::native(collective, op, dtype, in, out, count, root, exec);
    if (count == 0) return Status();
    if (all_->get() == nullptr) return Status(Code::io, "NCCL's calls were given up: form a group (renew())");
    HOMZ_TRY(nccl::async_state(all_->get()));
    return Native{all_->get(), rank(), size(), dtype, in, out, count, root, exec.stream}.run(collective,
                                                                                             op_of(op));
  }
  void give_up() noexcept override {
    all_->abort();
    OverControl::give_up();
  }
  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    HOMZ_ASSIGN(auto control, this->control().group(ranks));
    return nccl_transport(std::move(control));
  }

 private:
  std::unique_ptr<Comm> all_;
};

// ---- Making one

struct Identity {
  std::array<char, 32> gpu{};  // its place on the bus
  std::int32_t node = 0;
  std::uint32_t brings_communicator = 0;
};

Status check_communicator(ncclComm_t comm, const Transport& control, int gpu) {
  int rank = -1, size = 0, its_gpu = -1;
  HOMZ_TRY(checked("ncclCommUserRank", ncclCommUserRank(comm, &rank), comm));
  HOMZ_TRY(checked("ncclCommCount", ncclCommCount(comm, &size), comm));
  HOMZ_TRY(checked("ncclCommCuDevice", ncclCommCuDevice(comm, &its_gpu), comm));
  if (rank != control.rank() || size != control.size())
    return Status(Code::invalid_argument,
                  fmt::format("a communicator of NCCL with rank {} of {} for rank {} of {}", rank, size,
                              control.rank(), control.size()));
  if (its_gpu != gpu)
    return Status(Code::invalid_argument,
                  fmt::format("a communicator of NCCL on GPU {}, but the current one is {}", its_gpu, gpu));
  return Status();
}

Result<Identity> identity(const Transport& control, ncclComm_t communicator) {
  HOMZ_TRY(gpu::ready());
  Identity own;
  HOMZ_ASSIGN(const int gpu, gpu::current());
  if (communicator != nullptr) HOMZ_TRY(check_communicator(communicator, control, gpu));
  const cudaError_t error = cudaDeviceGetPCIBusId(own.gpu.data(), static_cast<int>(own.gpu.size()), gpu);
  if (error != cudaSuccess)
    return Status(Code::internal, fmt::format("asking where the GPU is: {}", cudaGetErrorString(error)));
  own.node = control.nodes()[static_cast<std::size_t>(control.rank())];
  own.brings_communicator = communicator != nullptr;
  return own;
}

// All ranks see the same, and say the same.
Status check(const std::vector<Identity>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].brings_communicator != ranks[0].brings_communicator)
      return Status(
          Code::invalid_argument,
          fmt::format("of the ranks 0 and {} one brings a communicator of NCCL, the other none", r));
    for (std::size_t other = 0; other < r; ++other)
      if (ranks[other].node == ranks[r].node && ranks[other].gpu == ranks[r].gpu)
        return Status(Code::unsupported,
                      fmt::format("the ranks {} and {} have the same GPU ({}), NCCL wants one a rank: choose "
                                  "others (cudaSetDevice), or messages between processes of one GPU "
                                  "(peer_transport)",
                                  other, r, ranks[r].gpu.data()));
  }
  return Status();
}

Result<nccl::Ids> exchanged_ids(Transport& messages) {
  const auto n = static_cast<std::size_t>(messages.size()), rank = static_cast<std::size_t>(messages.rank());
  std::vector<ncclUniqueId> own(n);
  Status status;
  for (std::size_t to = 0; to < n && status.ok(); ++to)
    if (to != rank || rank == 0) status = checked("ncclGetUniqueId", ncclGetUniqueId(&own[to]));
  HOMZ_TRY(agree(messages, status));
  HOMZ_ASSIGN(const auto bytes, gather_all(messages, std::as_bytes(std::span(own))));
  nccl::Ids ids(n, own);
  for (std::size_t from = 0; from < n; ++from)
    std::memcpy(ids[from].data(), bytes.data() + from * n * sizeof(ncclUniqueId), n * sizeof(ncclUniqueId));
  return ids;
}

}  // namespace

Result<std::unique_ptr<Transport>> nccl_transport(std::unique_ptr<Transport> control,
                                                  ncclComm* communicator) {
  return no_throw([&]() -> Result<std::unique_ptr<Transport>> {
    HOMZ_ASSIGN(auto messages, group_of_all(*control));
    const auto own = identity(*control, communicator);
    auto trial = gpu::Memory::on_device(256);
    const bool is_over_gpus = control->gpu() >= 0;  // not MPI, which may wait for a GPU that NCCL occupies
    auto pairs = is_over_gpus ? nullptr : std::make_unique<nccl::Pairs>(control->rank());
    const Status prepared = pairs ? pairs->prepare(control->size()) : Status();
    HOMZ_TRY(agree(*messages, own.ok() ? (trial.ok() ? prepared : trial.status()) : own.status()));
    HOMZ_ASSIGN(const auto ranks, gather_all(*messages, *own));
    HOMZ_TRY(check(ranks));
    HOMZ_ASSIGN(const nccl::Ids ids, exchanged_ids(*messages));
    auto all = std::make_unique<Comm>();
    Status status;
    if (communicator != nullptr)
      all->borrow(communicator);
    else
      status = all->make(control->size(), ids[0][0], control->rank(), 0);
    if (pairs) {
      const Status made = pairs->make(ids, *trial);
      if (status.ok()) status = made;
    }
    status = agree(*messages, status);
    if (!status.ok()) {  // what some ranks have and others lack
      all->abort();
      if (pairs) pairs->abort();
      return status;
    }
    std::unique_ptr<DeviceMail> mail;
    if (pairs) {
      HOMZ_ASSIGN(mail, DeviceMail::make(std::move(messages), std::move(pairs)));
    }
    return std::unique_ptr<Transport>(new NcclTransport(std::move(control), std::move(mail), std::move(all)));
  });
}

}  // namespace homz
