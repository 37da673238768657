// NCCL's errors as Status, and its communicators.
#pragma once

#include <nccl.h>

#include <string_view>

#include "core/status.hpp"

namespace homz::nccl {

// Ok, too, for what a communicator that does not block (the application's) is still about: that is waited
// for.
Status checked(std::string_view what, ncclResult_t result, ncclComm_t comm = nullptr);
// What has gone wrong since, on the GPU or with other ranks.
Status async_state(ncclComm_t comm);

// A communicator of NCCL's.
class Comm {
 public:
  Comm() = default;
  ~Comm() {
    if (comm_ == nullptr || !is_owned_) return;
    async_state(comm_).ok() ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  void borrow(ncclComm_t comm) {
    comm_ = comm;
    is_owned_ = false;
  }
  // most_blocks: thread blocks of a kernel; 0: NCCL's choice.
  Status make(int ranks, const ncclUniqueId& id, int rank, int most_blocks) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    if (most_blocks > 0) config.maxCTAs = most_blocks;
    ncclComm_t made = nullptr;
    HOMZ_TRY(checked("ncclCommInitRankConfig", ncclCommInitRankConfig(&made, ranks, id, rank, &config)));
    comm_ = made;
    return Status();
  }
  // Ends what is under way, without the other ranks. Of no use any more.
  void abort() noexcept {
    if (!is_owned_) return;
    if (comm_ != nullptr) ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
  bool is_owned_ = true;
};

}  // namespace homz::nccl
