#include "collectives/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/checksum.hpp"

namespace homz {
namespace {

// News: the code, then the text.
void write_news(const Status& status, std::uint32_t call, Block& block) {
  const std::size_t length = std::min<std::size_t>(status.message().size(), block.capacity() - 1);
  block.room()[0] = static_cast<std::byte>(status.code());
  std::copy_n(reinterpret_cast<const std::byte*>(status.message().data()), length, block.room().begin() + 1);
  block.frame.content = Content::failure;
  block.frame.call.sequence = call;
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

Wire::~Wire() {
  hang_up();
}

Status Wire::listen() {
  heard_ = std::make_unique<News>(std::make_shared<Block>(kNewsBytes));
  return current_->receive(heard_->block->whole(), kAnyRank, kNewsTag, &heard_->pending);
}

Status Wire::poll() {
  HOMZ_TRY(current_->poll());
  if (whole_ != nullptr) return whole_->poll();
  if (heard_ != nullptr && heard_->pending.done && failure_.ok()) HOMZ_TRY(hear());
  if (failure_.ok() && early_.first <= calls_) failure_ = early_.second;
  return failure_;
}

// A failure, or a question.
Status Wire::hear() {
  const auto [done, bytes, from] = heard_->pending;
  const Result<Frame> frame = load_frame(heard_->block->whole().first(bytes));
  if (!frame.ok()) return failure_ = frame.status().within(fmt::format("news of rank {}", from));
  if (frame->content != Content::question) {
    const Status status = read_failure(*heard_->block, *frame, bytes - Frame::kBytes, from);
    if (!begun_.empty()) return failure_ = status;
    early_ = {frame->call.sequence, status};
    return Status();
  }
  HOMZ_TRY(listen());
  if (frame->call.sequence > calls_) {
    asked_early_.emplace_back(frame->call, from);
    return Status();
  }
  return fail(compare(frame->call, from));
}

Status Wire::compare(const CallSignature& theirs, int from) const {
  const auto own = std::ranges::find(begun_, theirs.sequence, &CallSignature::sequence);
  if (own == begun_.end() || *own == theirs) return Status();
  return disagreement(*own, rank(), theirs, from);
}

Status Wire::begin_call(CallSignature& call) {
  call.history = history_;
  history_ = digest_of(call);
  if (early_.first <= call.sequence && !early_.second.ok()) return failure_ = early_.second;
  if (begun_.size() == kKept) begun_.pop_front();
  begun_.push_back(call);
  Status status;
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

Status Wire::fail(const Status& status) {
  if (whole_ != nullptr) return whole_->fail(status);
  if (!failure_.ok() || status.ok()) return failure_;
  failure_ = status;
  const BlockPtr news = std::make_shared<Block>(kNewsBytes);
  write_news(status, calls_, *news);
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
  std::vector<int> all(static_cast<std::size_t>(first_->size()));
  std::iota(all.begin(), all.end(), 0);
  renewed_.reset();
  HOMZ_ASSIGN(renewed_, first_->group(all));
  current_ = renewed_.get();
  failure_ = Status();
  calls_ = history_ = 0;
  ++generation_;
  begun_.clear();
  asked_early_.clear();
  early_ = {};
  return listen();
}

}  // namespace homz
