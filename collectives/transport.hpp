// How bytes get from rank to rank. Algorithms are built on these verbs alone; a transport is about 150 lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "collectives/request.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

// One send or receive under way. Belongs to the caller, who keeps it, and the bytes of a receive, in place
// until `done`.
struct Pending {
  bool done = false;
  std::uint64_t bytes = 0;  // received
  int from = -1;            // received from
};

inline constexpr int kAnyRank = -1;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // The node of each rank, numbered from 0: ranks of a node share memory.
  virtual std::span<const int> nodes() const noexcept = 0;

  // Both start something and return at once. Messages between two ranks with equal tags arrive in order.
  // Tags: 0 to 32767. At most 2^30 bytes a message. `owner` keeps the bytes in place as long as need be;
  // without one they stay until it is done.
  virtual Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
                      Pending* pending) = 0;
  // `capacity` is at least as long as the message; from kAnyRank takes any.
  virtual Status receive(Bytes capacity, int from, int tag, Pending* pending) = 0;
  // Moves things on, and marks what is done.
  virtual Status poll() = 0;
  // Nothing was done for a while: gives the core to others.
  virtual void yield() = 0;
  // Gives up what is not done: nothing refers to the Pending, or to the bytes of a receive, any more. For
  // failed calls: what is on its way may be lost, and the transport is of no use until a group of it replaces
  // it.
  virtual void abandon(Pending* pending) = 0;

  // ---- Memory of GPUs: messages of the current one's memory, whose bytes are all there. As send() and
  // receive(), but a receive has exactly the length of its message, and tags are of their own.
  virtual bool moves_device_memory() const noexcept { return false; }
  virtual int gpu() const noexcept { return -1; }  // the rank's; -1: any
  virtual Status send_device(ConstBytes, std::shared_ptr<const void> /*owner*/, int /*to*/, int /*tag*/,
                             Pending*) {
    return Status(Code::unsupported, "this transport does not move memory of GPUs");
  }
  virtual Status receive_device(Bytes, int /*from*/, int /*tag*/, Pending*) {
    return Status(Code::unsupported, "this transport does not move memory of GPUs");
  }

  // What this rank has enqueued of native() ends, without the other ranks. A group may take its place.
  virtual void give_up() noexcept {}

  // A transport between the given ranks, which all call this with the same list; own messages and tags.
  virtual Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) = 0;

  // The transport's own uncompressed collective, or unsupported; on values of the host blocking, on those of
  // a GPU enqueued on exec.stream. Ranks must agree. `count`: values, as the frame of a call counts them.
  virtual bool has_native(Collective, std::uint64_t /*count*/, Space) const noexcept { return false; }
  virtual Status native(Collective, ReduceOp, Dtype, ConstBytes, Bytes, std::uint64_t /*count*/, int /*root*/,
                        Exec) {
    return Status(Code::unsupported, "this transport has no collectives of its own");
  }
};

}  // namespace homz
