// Runs a schedule: pieces go on as soon as they can, in the order of the transfers, and work on one piece
// overlaps with the messages of others.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/handling.hpp"
#include "collectives/operation.hpp"
#include "collectives/schedule.hpp"

namespace homz {

// A part of the data, on this rank.
struct Part {
  PartId id = 0;  // as all ranks number it
  ConstBytes in;
  Bytes out;
  std::uint64_t bytes = 0;  // of its values; in and out are empty or so long
};

// Bytes of a part's pieces: `wanted`, or a multiple of it. More messages than these take longer to keep track
// of than to send; and Open MPI 4.1, which counts them by 16 bits, gets more than 65536 at once out of order.
constexpr std::uint64_t piece_bytes_of(std::uint64_t part_bytes, std::uint64_t wanted) {
  constexpr std::uint64_t kMostPieces = 4096;
  return wanted * std::max<std::uint64_t>(1, ceil_div(ceil_div(part_bytes, wanted), kMostPieces));
}

// A collective, ready to run.
struct Job {
  CallSignature call;
  std::vector<Part> parts;
  Schedule schedule;              // of parts by their position
  bool travels = false;           // what some rank keeps, another gets as a message: both must be the same
  std::uint64_t piece_bytes = 0;  // of values, as wanted
  double timeout_seconds = 0;
};

class Transfers final : public Operation {
 public:
  // *report, if there is one, gets what this adds to it when it is done.
  Transfers(Wire& wire, Job job, std::unique_ptr<Handling> handling, CallReport* report);
  ~Transfers() override;

  Result<bool> advance() override;

 private:
  using Clock = std::chrono::steady_clock;
  using Kind = Transfer::Kind;

  // One piece of one transfer.
  struct Step {
    Kind kind;
    int peer;
    std::uint32_t piece;
  };
  // A piece and its steps in order, as positions in steps_.
  struct Way {
    Piece piece;
    std::uint32_t values = 0;  // of the part, its low bits: what ranks must agree on
    std::vector<std::uint32_t> steps;
    std::size_t next = 0;
    std::size_t last_join = 0;  // 1 + position among the steps; 0: none
    bool takes = false;
    bool is_complete = false;  // the result is here
    bool is_listed = false;    // to be written
  };
  // Steps with one peer, in order.
  struct Queue {
    int peer;
    std::vector<std::uint32_t> sends, receives;
    std::size_t next_send = 0, next_receive = 0;
    std::vector<BlockPtr> outbox = {};  // a few messages that may still be in the making
  };

  void cut_into_pieces();
  void lay_out_steps();
  Queue& queue_of(int peer);
  Status begin();
  Result<bool> work();
  Result<bool> receive_one();
  Result<bool> send_one(std::size_t most_under_way);
  Result<bool> send_any();
  Result<bool> post_made();
  Result<bool> post_made(Queue& queue);
  Result<bool> is_done_here();
  Result<bool> prepare_one();
  Result<bool> complete_one();
  Result<bool> write_one();
  Status check(const Way& way, const Step& step, const Frame& frame) const;
  Status receive(Way& way, const Step& step, BlockPtr message);
  Status send(Queue& queue, Way& way, const Step& step);
  bool is_ready(const Way& way) const;
  Status complete_if_ready(Way& way);
  void have_result(Way& way);
  bool is_turn(std::uint32_t step) const;
  Status wait(bool something_done);
  void tell() const;

  Wire& wire_;
  Job job_;
  std::unique_ptr<Handling> handling_;
  std::vector<std::vector<std::uint32_t>> pieces_;  // of each part
  std::vector<Way> ways_;
  std::vector<Step> steps_;
  std::vector<Queue> queues_;
  std::unique_ptr<Channel> channel_;
  bool has_begun_ = false, is_over_ = false;
  std::size_t steps_done_ = 0, prepared_ = 0, completing_ = 0,
              completed_ = 0;  // completed: written, if wanted
  std::vector<Way*> to_write_;
  std::size_t written_ = 0;    // of those
  std::uint64_t longest_ = 0;  // bytes of a piece
  std::uint64_t raw_bytes_ = 0;
  double wait_seconds_ = 0;
  bool is_idle_ = false, has_asked_ = false;
  Clock::time_point idle_since_{};
  CallReport* report_;
};

}  // namespace homz
