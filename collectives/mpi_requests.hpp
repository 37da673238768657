// Sends and receives of MPI that are under way.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectives/mpi_comm.hpp"

namespace homz::mpi {

class Requests {
 public:
  bool empty() const { return requests_.empty(); }

  // As Transport's.
  Status send(MPI_Comm comm, ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
              Pending* pending) {
    *pending = Pending{};
    make_room();
    MPI_Request request = MPI_REQUEST_NULL;
    HOMZ_TRY(checked("MPI_Isend", MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag,
                                            comm, &request)));
    add(request, {pending, owner ? std::move(owner) : kSomebody, {}});
    return Status();
  }

  // is_exact: a message of another length is an error.
  Status receive(MPI_Comm comm, Bytes capacity, int from, int tag, Pending* pending, bool is_exact) {
    *pending = Pending{};
    make_room();
    MPI_Request request = MPI_REQUEST_NULL;
    const int source = from == kAnyRank ? MPI_ANY_SOURCE : from;
    HOMZ_TRY(checked("MPI_Irecv", MPI_Irecv(capacity.data(), static_cast<int>(capacity.size()), MPI_BYTE,
                                            source, tag, comm, &request)));
    add(request, {pending, nullptr, is_exact ? std::optional<std::uint64_t>(capacity.size()) : std::nullopt});
    return Status();
  }

  // Marks what is done. Whether something is.
  Result<bool> poll() {
    done_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int error = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(),
                                   statuses_.data());
    if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return failed("MPI_Testsome", error);
    if (count == MPI_UNDEFINED || count == 0) return false;
    Status first;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const Message& message = messages_[static_cast<std::size_t>(done_[i])];
      if (message.pending == nullptr) continue;
      const bool is_done = error == MPI_SUCCESS || statuses_[i].MPI_ERROR == MPI_SUCCESS;
      const Status status = is_done ? mark_done(message, statuses_[i])
                                    : failed(message.owner ? "sending" : "receiving", statuses_[i].MPI_ERROR);
      if (first.ok()) first = status;
    }
    drop_done();
    if (!first.ok()) return first;
    return true;
  }

  void abandon(const Pending* pending) {
    const auto found = std::ranges::find(messages_, pending, &Message::pending);
    if (found == messages_.end()) return;
    give_up(static_cast<std::size_t>(found - messages_.begin()));
    drop_done();
  }

  // Gives all up. Whether MPI is done with it: else it may still send, and keeps the bytes for ever.
  bool end() {
    if (requests_.empty()) return true;
    for (std::size_t i = 0; i < requests_.size(); ++i) give_up(i);
    static_cast<void>(poll());
    drop_done();
    for (std::size_t i = 0; i < requests_.size(); ++i) forget(i);
    return requests_.empty();
  }

 private:
  struct Message {
    Pending* pending;                      // null: given up
    std::shared_ptr<const void> owner;     // of what is sent; null: a receive
    std::optional<std::uint64_t> exactly;  // bytes of a receive
  };
  static inline const std::shared_ptr<const void> kSomebody = std::make_shared<int>(0);  // sends have owners

  // What MPI has begun must not be lost for want of memory.
  void make_room() {
    if (requests_.size() == requests_.capacity()) requests_.reserve(2 * requests_.size() + 1);
    if (messages_.size() == messages_.capacity()) messages_.reserve(2 * messages_.size() + 1);
  }
  void add(MPI_Request request, Message message) {
    requests_.push_back(request);
    messages_.push_back(std::move(message));
  }

  static Status mark_done(const Message& message, const MPI_Status& status) {
    if (message.owner) {
      *message.pending = {true, 0, -1};
      return Status();
    }
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    const auto bytes = static_cast<std::uint64_t>(std::max(0, count));
    if (message.exactly && *message.exactly != bytes)
      return Status(Code::corrupt_stream,
                    fmt::format("a message of rank {} has {} bytes of a GPU, the receive for it {}",
                                status.MPI_SOURCE, bytes, *message.exactly));
    *message.pending = {true, bytes, status.MPI_SOURCE};
    return Status();
  }

  // Receives can be cancelled; MPI promises that the wait is short. Sends cannot, everywhere: they stay, with
  // their bytes, until MPI is done with them.
  void give_up(std::size_t i) {
    MPI_Request& request = requests_[i];
    messages_[i].pending = nullptr;
    if (request == MPI_REQUEST_NULL || messages_[i].owner != nullptr) return;
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
    kept->push_back(std::move(messages_[i].owner));
  }

  void drop_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      if (kept != i) messages_[kept] = std::move(messages_[i]);
      ++kept;
    }
    requests_.resize(kept);
    messages_.resize(kept);
  }

  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;  // of the requests
  std::vector<int> done_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace homz::mpi
