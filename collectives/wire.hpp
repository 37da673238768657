// A rank's side of a communicator: the transport, memory for messages, and what happens when a call fails.
//
// A rank that finds something wrong tells all others, who look for such news whenever they wait. So all ranks
// get the error, whoever waits for whom, and none hangs. Who waits long asks those it waits for.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "collectives/block.hpp"
#include "collectives/transport.hpp"

namespace homz {

class Wire {
 public:
  // `whole`: the wire of which this one joins some ranks; news go there. It must outlive this one.
  static Result<std::unique_ptr<Wire>> make(std::unique_ptr<Transport> transport, std::uint64_t segment_bytes,
                                            Wire* whole = nullptr);
  ~Wire();

  Transport& transport() { return *current_; }
  int rank() const { return current_->rank(); }
  int size() const { return current_->size(); }
  BlockPool& pool() { return pool_; }
  std::uint64_t segment_bytes() const { return segment_bytes_; }
  void set_segment_bytes(std::uint64_t bytes) {
    segment_bytes_ = std::max<std::uint64_t>(bytes, 2 * Frame::kBytes);
  }

  // The next call's number; calls are numbered alike on all ranks.
  std::uint32_t next_call() { return ++calls_; }
  std::uint32_t last_call() const { return calls_; }
  // Numbers a call, and keeps it for ranks that ask. Error: one has asked already, and calls something else.
  Status begin_call(CallSignature& call);
  // Asks a rank that is waited for whether it calls the same; if not, it tells all. Ranks that disagree can
  // wait for each other, and for messages that never come. Of a part of a whole: asks all of the whole.
  void ask(std::uint32_t sequence, int peer);
  // Whether a call of this number can go on: a rank that is behind the others still finishes the calls before
  // the one that failed.
  Status check(std::uint32_t call) const;
  // Of the earliest call that has failed: who waits for long in a call before it, waits in vain.
  std::uint32_t failed_call() const { return whole_ != nullptr ? whole_->failed_call() : failed_call_; }
  const Status& failure() const { return whole_ != nullptr ? whole_->failure() : failure_; }
  // Moves messages on. Error: as of check().
  Status poll(std::uint32_t call);
  // Tells the others that this call has failed on this rank, and returns what all are told.
  Status fail(std::uint32_t call, const Status& status);
  // After a failure, by all ranks; what was under way must be gone.
  Status renew();

 private:
  Wire() = default;
  Status listen();
  Status hear();
  Status remember(std::uint32_t call, const Status& status);
  Status compare(const CallSignature& theirs, int from) const;
  void tell(int rank, BlockPtr news);
  void hang_up();

  struct News {
    explicit News(BlockPtr block) : block(std::move(block)) {}
    BlockPtr block;
    Pending pending;
  };
  static constexpr std::uint64_t kNewsBytes = 1024;
  static constexpr int kNewsTag = 32767;

  std::unique_ptr<Transport> first_, renewed_;
  bool has_been_renewed_ = false;
  Transport* current_ = nullptr;
  Wire* whole_ = nullptr;
  BlockPool pool_;
  std::uint64_t segment_bytes_ = 0;
  std::uint32_t calls_ = 0, history_ = 0;
  static constexpr std::size_t kKept = 256;
  std::deque<CallSignature> begun_;                         // the last calls, by rising number
  std::vector<std::pair<CallSignature, int>> asked_early_;  // of calls that have not begun here
  Status failure_;
  std::uint32_t failed_call_ = 0;
  std::unique_ptr<News> heard_;
  std::deque<News> told_;
};

}  // namespace homz
