#include "collectives/peer.hpp"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "collectives/exchange.hpp"
#include "collectives/over_control.hpp"
#include "collectives/peer_memory.hpp"
#include "collectives/tune_party.hpp"

namespace homz {
namespace {

static_assert(sizeof(gpu::Exported) <= sizeof(Place));

struct Identity {
  std::uint64_t process = 0;
  gpu::Uuid gpu{};
  gpu::Exported trial;  // memory that others try to reach
};

// The receiver copies. Messages of one rank come on one stream, so they end in the order of their copies.
class Copier final : public Mover {
 public:
  Copier(const std::vector<Identity>& ranks, int rank)
      : peers_(ranks.size()), process_(ranks[static_cast<std::size_t>(rank)].process) {
    for (std::size_t r = 0; r < ranks.size(); ++r) peers_[r].process = ranks[r].process;
  }
  ~Copier() override {
    for (const Peer& peer : peers_)
      if (peer.stream.get() != nullptr) static_cast<void>(gpu::wait(peer.stream.get()));
  }

  bool pushes() const noexcept override { return false; }

  // In one process addresses say all.
  Result<Place> place_of(ConstBytes bytes, int to) override {
    gpu::Exported memory;
    memory.base = reinterpret_cast<std::uintptr_t>(bytes.data());
    if (peer(to).process != process_) {
      HOMZ_ASSIGN(memory, gpu::exported(bytes.data()));
    }
    Place place{};
    std::memcpy(place.data(), &memory, sizeof memory);
    return place;
  }

  Result<CUstream_st*> receive(const Place& place, Bytes bytes, int from) override {
    Peer& peer = this->peer(from);
    if (peer.stream.get() == nullptr) {
      HOMZ_ASSIGN(peer.stream, gpu::Stream::make());
    }
    gpu::Exported memory;
    std::memcpy(&memory, place.data(), sizeof memory);
    const auto* source = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(memory.base));
    if (peer.process != process_) {
      HOMZ_ASSIGN(source, peer.imports.mapped(memory, peer.stream.get()));
    }
    HOMZ_TRY(gpu::copy({source, bytes.size()}, bytes, peer.stream.get()));
    return peer.stream.get();
  }

  Result<CUstream_st*> send(ConstBytes, int) override {
    return Status(Code::corrupt_stream,
                  "another rank waits for what it is to fetch: do all ranks run the same?");
  }

  void stop(int peer, Way way) noexcept override {
    CUstream_st* const stream = this->peer(peer).stream.get();
    if (way == Way::in && stream != nullptr) static_cast<void>(gpu::wait(stream));
  }
  Status state(int, Way) override { return Status(); }

 private:
  struct Peer {
    std::uint64_t process = 0;
    gpu::Stream stream;
    gpu::Imports imports;  // unmapped before the stream goes, which has been waited for
  };
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  std::vector<Peer> peers_;
  std::uint64_t process_;
};

class PeerTransport final : public OverControl {
 public:
  using OverControl::OverControl;

  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    HOMZ_ASSIGN(auto control, this->control().group(ranks));
    return peer_transport(std::move(control));
  }
};

Result<Identity> identity(const gpu::Memory& trial) {
  Identity own;
  own.process = gpu::process();
  HOMZ_ASSIGN(own.gpu, gpu::uuid());
  HOMZ_ASSIGN(own.trial, gpu::exported(trial.bytes().data()));
  return own;
}

Status reach(const Identity& own, const Identity& other) {
  const bool is_here = other.process == own.process;
  HOMZ_TRY(gpu::reach(other.gpu, is_here));
  if (is_here) return Status();
  gpu::Imports imports;
  HOMZ_ASSIGN(auto stream, gpu::Stream::make());
  return imports.mapped(other.trial, stream.get()).status();
}

Status reach_all(const std::vector<Identity>& ranks, const Transport& control) {
  const std::span<const int> nodes = control.nodes();
  const auto own = static_cast<std::size_t>(control.rank());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (nodes[r] != nodes[own])
      return Status(Code::unsupported,
                    fmt::format("rank {} is on another host, whose GPUs are out of reach: use NCCL", r));
    const Status status = reach(ranks[own], ranks[r]);
    if (!status.ok())
      return Status(Code::unsupported,
                    fmt::format("the GPU of rank {} cannot be reached: {}", r, status.message()));
  }
  return Status();
}

// The trial memory stays until all have tried.
Result<std::vector<Identity>> introduce(Transport& control, Transport& messages) {
  gpu::Memory trial;
  Identity own;
  const auto prepare = [&]() -> Status {
    HOMZ_TRY(gpu::ready());
    HOMZ_ASSIGN(trial, gpu::Memory::on_device(256));
    HOMZ_ASSIGN(own, identity(trial));
    return Status();
  };
  HOMZ_TRY(agree(messages, prepare()));
  HOMZ_ASSIGN(auto ranks, gather_all(messages, own));
  HOMZ_TRY(agree(messages, reach_all(ranks, control)));
  return ranks;
}

}  // namespace

Result<std::unique_ptr<Transport>> peer_transport(std::unique_ptr<Transport> control) {
  return no_throw([&]() -> Result<std::unique_ptr<Transport>> {
    HOMZ_ASSIGN(auto messages, group_of_all(*control));
    HOMZ_ASSIGN(const auto ranks, introduce(*control, *messages));
    auto copier = std::make_unique<Copier>(ranks, control->rank());
    HOMZ_ASSIGN(auto mail, DeviceMail::make(std::move(messages), std::move(copier)));
    return std::unique_ptr<Transport>(new PeerTransport(std::move(control), std::move(mail)));
  });
}

}  // namespace homz
