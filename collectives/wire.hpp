// A rank's side of a communicator: the transport, memory for messages, and what happens when a call fails.
//
// A rank that finds something wrong tells all others, who look for such news whenever they wait. So all ranks
// get the error, whoever waits for whom, and none hangs.
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

  // Whether a call of this number can go on: a rank that is behind the others still finishes the calls before
  // the one that failed.
  Status check(std::uint32_t call) const;
  // Moves messages on. Error: as of check().
  Status poll(std::uint32_t call);
  // Tells the others that this call has failed on this rank, and returns what all are told.
  Status fail(std::uint32_t call, const Status& status);
  // After a failure, by all ranks; what was under way must be gone.
  Status renew();

 private:
  Wire() = default;
  Status listen();
  void hang_up();

  struct News {
    BlockPtr block = std::make_shared<Block>(kNewsBytes);
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
  std::uint32_t calls_ = 0;
  Status failure_;
  std::uint32_t failed_call_ = 0;
  std::unique_ptr<News> heard_;
  std::deque<News> told_;
};

}  // namespace homz
