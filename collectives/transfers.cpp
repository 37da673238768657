#include "collectives/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/bits.hpp"

namespace homz {
namespace {

// Ids of a part's pieces: they need not be known to be unique, just unlikely to be mistaken.
constexpr std::uint64_t kIdStride = 0x9e3779b1;

constexpr std::size_t kBusy = 2;        // messages under way to a rank that keep its wire busy
constexpr std::size_t kMaking = 8;      // messages to a rank that a GPU works on
constexpr std::uint64_t kShort = 4096;  // bytes of pieces that are worked on in less time than messages take
constexpr unsigned kUnseen = 64;        // steps of work on such, at most, before messages are looked at
constexpr double kPatience = 0.2;       // seconds, before those that are waited for are asked what they call

template <class T>
std::span<T> part_of(std::span<T> whole, std::uint64_t first, std::uint64_t bytes) {
  return whole.empty() ? whole : whole.subspan(first, bytes);
}

}  // namespace

Transfers::Transfers(Wire& wire, Job job, std::unique_ptr<Handling> handling, CallReport* report)
    : wire_(wire), job_(std::move(job)), handling_(std::move(handling)), report_(report) {
  cut_into_pieces();
  for (const Way& way : ways_) longest_ = std::max(longest_, way.piece.bytes);
  const std::uint64_t capacity = handling_->capacity(longest_);
  channel_ = std::make_unique<Channel>(wire_, job_.call, capacity, handling_->home());
}

// The caller's buffers are the caller's again: no GPU writes to them any more.
Transfers::~Transfers() {
  if (!is_over_) static_cast<void>(handling_->settle());
}

// Parts of nothing have one piece of nothing: its frame still tells what the call is. Parts that do not
// concern this rank only have numbers.
void Transfers::cut_into_pieces() {
  std::vector<bool> is_mine;
  for (const Part& part : job_.parts) is_mine.push_back(!part.in.empty() || !part.out.empty());
  for (const Transfer& transfer : job_.schedule)
    for (const PartId part : transfer.parts) is_mine[part] = true;
  for (std::size_t i = 0; i < job_.parts.size(); ++i) {
    const Part& part = job_.parts[i];
    std::vector<std::uint32_t>& pieces = pieces_.emplace_back();
    const std::uint64_t most = piece_bytes_of(part.bytes, std::max<std::uint64_t>(job_.piece_bytes, 8));
    const std::uint64_t count = std::max<std::uint64_t>(1, ceil_div(part.bytes, most));
    for (std::uint64_t k = 0; is_mine[i] && k < count; ++k) {
      const std::uint64_t first = k * most, bytes = std::min(most, part.bytes - first);
      pieces.push_back(static_cast<std::uint32_t>(ways_.size()));
      Way& way = ways_.emplace_back();
      way.values = static_cast<std::uint32_t>(part.bytes / size_of(job_.call.dtype));
      Piece& piece = way.piece;
      piece.id = static_cast<std::uint32_t>(part.id * kIdStride + k);
      piece.in = part_of(part.in, first, bytes);
      piece.out = part_of(part.out, first, bytes);
      piece.bytes = bytes;
    }
  }
  lay_out_steps();
}

void Transfers::lay_out_steps() {
  for (const Transfer& transfer : job_.schedule)
    for (const PartId part : transfer.parts)
      for (const std::uint32_t piece : pieces_[part]) {
        const auto step = static_cast<std::uint32_t>(steps_.size());
        steps_.push_back({transfer.kind, transfer.peer, piece});
        Way& way = ways_[piece];
        way.steps.push_back(step);
        if (transfer.kind == Kind::join) way.last_join = way.steps.size();
        way.takes |= transfer.kind == Kind::take;
        Queue& queue = queue_of(transfer.peer);
        (is_send(transfer.kind) ? queue.sends : queue.receives).push_back(step);
      }
}

Transfers::Queue& Transfers::queue_of(int peer) {
  const auto found = std::ranges::find_if(queues_, [&](const Queue& q) { return q.peer == peer; });
  if (found != queues_.end()) return *found;
  return queues_.emplace_back(Queue{.peer = peer, .sends = {}, .receives = {}});
}

Status Transfers::begin() {
  has_begun_ = true;
  for (const Queue& queue : queues_)
    for (std::size_t i = 0; i < queue.receives.size(); ++i) HOMZ_TRY(channel_->expect(queue.peer));
  if (handling_->prepares_all())
    while (true) {
      HOMZ_ASSIGN(const bool is_prepared, prepare_one());
      if (!is_prepared) break;
    }
  return Status();
}

// Messages move on when they are looked at, which takes longer than work on short pieces: then all that can
// be done comes first.
Result<bool> Transfers::advance() {
  bool looks = has_begun_;
  unsigned unseen = 0;  // steps of work
  if (!has_begun_) HOMZ_TRY(begin());
  while (true) {
    if (looks) {
      HOMZ_TRY(wire_.poll(job_.call.sequence));
      HOMZ_TRY(channel_->progress());
    }
    looks = longest_ > kShort || ++unseen % kUnseen == 0;
    HOMZ_ASSIGN(const bool is_done, is_done_here());
    if (is_done) {
      is_over_ = true;
      tell();
      return true;
    }
    HOMZ_ASSIGN(const bool something_done, work());
    HOMZ_TRY(wait(something_done));
    if (!something_done) return false;
  }
}

Result<bool> Transfers::is_done_here() {
  if (steps_done_ < steps_.size() || completed_ < ways_.size() || !channel_->all_sent()) return false;
  for (const Queue& queue : queues_)
    if (!queue.outbox.empty()) return false;
  return handling_->is_settled();
}

// One piece of work: what keeps the wires busy first, then what others will wait for, what only this rank
// waits for last.
Result<bool> Transfers::work() {
  using Work = Result<bool> (Transfers::*)();
  HOMZ_ASSIGN(bool is_done, post_made());
  if (!is_done) {
    HOMZ_ASSIGN(is_done, send_one(kBusy));
  }
  for (const Work next : {&Transfers::receive_one, &Transfers::send_any, &Transfers::prepare_one,
                          &Transfers::complete_one, &Transfers::write_one}) {
    if (is_done) break;
    HOMZ_ASSIGN(is_done, (this->*next)());
  }
  return is_done;
}

// Keeps account of the time in which nothing was done.
Status Transfers::wait(bool something_done) {
  if (something_done && !is_idle_) return Status();
  const Clock::time_point now = Clock::now();
  if (!is_idle_) {
    idle_since_ = now;
    has_asked_ = false;
  }
  is_idle_ = !something_done;
  const double idle = std::chrono::duration<double>(now - idle_since_).count();
  if (something_done) {
    wait_seconds_ += idle;
    return Status();
  }
  if (idle > kPatience) HOMZ_TRY(wire_.failure());
  if (idle > kPatience && !has_asked_) {
    has_asked_ = true;
    // A message that is not taken is one that its receiver does not expect: who only sends must ask, too.
    for (const Queue& queue : queues_)
      if (queue.next_receive < queue.receives.size() || channel_->under_way(queue.peer) != 0)
        wire_.ask(job_.call.sequence, queue.peer);
  }
  if (job_.timeout_seconds <= 0 || idle < job_.timeout_seconds) return Status();
  for (const Queue& queue : queues_)
    if (queue.next_receive < queue.receives.size())
      return Status(Code::io,
                    fmt::format("{}: rank {} has got nothing from rank {} for {} s: that, or one that it "
                                "waits for, is silent",
                                to_string(job_.call), wire_.rank(), queue.peer, job_.timeout_seconds));
  return Status(Code::io,
                fmt::format("{}: messages of rank {} have not been taken for {} s: a rank that they go to "
                            "is silent",
                            to_string(job_.call), wire_.rank(), job_.timeout_seconds));
}

void Transfers::tell() const {
  if (report_ == nullptr) return;
  const Times times = handling_->times();
  report_->raw_bytes += raw_bytes_;
  report_->sent_bytes += channel_->sent_bytes();
  report_->encode_seconds += times.encode;
  report_->combine_seconds += times.combine;
  report_->decode_seconds += times.decode;
  report_->wait_seconds += wait_seconds_;
}

bool Transfers::is_turn(std::uint32_t step) const {
  const Way& way = ways_[steps_[step].piece];
  return way.next < way.steps.size() && way.steps[way.next] == step;
}

Result<bool> Transfers::receive_one() {
  for (Queue& queue : queues_) {
    if (queue.next_receive == queue.receives.size()) continue;
    const std::uint32_t step = queue.receives[queue.next_receive];
    if (!is_turn(step)) continue;
    const Frame* const frame = channel_->next_frame(queue.peer);
    if (frame == nullptr) continue;
    HOMZ_TRY(check(ways_[steps_[step].piece], steps_[step], *frame));
    HOMZ_ASSIGN(BlockPtr message, channel_->next(queue.peer));
    if (!message) continue;
    ++queue.next_receive;
    HOMZ_TRY(receive(ways_[steps_[step].piece], steps_[step], std::move(message)));
    return true;
  }
  return false;
}

// Before the rest of the message is waited for: that of a wrong one may never come.
Status Transfers::check(const Way& way, const Step& step, const Frame& frame) const {
  if (frame.values != way.values)
    return Status(Code::invalid_argument,
                  fmt::format("{}: rank {} sends {} values, rank {} expects {}", to_string(job_.call),
                              step.peer, frame.values, wire_.rank(), way.values));
  if (frame.piece != way.piece.id)
    return Status(Code::corrupt_stream, fmt::format("piece {} of rank {} arrives in the place of piece {}",
                                                    frame.piece, step.peer, way.piece.id));
  return Status();
}

Status Transfers::receive(Way& way, const Step& step, BlockPtr message) {
  Piece& piece = way.piece;
  ++way.next;
  ++steps_done_;
  if (step.kind == Kind::take) {
    HOMZ_TRY(handling_->take(piece, std::move(message), way.next < way.steps.size()));
    have_result(way);
    return Status();
  }
  const Next next = is_ready(way)                                    ? Next::complete
                    : steps_[way.steps[way.next]].kind == Kind::join ? Next::join
                                                                     : Next::send;
  HOMZ_TRY(handling_->join(piece, std::move(message), step.peer < wire_.rank(), next));
  return complete_if_ready(way);
}

// A piece that is taken from others is complete then; else when nothing is to be joined any more, and this
// rank has contributed what it had to.
bool Transfers::is_ready(const Way& way) const {
  if (way.is_complete || way.takes || way.next < way.last_join) return false;
  const auto contributes = [&](std::uint32_t step) { return steps_[step].kind == Kind::contribute; };
  return std::none_of(way.steps.begin() + static_cast<std::ptrdiff_t>(way.next), way.steps.end(),
                      contributes);
}

Status Transfers::complete_if_ready(Way& way) {
  if (!is_ready(way)) return Status();
  const bool is_delivered = way.next < way.steps.size();
  if (!way.piece.out.empty() || is_delivered)
    HOMZ_TRY(handling_->complete(way.piece, job_.travels || is_delivered));
  have_result(way);
  return Status();
}

// The ring form of bcast brings some parts twice.
void Transfers::have_result(Way& way) {
  way.is_complete = true;
  if (way.is_listed) return;
  way.is_listed = true;
  if (way.piece.out.empty())
    ++completed_;
  else
    to_write_.push_back(&way);
}

Result<bool> Transfers::write_one() {
  if (written_ == to_write_.size()) return false;
  Way& way = *to_write_[written_++];
  HOMZ_TRY(handling_->write(way.piece));
  if (way.next == way.steps.size()) way.piece.held.reset();
  ++completed_;
  return true;
}

// Of the pieces that nothing is joined to: they wait until they are sent, or nothing else is to be done.
Result<bool> Transfers::complete_one() {
  while (completing_ < ways_.size()) {
    Way& way = ways_[completing_++];
    if (way.is_complete || way.last_join != 0) continue;
    HOMZ_TRY(complete_if_ready(way));
    if (way.is_complete) return true;
  }
  return false;
}

Result<bool> Transfers::send_one(std::size_t most_under_way) {
  for (Queue& queue : queues_) {
    const std::size_t under_way = channel_->under_way(queue.peer) + queue.outbox.size();
    if (queue.next_send == queue.sends.size() || under_way >= most_under_way) continue;
    if (queue.outbox.size() == kMaking) continue;
    const std::uint32_t step = queue.sends[queue.next_send];
    if (!is_turn(step)) continue;
    ++queue.next_send;
    HOMZ_TRY(send(queue, ways_[steps_[step].piece], steps_[step]));
    return true;
  }
  return false;
}

Status Transfers::send(Queue& queue, Way& way, const Step& step) {
  Piece& piece = way.piece;
  if (step.kind == Kind::deliver) HOMZ_TRY(complete_if_ready(way));
  ++way.next;
  ++steps_done_;
  const bool again = way.next < way.last_join || (!way.takes && !way.is_complete && !piece.out.empty());
  HOMZ_ASSIGN(BlockPtr message, step.kind == Kind::contribute ? handling_->contribute(piece, again)
                                                              : handling_->deliver(piece));
  if (!message->is_sealed) {
    message->frame.piece = piece.id;
    message->frame.values = way.values;
  }
  raw_bytes_ += piece.bytes;
  queue.outbox.push_back(std::move(message));
  HOMZ_TRY(post_made(queue).status());
  return complete_if_ready(way);
}

// In order: behind one that is not made yet others wait.
Result<bool> Transfers::post_made(Queue& queue) {
  bool something_done = false;
  while (!queue.outbox.empty()) {
    HOMZ_ASSIGN(const bool is_made, handling_->is_made(queue.outbox.front()));
    if (!is_made) break;
    HOMZ_TRY(channel_->send(queue.peer, queue.outbox.front()));
    queue.outbox.erase(queue.outbox.begin());
    something_done = true;
  }
  return something_done;
}

Result<bool> Transfers::post_made() {
  bool something_done = false;
  for (Queue& queue : queues_) {
    HOMZ_ASSIGN(const bool is_posted, post_made(queue));
    something_done |= is_posted;
  }
  return something_done;
}

Result<bool> Transfers::send_any() {
  return send_one(std::numeric_limits<std::size_t>::max());
}

Result<bool> Transfers::prepare_one() {
  while (prepared_ < ways_.size()) {
    Way& way = ways_[prepared_++];
    if (way.piece.in.empty() || way.next == way.steps.size()) continue;
    const Kind kind = steps_[way.steps[way.next]].kind;
    if (kind != Kind::join && kind != Kind::contribute) continue;
    HOMZ_ASSIGN(const bool is_prepared, handling_->prepare(way.piece));
    if (is_prepared) return true;
  }
  return false;
}

}  // namespace homz
