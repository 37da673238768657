#include "collectives/nccl_pairs.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

namespace homz::nccl {

Status checked(std::string_view what, ncclResult_t result, ncclComm_t comm) {
  while (result == ncclInProgress && comm != nullptr) {
    sched_yield();
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &result);
    if (asked != ncclSuccess) result = asked;
  }
  if (result == ncclSuccess) return Status();
  return Status(Code::io,
                fmt::format("{}: NCCL: {} ({})", what, ncclGetErrorString(result), ncclGetLastError(comm)));
}

Status async_state(ncclComm_t comm) {
  ncclResult_t error = ncclSuccess;
  HOMZ_TRY(checked("ncclCommGetAsyncError", ncclCommGetAsyncError(comm, &error), comm));
  return checked("a communicator", error, comm);
}

// The first message of a pair makes NCCL connect, for which both ranks wait: so that goes first, here.
Status Pairs::open(Link& link, const ncclUniqueId& id, int most_blocks, gpu::Memory& trial) {
  const bool sends = link.way == Way::out;
  HOMZ_TRY(link.comm.make(2, id, sends ? kSender : kReceiver, most_blocks));
  ncclComm_t const comm = link.comm.get();
  std::byte* const bytes = trial.bytes().data();
  HOMZ_TRY(checked("a first message",
                   sends ? ncclSend(bytes, trial.size(), ncclUint8, kReceiver, comm, link.stream.get())
                         : ncclRecv(bytes, trial.size(), ncclUint8, kSender, comm, link.stream.get()),
                   comm));
  return gpu::wait(link.stream.get());
}

Status Pairs::prepare(int ranks) {
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      if (from == to || (from != rank_ && to != rank_)) continue;
      const bool sends = from == rank_;
      auto& link = *links_.emplace_back(new Link{sends ? to : from, sends ? Way::out : Way::in, {}, {}});
      HOMZ_ASSIGN(link.stream, gpu::Stream::make());
    }
  return Status();
}

// Goes on behind an error: other ranks wait for the rest.
Status Pairs::make(const Ids& ids, gpu::Memory& trial) {
  constexpr int kBlocks = 64, kMostOfAPair = 16;  // such GPUs have more multiprocessors
  const auto n = static_cast<int>(ids.size());
  const int most_blocks = std::clamp(kBlocks / std::max(1, 2 * (n - 1)), 1, kMostOfAPair);
  Status first;
  for (const auto& link : links_) {  // in the order of their pairs
    const bool sends = link->way == Way::out;
    const int from = sends ? rank_ : link->peer, to = sends ? link->peer : rank_;
    const Status status =
        open(*link, ids[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)], most_blocks, trial)
            .within(fmt::format("messages from rank {} to rank {}", from, to));
    if (first.ok()) first = status;
  }
  return first;
}

// In a group, so that all are told to end before any is waited for.
void Pairs::abort() noexcept {
  ncclGroupStart();
  for (const auto& link : links_) link->comm.abort();
  ncclGroupEnd();
}

Pairs::Link& Pairs::link_of(int peer, Way way) {
  return **std::ranges::find_if(links_, [&](const auto& l) { return l->peer == peer && l->way == way; });
}

Result<CUstream_st*> Pairs::receive(const Place&, Bytes bytes, int from) {
  HOMZ_TRY(state(from, Way::in));
  const Link& link = link_of(from, Way::in);
  ncclComm_t const comm = link.comm.get();
  HOMZ_TRY(checked("ncclRecv",
                   ncclRecv(bytes.data(), bytes.size(), ncclUint8, kSender, comm, link.stream.get()), comm));
  return link.stream.get();
}

Result<CUstream_st*> Pairs::send(ConstBytes bytes, int to) {
  HOMZ_TRY(state(to, Way::out));
  const Link& link = link_of(to, Way::out);
  ncclComm_t const comm = link.comm.get();
  HOMZ_TRY(checked(
      "ncclSend", ncclSend(bytes.data(), bytes.size(), ncclUint8, kReceiver, comm, link.stream.get()), comm));
  return link.stream.get();
}

// Aborting frees memory, which waits for the whole GPU, and so for messages of other pairs, too: these end
// with it.
void Pairs::stop(int peer, Way way) noexcept {
  if (peer == rank_) return;
  abort();
  static_cast<void>(gpu::wait(link_of(peer, way).stream.get()));
}

Status Pairs::state(int peer, Way way) {
  if (peer == rank_) return Status(Code::unsupported, "a message of a GPU from a rank to itself over NCCL");
  ncclComm_t const comm = link_of(peer, way).comm.get();
  if (comm == nullptr)
    return Status(Code::io, fmt::format("messages with rank {} over NCCL were given up: form a group of the "
                                        "transport (renew())",
                                        peer));
  return async_state(comm).within(fmt::format("messages with rank {}", peer));
}

}  // namespace homz::nccl
