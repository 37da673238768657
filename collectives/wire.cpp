#include "collectives/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>

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
  store(block.frame, block.front());
}

Status read_news(Block& block, std::uint64_t bytes, int from, std::uint32_t* call) {
  const auto frame = load_frame(block.whole().first(bytes));
  if (!frame.ok() || frame->content != Content::failure || frame->payload_bytes == 0 ||
      frame->payload_bytes > bytes - Frame::kBytes)
    return Status(Code::corrupt_stream, fmt::format("rank {} reports a failure that cannot be read", from));
  *call = frame->call.sequence;
  const ConstBytes payload = block.room().first(frame->payload_bytes);
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
  const bool has_failed = whole_ != nullptr ? !whole_->failure_.ok() : !failure_.ok();
  if (has_failed && renewed_) bury(std::move(renewed_));
  if (has_failed || has_been_renewed_) bury(std::move(first_));
}

Status Wire::listen() {
  heard_ = std::make_unique<News>();
  return current_->receive(heard_->block->whole(), kAnyRank, kNewsTag, &heard_->pending);
}

Status Wire::check(std::uint32_t call) const {
  if (whole_ != nullptr) return whole_->check(call);
  return failure_.ok() || call < failed_call_ ? Status() : failure_;
}

Status Wire::poll(std::uint32_t call) {
  HOMZ_TRY(current_->poll());
  if (whole_ != nullptr) return whole_->poll(call);
  if (heard_ != nullptr && heard_->pending.done) {
    std::uint32_t failed = call;
    const Status status = read_news(*heard_->block, heard_->pending.bytes, heard_->pending.from, &failed);
    if (failure_.ok() || failed < failed_call_) {
      failure_ = status;
      failed_call_ = failed;
    }
    HOMZ_TRY(listen());
  }
  return check(call);
}

Status Wire::fail(std::uint32_t call, const Status& status) {
  if (whole_ != nullptr) return whole_->fail(call, status);
  const Status known = check(call);
  if (!known.ok()) return known;
  failure_ = status;
  failed_call_ = call;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    News& news = told_.emplace_back();
    write_news(call, status, *news.block);
    if (!current_->send(news.block->message(), news.block, r, kNewsTag, &news.pending).ok()) told_.pop_back();
  }
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
  auto renewed = first_->group(all);
  HOMZ_TRY(renewed.status());
  if (renewed_) bury(std::move(renewed_));
  has_been_renewed_ = true;
  renewed_ = std::move(*renewed);
  current_ = renewed_.get();
  failure_ = Status();
  calls_ = 0;
  return listen();
}

}  // namespace homz
