#include "collectives/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>

#include "core/checksum.hpp"

namespace homz {
namespace {

// News: the number of the call is the frame's; the payload is the code, then the text.
void write_news(std::uint32_t call, const Status& status, Block& block) {
  const std::size_t length = std::min<std::size_t>(status.message().size(), block.capacity() - 1);
  block.room()[0] = static_cast<std::byte>(status.code());
  std::copy_n(reinterpret_cast<const std::byte*>(status.message().data()), length, block.room().begin() + 1);
  block.frame.call.sequence = call;
  block.frame.content = Content::failure;
  block.frame.payload_bytes = static_cast<std::uint32_t>(1 + length);
  block.frame.has_checksum = true;
  block.frame.payload_checksum = checksum(block.payload());
  store(block.frame, block.front());
}

Status read_failure(Block& block, const Frame& frame, std::uint64_t bytes, int from) {
  const ConstBytes payload = block.room().first(std::min<std::uint64_t>(frame.payload_bytes, bytes));
  if (payload.empty() || frame.payload_bytes != bytes || frame.payload_checksum != checksum(payload))
    return Status(Code::corrupt_stream, fmt::format("rank {} reports a failure that cannot be read", from));
  std::string text(reinterpret_cast<const char*>(payload.data()) + 1, payload.size() - 1);
  auto code = static_cast<Code>(payload[0]);
  if (code == Code::ok || code > Code::internal) code = Code::internal;
  return Status(code, std::move(text));
}

}  // namespace

Result<std::unique_ptr<Wire>> Wire::make(std::unique_ptr<Transport> transport, std::uint64_t segment_bytes,
                                         Wire* whole) {
  std::unique_ptr<Wire> wire(new Wire);
  wire->first_ = std::move(transport);
  wire->current_ = wire->first_.get();
  wire->set_segment_bytes(segment_bytes);
  wire->whole_ = whole;
  if (whole == nullptr) HOMZ_TRY(wire->listen());
  return wire;
}

namespace {

// Messages of a failed call may still arrive. A transport that came later could take them for its own where
// it is known by the same number, so one that calls have failed on is never destroyed.
void bury(std::unique_ptr<Transport> transport) {
  static auto* const graves = new std::vector<std::unique_ptr<Transport>>;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  graves->push_back(std::move(transport));
}

}  // namespace

Wire::~Wire() {
  hang_up();
  const bool has_failed = !failure().ok();
  if (has_failed && renewed_) bury(std::move(renewed_));
  if (has_failed || has_been_renewed_) bury(std::move(first_));
}

Status Wire::listen() {
  heard_ = std::make_unique<News>(std::make_shared<Block>(kNewsBytes));
  return current_->receive(heard_->block->whole(), kAnyRank, kNewsTag, &heard_->pending);
}

Status Wire::check(std::uint32_t call) const {
  if (whole_ != nullptr) return whole_->check(call);
  return failure_.ok() || call < failed_call_ ? Status() : failure_;
}

Status Wire::poll(std::uint32_t call) {
  HOMZ_TRY(current_->poll());
  if (whole_ != nullptr) return whole_->poll(call);
  if (heard_ != nullptr && heard_->pending.done) HOMZ_TRY(hear());
  return check(call);
}

// A failure, or a question.
Status Wire::hear() {
  const BlockPtr news = heard_->block;
  const auto [done, bytes, from] = heard_->pending;
  HOMZ_TRY(listen());
  const Result<Frame> frame = load_frame(news->whole().first(bytes));
  if (!frame.ok()) {
    static_cast<void>(fail(0, frame.status().within(fmt::format("news of rank {}", from))));
    return Status();
  }
  const std::uint32_t number = frame->call.sequence;
  if (frame->content != Content::question)
    return remember(number, read_failure(*news, *frame, bytes - Frame::kBytes, from));
  if (number > calls_) {
    asked_early_.emplace_back(frame->call, from);
    return Status();
  }
  const Status status = compare(frame->call, from);
  if (!status.ok()) static_cast<void>(fail(number, status));
  return Status();  // whether it concerns the call that waits is for check() to say
}

// The failure of the earliest call counts.
Status Wire::remember(std::uint32_t call, const Status& status) {
  if (!failure_.ok() && failed_call_ <= call) return Status();
  failure_ = status;
  failed_call_ = call;
  return Status();
}

Status Wire::compare(const CallSignature& theirs, int from) const {
  const auto own = std::ranges::find(begun_, theirs.sequence, &CallSignature::sequence);
  if (own == begun_.end() || *own == theirs) return Status();
  return disagreement(*own, rank(), theirs, from);
}

Status Wire::begin_call(CallSignature& call) {
  call.sequence = next_call();
  call.history = history_;
  history_ = digest_of(call);
  if (begun_.size() == kKept) begun_.pop_front();
  begun_.push_back(call);
  Status status = check(call.sequence);
  for (const auto& [theirs, from] : asked_early_)
    if (status.ok() && theirs.sequence == call.sequence) status = compare(theirs, from);
  std::erase_if(asked_early_, [&](const auto& asked) { return asked.first.sequence <= call.sequence; });
  return status;
}

void Wire::ask(std::uint32_t sequence, int peer) {
  if (whole_ != nullptr) {
    for (int r = 0; r < whole_->size(); ++r)
      if (r != whole_->rank()) whole_->ask(sequence, r);
    return;
  }
  const auto own = std::ranges::find(begun_, sequence, &CallSignature::sequence);
  if (own == begun_.end()) return;
  const BlockPtr question = std::make_shared<Block>(0);
  question->frame.call = *own;
  question->frame.content = Content::question;
  store(question->frame, question->front());
  tell(peer, question);
}

// What cannot be sent is not told: there is nobody to report it to.
void Wire::tell(int rank, BlockPtr news) {
  while (!told_.empty() && told_.front().pending.done) told_.pop_front();
  News& told = told_.emplace_back(std::move(news));
  if (!current_->send(told.block->message(), told.block, rank, kNewsTag, &told.pending).ok())
    told_.pop_back();
}

Status Wire::fail(std::uint32_t call, const Status& status) {
  if (whole_ != nullptr) return whole_->fail(call, status);
  const Status known = check(call);
  if (!known.ok() || status.ok()) return known;
  HOMZ_TRY(remember(call, status));
  const BlockPtr news = std::make_shared<Block>(kNewsBytes);
  write_news(call, status, *news);
  for (int r = 0; r < size(); ++r)
    if (r != rank()) tell(r, news);
  static_cast<void>(current_->poll());
  return failure_;
}

// News that have not left yet get a moment to do so.
void Wire::hang_up() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(told_.empty() ? 0 : 1);
  const auto all_left = [&] {
    return std::ranges::all_of(told_, [](const News& n) { return n.pending.done; });
  };
  while (!all_left() && Clock::now() < until && current_->poll().ok()) current_->yield();
  for (News& news : told_)
    if (!news.pending.done) current_->abandon(&news.pending);
  told_.clear();
  if (heard_ != nullptr && !heard_->pending.done) current_->abandon(&heard_->pending);
  heard_.reset();
}

Status Wire::renew() {
  hang_up();
  current_->give_up();
  std::vector<int> all(static_cast<std::size_t>(first_->size()));
  std::iota(all.begin(), all.end(), 0);
  auto renewed = first_->group(all);
  HOMZ_TRY(renewed.status());
  if (renewed_) bury(std::move(renewed_));
  has_been_renewed_ = true;
  renewed_ = std::move(*renewed);
  current_ = renewed_.get();
  failure_ = Status();
  calls_ = history_ = 0;
  begun_.clear();
  asked_early_.clear();
  return listen();
}

}  // namespace homz
