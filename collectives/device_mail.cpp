#include "collectives/device_mail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace homz {
namespace {

// Others may read this memory at any time.
void keep_for_ever(std::shared_ptr<const void> owner) {
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  kept->push_back(std::move(owner));
}

}  // namespace

Result<std::unique_ptr<DeviceMail>> DeviceMail::make(std::unique_ptr<Transport> group,
                                                     std::unique_ptr<Mover> mover) {
  HOMZ_ASSIGN(const int gpu, gpu::current());
  std::unique_ptr<DeviceMail> mail(new DeviceMail(std::move(group), std::move(mover), gpu));
  for (std::size_t i = 0; i < kHeard; ++i) HOMZ_TRY(mail->listen());
  return mail;
}

DeviceMail::~DeviceMail() {
  const gpu::OnGpu on(gpu_);
  for (Mail& mail : heard_)
    if (!mail.pending.done) group_->abandon(&mail.pending);
  for (auto& [letter, pending] : told_)
    if (!pending.done) group_->abandon(&pending);
  for (const Incoming& each : incoming_)
    if (each.is_matched && !each.bytes.empty()) mover_->stop(each.source, Way::in);
  for (Outgoing& each : outgoing_) {
    if (each.is_enqueued) mover_->stop(each.to, Way::out);
    if (!mover_->pushes() && each.owner) keep_for_ever(std::move(each.owner));
  }
  mover_.reset();
}

// ---- Letters

Status DeviceMail::listen() {
  Mail& mail = heard_.emplace_back();
  Status status =
      group_->receive(std::as_writable_bytes(std::span(&mail.letter, 1)), kAnyRank, kTag, &mail.pending);
  if (!status.ok()) heard_.pop_back();
  return status;
}

Status DeviceMail::tell(int to, const Letter& letter) {
  auto kept = std::make_shared<const Letter>(letter);
  auto& [owner, pending] = told_.emplace_back(std::move(kept), Pending{});
  Status status = group_->send(std::as_bytes(std::span(owner.get(), 1)), owner, to, kTag, &pending);
  if (!status.ok()) told_.pop_back();
  return status;
}

// Letters of a rank are read in the order in which they were sent.
Status DeviceMail::read_letters() {
  while (!heard_.empty() && heard_.front().pending.done) {
    const Mail mail = heard_.front();
    heard_.pop_front();
    HOMZ_TRY(listen());
    if (mail.pending.bytes != sizeof(Letter))
      return Status(Code::corrupt_stream,
                    fmt::format("a letter of rank {} has {} bytes", mail.pending.from, mail.pending.bytes));
    HOMZ_TRY(read(mail.letter, mail.pending.from));
  }
  return Status();
}

// A message of which a letter speaks, but that is not there: it was given up here.
Status DeviceMail::read(const Letter& letter, int from) {
  if (letter.kind == Kind::announcement) {
    announced_.push_back({from, letter});
    return Status();
  }
  const auto found = std::ranges::find(outgoing_, letter.id, &Outgoing::id);
  if (found == outgoing_.end()) return Status();
  if (found->to != from || found->is_enqueued)
    return Status(Code::corrupt_stream, fmt::format("rank {} answers what was not sent to it", from));
  if (letter.kind == Kind::clear) return enqueue(*found);
  if (found->pending != nullptr) *found->pending = {true, 0, -1};
  outgoing_.erase(found);
  return Status();
}

// ---- Messages

Status DeviceMail::send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
                        Pending* pending) {
  const gpu::OnGpu on(gpu_);
  HOMZ_TRY(on.status());
  *pending = Pending{};
  Letter letter;
  letter.tag = tag;
  letter.id = ++sent_;
  letter.bytes = bytes.size();
  if (!bytes.empty()) {
    HOMZ_ASSIGN(letter.place, mover_->place_of(bytes, to));
  }
  outgoing_.push_back({letter.id, bytes, std::move(owner), to, pending, false, {}});
  Status status = tell(to, letter);
  if (!status.ok()) outgoing_.pop_back();
  return status;
}

Status DeviceMail::receive(Bytes bytes, int from, int tag, Pending* pending) {
  *pending = Pending{};
  incoming_.push_back({bytes, from, tag, pending, false, 0, kAnyRank, {}});
  return Status();
}

Status DeviceMail::poll() {
  if (!is_busy()) return Status();
  const gpu::OnGpu on(gpu_);
  HOMZ_TRY(on.status());
  ++polls_;
  HOMZ_TRY(group_->poll());
  HOMZ_TRY(read_letters());
  HOMZ_TRY(match());
  HOMZ_TRY(finish_receives());
  HOMZ_TRY(finish_sends());
  while (!told_.empty() && told_.front().second.done) told_.pop_front();
  return Status();
}

Status DeviceMail::match() {
  for (auto each = incoming_.begin(); each != incoming_.end() && !announced_.empty(); ++each) {
    if (each->is_matched) continue;
    const auto found = std::ranges::find_if(announced_, [&](const Announced& a) {
      return a.letter.tag == each->tag && (each->from == kAnyRank || each->from == a.from);
    });
    if (found == announced_.end()) continue;
    const Announced announced = *found;
    announced_.erase(found);
    const Status status = begin(*each, announced);
    if (!status.ok()) {
      incoming_.erase(each);
      return status;
    }
  }
  return Status();
}

