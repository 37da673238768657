// Messages between GPUs by ncclSend and ncclRecv.
#pragma once

#include <memory>
#include <vector>

#include "collectives/device_mail.hpp"
#include "collectives/nccl_comm.hpp"

namespace homz::nccl {

// [from][to]; what [0][0] names is the communicator of all.
using Ids = std::vector<std::vector<ncclUniqueId>>;

// Messages from rank to rank: each ordered pair has a communicator and a stream of its own, so that the two
// directions never wait for each other. A kernel that receives holds multiprocessors until its sender comes:
// all that can be under way must fit on the GPU, whence the bound on their blocks. For the same reason a rank
// with messages under way must not wait for its whole GPU (as cudaFree does) before it polls again.
class Pairs final : public Mover {
 public:
  explicit Pairs(int rank) : rank_(rank) {}
  // Made and destroyed in one order on all ranks: nobody waits in a circle.
  ~Pairs() override {
    for (auto& link : links_) link.reset();
  }

  // What each rank needs by itself; then, by all of them, the communicators. `trial`: some memory of the GPU.
  Status prepare(int ranks);
  Status make(const Ids& ids, gpu::Memory& trial);
  void abort() noexcept;

  bool pushes() const noexcept override { return true; }
  Result<Place> place_of(ConstBytes, int to) override {
    HOMZ_TRY(state(to, Way::out));
    return Place{};
  }
  Result<CUstream_st*> receive(const Place&, Bytes bytes, int from) override;
  Result<CUstream_st*> send(ConstBytes bytes, int to) override;
  void stop(int peer, Way way) noexcept override;
  Status state(int peer, Way way) override;

 private:
  static constexpr int kSender = 0, kReceiver = 1;
  struct Link {
    int peer;
    Way way;
    gpu::Stream stream;
    Comm comm;
  };
  Link& link_of(int peer, Way way);
  static Status open(Link& link, const ncclUniqueId& id, int most_blocks, gpu::Memory& trial);

  int rank_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace homz::nccl
