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

Channel::Channel(Wire& wire, const CallSignature& call, std::uint64_t capacity)
    : wire_(wire),
      call_(call),
      capacity_(capacity),
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
  const ConstBytes message = block->message();
  const std::uint64_t segment = wire_.segment_bytes();
  Message& sending = peer(to).sending.emplace_back();
  sending.block = block;
  sending.rest.resize(ceil_div<std::uint64_t>(message.size(), segment) - 1);
  ++sending_;
  for (std::size_t i = 0; i <= sending.rest.size(); ++i) {
    const std::uint64_t first = i * segment;
    HOMZ_TRY(wire_.transport().send(message.subspan(first, std::min(segment, message.size() - first)), block,
                                    to, tag_ + (i > 0), i == 0 ? &sending.first : &sending.rest[i - 1]));
  }
  sent_bytes_ += message.size();
  return Status();
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
    message.block = wire_.pool().take(std::max(capacity_, segment - Frame::kBytes));
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
  if (block.frame.payload_bytes > capacity_ || message.first.bytes != std::min(bytes, segment))
    return Status(Code::corrupt_stream,
                  fmt::format("a message of rank {} has {} bytes of {}, with room for {}", from,
                              message.first.bytes, bytes, Frame::kBytes + capacity_));
  message.rest.resize(ceil_div(bytes, segment) - 1);
  for (std::size_t i = 0; i < message.rest.size(); ++i) {
    const std::uint64_t first = (i + 1) * segment;
    HOMZ_TRY(wire_.transport().receive(block.whole().subspan(first, std::min(segment, bytes - first)), from,
                                       tag_ + 1, &message.rest[i]));
  }
  return Status();
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
  for (std::size_t i = 0; i < message.rest.size(); ++i) {
    const std::uint64_t first = (i + 1) * wire_.segment_bytes();
    if (message.rest[i].bytes != std::min(wire_.segment_bytes(), message.block->message().size() - first))
      return Status(Code::corrupt_stream,
                    fmt::format("a segment of a message of rank {} is cut short", from));
  }
  BlockPtr block = std::move(message.block);
  peer.receiving.pop_front();
  HOMZ_TRY(post(from, peer));
  if (block->frame.has_checksum && checksum(block->payload()) != block->frame.payload_checksum)
    return Status(Code::corrupt_stream,
                  fmt::format("a message of rank {} is damaged: its checksum does not match", from));
  return block;
}

}  // namespace homz
