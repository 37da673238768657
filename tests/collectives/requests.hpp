// Calls of any collective, as data: what each rank asks for, and what it gets.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/collectives/ranks.hpp"

namespace homz::test {

inline constexpr Collective kAllCollectives[] = {
    Collective::allreduce, Collective::reduce_scatter, Collective::reduce, Collective::allgather,
    Collective::bcast,     Collective::scatter,        Collective::gather, Collective::alltoall};

inline constexpr Scheme kAllSchemes[] = {Scheme::plain,        Scheme::cprp2p,        Scheme::ccoll,
                                         Scheme::hzccl,        Scheme::homcomp_ahead, Scheme::homcomp_step,
                                         Scheme::homcomp_fused};
// Streams cannot be multiplied, and the fused scheme only adds.
bool can_do(Scheme scheme, ReduceOp op);
// Of a test whose parameter is one.
std::string scheme_name(const testing::TestParamInfo<Scheme>& info);

// Plain calls have no bound.
CollectiveOptions options_of(Algorithm algorithm, Scheme scheme, double bound = 1e-3);

struct Request {
  Collective collective = Collective::allreduce;
  std::uint64_t count = 0;  // of a rank's block; of allreduce, reduce and bcast: of the whole
  Algorithm algorithm = Algorithm::automatic;
  Scheme scheme = Scheme::automatic;
  ReduceOp op = ReduceOp::sum;
  Dtype dtype = Dtype::f32;
  int root = 0;
  double abs_error = 0;
  CollectiveOptions options = {};  // what the fields above do not say
};

std::ostream& operator<<(std::ostream& out, const Request& request);
// With a bound of 1e-3, unless it is plain, in pieces of 64 Ki values; `op` where there is one.
Request request_of(Collective collective, std::uint64_t count, Algorithm algorithm, Scheme scheme,
                   ReduceOp op = ReduceOp::sum, Dtype dtype = Dtype::f32);

struct Answer {
  Status status;
  std::vector<std::byte> out;
  CallReport report;
};

// On data that differ from rank to rank, ranks.hpp's.
Answer perform(Communicator& communicator, const Request& request);

// The collective on copies of the buffers in that space.
Status run_in(Space space, ConstBytes in, Bytes out,
              const std::function<Status(ConstBytes, Bytes)>& collective);

// By rank.
using Answers = std::vector<Answer>;
Answers perform_on(int ranks, const Request& request);

// Ends the program if it is not destroyed in time: a hang is a failure like any other, but cannot be caught.
class Watchdog {
 public:
  explicit Watchdog(int seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex guard_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace homz::test