Status DeviceMail::begin(Incoming& incoming, const Announced& announced) {
  const Letter& letter = announced.letter;
  incoming.is_matched = true;
  incoming.id = letter.id;
  incoming.source = announced.from;
  if (letter.bytes != incoming.bytes.size()) {
    HOMZ_TRY(tell(announced.from, {Kind::over, letter.tag, letter.id, 0, {}}));  // the sender need not wait
    return Status(Code::corrupt_stream,
                  fmt::format("a message of rank {} has {} bytes of a GPU, the receive for it {}",
                              announced.from, letter.bytes, incoming.bytes.size()));
  }
  if (incoming.bytes.empty()) return Status();
  const Status status = enqueue(incoming, letter.place);
  if (!status.ok()) mover_->stop(announced.from, Way::in);
  return status;
}

Status DeviceMail::enqueue(Incoming& incoming, const Place& place) {
  HOMZ_ASSIGN(CUstream_st* const stream, mover_->receive(place, incoming.bytes, incoming.source));
  HOMZ_ASSIGN(incoming.event, mark(stream));
  return mover_->pushes() ? tell(incoming.source, {Kind::clear, incoming.tag, incoming.id, 0, {}}) : Status();
}

Status DeviceMail::enqueue(Outgoing& outgoing) {
  HOMZ_ASSIGN(CUstream_st* const stream, mover_->send(outgoing.bytes, outgoing.to));
  auto event = mark(stream);
  if (!event.ok()) {
    mover_->stop(outgoing.to, Way::out);
    return event.status();
  }
  outgoing.event = std::move(*event);
  outgoing.is_enqueued = true;
  return Status();
}

Result<gpu::Event> DeviceMail::mark(CUstream_st* stream) {
  gpu::Event event;
  if (marks_.empty()) {
    HOMZ_ASSIGN(event, gpu::Event::make());
  } else {
    event = std::move(marks_.back());
    marks_.pop_back();
  }
  HOMZ_TRY(event.record(stream));
  return event;
}

// Streams that were stopped have ended, too: then nothing has arrived.
Result<bool> DeviceMail::has_ended(const gpu::Event& event, int peer, Way way) {
  HOMZ_ASSIGN(const bool is_done, event.is_done());
  if (is_done || polls_ % kChecked == 0) HOMZ_TRY(mover_->state(peer, way));
  return is_done;
}

Status DeviceMail::finish_receives() {
  for (auto each = incoming_.begin(); each != incoming_.end();) {
    const bool has_bytes = !each->bytes.empty();
    bool is_done = each->is_matched;
    if (is_done && has_bytes) {
      HOMZ_ASSIGN(is_done, has_ended(each->event, each->source, Way::in));
    }
    if (!is_done) {
      ++each;
      continue;
    }
    if (!has_bytes || !mover_->pushes())
      HOMZ_TRY(tell(each->source, {Kind::over, each->tag, each->id, 0, {}}));
    *each->pending = {true, each->bytes.size(), each->source};
    if (has_bytes) marks_.push_back(std::move(each->event));
    each = incoming_.erase(each);
  }
  return Status();
}

Status DeviceMail::finish_sends() {
  for (auto each = outgoing_.begin(); each != outgoing_.end();) {
    bool is_done = each->is_enqueued;
    if (is_done) {
      HOMZ_ASSIGN(is_done, has_ended(each->event, each->to, Way::out));
    }
    if (!is_done) {
      ++each;
      continue;
    }
    if (each->pending != nullptr) *each->pending = {true, 0, -1};
    marks_.push_back(std::move(each->event));
    each = outgoing_.erase(each);
  }
  return Status();
}

// ---- Giving up

void DeviceMail::abandon(Pending* pending) {
  const gpu::OnGpu on(gpu_);
  const auto incoming = std::ranges::find(incoming_, pending, &Incoming::pending);
  if (incoming != incoming_.end()) return abandon_receive(incoming);
  const auto outgoing = std::ranges::find(outgoing_, pending, &Outgoing::pending);
  if (outgoing != outgoing_.end()) abandon_send(outgoing);
}

// A sender whose bytes have been fetched may let them go. If that cannot be told, it keeps them.
void DeviceMail::abandon_receive(std::deque<Incoming>::iterator incoming) {
  if (incoming->is_matched) {
    if (!incoming->bytes.empty()) mover_->stop(incoming->source, Way::in);
    if (incoming->bytes.empty() || !mover_->pushes())
      static_cast<void>(tell(incoming->source, {Kind::over, incoming->tag, incoming->id, 0, {}}));
  }
  incoming_.erase(incoming);
}

// Where the receiver fetches bytes it may do so at any time, until it says that it is over. Where the sender
// takes part, the receiver may already wait on its GPU: both end that alike.
void DeviceMail::abandon_send(std::deque<Outgoing>::iterator outgoing) {
  if (!mover_->pushes()) {
    outgoing->pending = nullptr;
    return;
  }
  mover_->stop(outgoing->to, Way::out);
  outgoing_.erase(outgoing);
}

}  // namespace homz
