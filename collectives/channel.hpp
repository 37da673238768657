// The messages of one call, in order between any two ranks, whatever their length: long ones are cut into
// segments, several of which are on their way at once (over TCP, MPI moves long messages in one direction at
// a time, short ones in both).
#pragma once

#include <list>
#include <vector>

#include "collectives/wire.hpp"

namespace homz {

class Channel {
 public:
  // Messages carry this signature; those that arrive must, too. `capacity`: of payloads, in bytes. `home`: of
  // those that arrive.
  Channel(Wire& wire, const CallSignature& call, std::uint64_t capacity, Home home = Home::host);
  ~Channel();  // gives up what is under way
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const CallSignature& call() const { return call_; }

  // Seals the block, unless it is, and sends it; `to` gets it after all that was sent there before.
  Status send(int to, const BlockPtr& block);
  bool all_sent() const { return sending_ == 0; }
  std::size_t under_way(int to) { return peer(to).sending.size(); }
  std::uint64_t sent_bytes() const { return sent_bytes_; }  // frames included

  // One more message will come from there. Then next() gives it, or null while it is not here.
  Status expect(int from);
  Result<BlockPtr> next(int from);
  // Its frame, as soon as that is here, or null.
  const Frame* next_frame(int from);

  // Behind Wire::poll().
  Status progress();

 private:
  // The transport knows where each Pending is: messages stay in their place.
  struct Message {
    BlockPtr block;
    Pending first;              // segment
    std::vector<Pending> rest;  // those behind it; of a message on a GPU: its payload
    bool is_open = false;       // of what is received: its frame has been read
    bool is_done() const;
  };
  struct Peer {
    std::list<Message> sending, receiving;
    std::uint64_t expected = 0;  // not posted yet
  };

  Peer& peer(int rank);
  Status post(int from, Peer& peer);
  Status open(int from, Message& message);
  Status ask_for_rest(int from, Message& message);
  Status ask_for_payload(int from, Message& message);
  Status send_segments(int to, Message& sending);
  Status send_device(int to, Message& sending);
  void abandon(Message& message);

  Wire& wire_;
  CallSignature call_;
  std::uint64_t capacity_;
  Home home_;
  int tag_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank
  std::vector<int> known_;                    // ranks that have a peer
  std::uint64_t sending_ = 0, sent_bytes_ = 0;
};

}  // namespace homz
