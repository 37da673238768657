#include "collectives/channel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/checksum.hpp"

namespace homz {
namespace {

constexpr std::size_t kPosted = 4;      // messages of a peer that are waited for at once
constexpr std::uint32_t kCalls = 8192;  // whose tags differ

}  // namespace

Channel::Channel(Wire& wire, const CallSignature& call, std::uint64_t capacity, Home home)
    : wire_(wire),
      call_(call),
      capacity_(capacity),
      home_(home),
      tag_(static_cast<int>(call.sequence % kCalls) * 2),
      peers_(static_cast<std::size_t>(wire.size())) {}

Channel::~Channel() {
  for (const int rank : known_) {
    for (auto* const messages : {&peer(rank).sending, &peer(rank).receiving})
      for (Message& message : *messages) abandon(message);
  }
}

bool Channel::Message::is_done() const {
  return first.done && std::ranges::all_of(rest, [](const Pending& segment) { return segment.done; });
}

void Channel::abandon(Message& message) {
  if (!message.first.done) wire_.transport().abandon(&message.first);
  for (Pending& segment : message.rest)
    if (!segment.done) wire_.transport().abandon(&segment);
}

Channel::Peer& Channel::peer(int rank) {
  auto& slot = peers_[static_cast<std::size_t>(rank)];
  if (!slot) {
    slot = std::make_unique<Peer>();
    known_.push_back(rank);
  }
  return *slot;
}

Status Channel::send(int to, const BlockPtr& block) {
  if (!block->is_sealed) {
    block->frame.call = call_;
    store(block->frame, block->front());
    block->is_sealed = true;
  }
  Message& sending = peer(to).sending.emplace_back();
  sending.block = block;
  ++sending_;
  sent_bytes_ += Frame::kBytes + block->payload().size();
  return block->home() == Home::device ? send_device(to, sending) : send_segments(to, sending);
}

Status Channel::send_segments(int to, Message& sending) {
  const ConstBytes message = sending.block->message();
  const std::uint64_t segment = wire_.segment_bytes();
  sending.rest.resize(ceil_div<std::uint64_t>(message.size(), segment) - 1);
  for (std::size_t i = 0; i <= sending.rest.size(); ++i) {
    const std::uint64_t first = i * segment;
    HOMZ_TRY(wire_.transport().send(message.subspan(first, std::min(segment, message.size() - first)),
                                    sending.block, to, tag_ + (i > 0),
                                    i == 0 ? &sending.first : &sending.rest[i - 1]));
  }
  return Status();
}

// The frame as a message of the host, the payload from memory to memory.
Status Channel::send_device(int to, Message& sending) {
  const BlockPtr& block = sending.block;
  HOMZ_TRY(wire_.transport().send(block->front(), block, to, tag_, &sending.first));
  if (block->payload().empty()) return Status();
  sending.rest.resize(1);
  return wire_.transport().send_device(block->payload(), block, to, tag_ + 1, &sending.rest[0]);
}

Status Channel::expect(int from) {
  Peer& peer = this->peer(from);
  ++peer.expected;
  return post(from, peer);
}

Status Channel::post(int from, Peer& peer) {
  while (peer.expected > 0 && peer.receiving.size() < kPosted) {
    --peer.expected;
    Message& message = peer.receiving.emplace_back();
    // Of a call with more values than this rank's a whole segment comes: there is room for that.
    const std::uint64_t segment = wire_.segment_bytes();
    // That of a payload on a GPU is taken when its length is known.
    const std::uint64_t least = segment - Frame::kBytes;
    if (home_ == Home::device) {
      message.block = wire_.pool().take(least);
    } else {
      HOMZ_ASSIGN(message.block, wire_.pool().take(std::max(capacity_, least), home_));
    }
    HOMZ_TRY(wire_.transport().receive(message.block->whole().first(segment), from, tag_, &message.first));
  }
  return Status();
}

// The frame is here: what it says is checked, the rest of the message asked for.
Status Channel::open(int from, Message& message) {
  Block& block = *message.block;
  HOMZ_ASSIGN(block.frame, load_frame(block.whole().first(message.first.bytes)));
  message.is_open = true;
  block.is_sealed = true;
  if (block.frame.call != call_) return disagreement(call_, wire_.rank(), block.frame.call, from);
  const std::uint64_t bytes = Frame::kBytes + std::uint64_t{block.frame.payload_bytes};
  const std::uint64_t segment = wire_.segment_bytes();
  const std::uint64_t first = home_ == Home::device ? Frame::kBytes : std::min(bytes, segment);
  if (block.frame.payload_bytes > capacity_)
    return Status(Code::invalid_argument,
                  fmt::format("{}: rank {} sends {} bytes where rank {} expects {} at most: counts disagree",
                              to_string(call_), from, block.frame.payload_bytes, wire_.rank(), capacity_));
  if (message.first.bytes != first)
    return Status(Code::corrupt_stream,
                  fmt::format("a message of rank {} has {} bytes of {}, with room for {}", from,
                              message.first.bytes, bytes, Frame::kBytes + capacity_));
  return home_ == Home::device ? ask_for_payload(from, message) : ask_for_rest(from, message);
}

Status Channel::ask_for_rest(int from, Message& message) {
  const Bytes whole = message.block->message();
  const std::uint64_t segment = wire_.segment_bytes();
  message.rest.resize(ceil_div<std::uint64_t>(whole.size(), segment) - 1);
  for (std::size_t i = 0; i < message.rest.size(); ++i) {
    const std::uint64_t first = (i + 1) * segment;
    HOMZ_TRY(wire_.transport().receive(whole.subspan(first, std::min(segment, whole.size() - first)), from,
                                       tag_ + 1, &message.rest[i]));
  }
  return Status();
}

Status Channel::ask_for_payload(int from, Message& message) {
  const Frame frame = message.block->frame;
  HOMZ_ASSIGN(message.block, wire_.pool().take(frame.payload_bytes, Home::device));
  message.block->frame = frame;
  message.block->is_sealed = true;
  store(frame, message.block->front());
  if (frame.payload_bytes == 0) return Status();
  message.rest.resize(1);
  return wire_.transport().receive_device(message.block->payload(), from, tag_ + 1, &message.rest[0]);
}

Status Channel::progress() {
  for (const int rank : known_) {
    Peer& peer = *peers_[static_cast<std::size_t>(rank)];
    while (!peer.sending.empty() && peer.sending.front().is_done()) {
      peer.sending.pop_front();
      --sending_;
    }
    for (Message& message : peer.receiving) {
      if (!message.first.done) break;
      if (!message.is_open) HOMZ_TRY(open(rank, message));
    }
  }
  return Status();
}

const Frame* Channel::next_frame(int from) {
  const Peer& peer = this->peer(from);
  return peer.receiving.empty() || !peer.receiving.front().is_open ? nullptr
                                                                   : &peer.receiving.front().block->frame;
}

Result<BlockPtr> Channel::next(int from) {
  Peer& peer = this->peer(from);
  if (peer.receiving.empty()) return BlockPtr();
  Message& message = peer.receiving.front();
  if (!message.is_open || !message.is_done()) return BlockPtr();
  std::uint64_t arrived = home_ == Home::device ? Frame::kBytes : message.first.bytes;
  for (const Pending& segment : message.rest) arrived += segment.bytes;
  if (arrived != Frame::kBytes + message.block->payload().size())
    return Status(Code::corrupt_stream, fmt::format("a message of rank {} is cut short", from));
  BlockPtr block = std::move(message.block);
  peer.receiving.pop_front();
  HOMZ_TRY(post(from, peer));
  // The host does not see what is on a GPU: homcomp's payloads verify themselves there.
  if (home_ != Home::device && block->frame.has_checksum &&
      checksum(block->payload()) != block->frame.payload_checksum)
    return Status(Code::corrupt_stream,
                  fmt::format("a message of rank {} is damaged: its checksum does not match", from));
  return block;
}

}  // namespace homz
