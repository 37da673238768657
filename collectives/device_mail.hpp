// Messages between GPUs, of which the ranks tell each other by letters on the host: a sender announces its
// message, the receiver finds the receive for it by rank and tag. How the bytes move is a Mover's matter.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "collectives/transport.hpp"
#include "core/gpu/gpu.hpp"

namespace homz {

// What the receiver of a message must know of the sender's memory.
using Place = std::array<std::byte, 80>;

enum class Way : std::uint8_t { in, out };

// Moves bytes between GPUs, on streams of its own. All is called with the rank's GPU as the current one.
class Mover {
 public:
  virtual ~Mover() = default;

  // Whether the sender takes part: then the receiver enqueues first and says so, whereupon the sender
  // enqueues, both in the same order. Else the receiver fetches the bytes, and says when it has them.
  virtual bool pushes() const noexcept = 0;
  virtual Result<Place> place_of(ConstBytes bytes, int to) = 0;
  // Both enqueue, and return the stream. Bytes are never empty.
  virtual Result<CUstream_st*> receive(const Place& place, Bytes bytes, int from) = 0;
  virtual Result<CUstream_st*> send(ConstBytes bytes, int to) = 0;
  // When it returns, nothing that is enqueued on this way reads or writes memory any more.
  virtual void stop(int peer, Way way) noexcept = 0;
  // Whether what has ended on this way has arrived.
  virtual Status state(int peer, Way way) = 0;
};

class DeviceMail {
 public:
  // `group`: for the letters, nobody else's; on all ranks. The GPU that is current now is the rank's.
  static Result<std::unique_ptr<DeviceMail>> make(std::unique_ptr<Transport> group,
                                                  std::unique_ptr<Mover> mover);
  // Waits for what is enqueued here, or ends it. Other ranks may still fetch bytes of sends that are not
  // done: the owners of these are kept for ever.
  ~DeviceMail();
  DeviceMail(const DeviceMail&) = delete;
  DeviceMail& operator=(const DeviceMail&) = delete;

  // As Transport's.
  Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag, Pending* pending);
  Status receive(Bytes bytes, int from, int tag, Pending* pending);
  Status poll();
  void yield() { group_->yield(); }
  void abandon(Pending* pending);

  int gpu() const { return gpu_; }
  bool is_busy() const { return !outgoing_.empty() || !incoming_.empty() || !told_.empty(); }

 private:
  enum class Kind : std::uint32_t { announcement = 1, clear, over };

  struct Letter {
    Kind kind = Kind::announcement;
    std::int32_t tag = 0;
    std::uint64_t id = 0, bytes = 0;  // id: the sender's number of the message
    Place place{};
  };
  struct Mail {
    Letter letter;
    Pending pending;
  };
  struct Announced {
    int from;
    Letter letter;
  };
  struct Outgoing {
    std::uint64_t id;
    ConstBytes bytes;
    std::shared_ptr<const void> owner;
    int to;
    Pending* pending;  // null: given up
    bool is_enqueued = false;
    gpu::Event event;  // once enqueued
  };
  struct Incoming {
    Bytes bytes;
    int from, tag;
    Pending* pending;
    bool is_matched = false;
    std::uint64_t id = 0;  // once matched
    int source = kAnyRank;
    gpu::Event event;  // if there are bytes
  };

  DeviceMail(std::unique_ptr<Transport> group, std::unique_ptr<Mover> mover, int gpu)
      : group_(std::move(group)), mover_(std::move(mover)), gpu_(gpu) {}

  Status listen();
  Status tell(int to, const Letter& letter);
  Status read_letters();
  Status read(const Letter& letter, int from);
  Status match();
  Status begin(Incoming& incoming, const Announced& announced);
  Status enqueue(Incoming& incoming, const Place& place);
  Status enqueue(Outgoing& outgoing);
  Result<bool> has_ended(const gpu::Event& event, int peer, Way way);
  Status finish_receives();
  Status finish_sends();
  void abandon_receive(std::deque<Incoming>::iterator incoming);
  void abandon_send(std::deque<Outgoing>::iterator outgoing);
  Result<gpu::Event> mark(CUstream_st* stream);

  static constexpr int kTag = 0;
  static constexpr std::size_t kHeard = 8;   // letters that are waited for at once
  static constexpr unsigned kChecked = 256;  // polls between looks at what does not end

  std::unique_ptr<Transport> group_;
  std::unique_ptr<Mover> mover_;
  int gpu_;
  std::uint64_t sent_ = 0;
  unsigned polls_ = 0;
  std::deque<Mail> heard_;                                              // in the order of their receives
  std::deque<std::pair<std::shared_ptr<const Letter>, Pending>> told_;  // until they have left
  std::deque<Announced> announced_;                                     // that no receive was found for, yet
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
  std::vector<gpu::Event> marks_;  // for use again
};

}  // namespace homz
