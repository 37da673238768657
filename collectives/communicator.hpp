// Collectives on buffers of the host or a GPU, with MPI's semantics: what homz::collectives is for.
//
// All ranks of a communicator make the same calls in the same order, with the same arguments but for buffers.
// Where arguments differ, every rank gets an error that names two ranks and what they asked for. Data of one
// rank that is bad (NaN, infinities, incompressible) is no error. After an error a communicator refuses
// further calls; renew() makes it usable again.
//
// The error of every value of the result is at most options.abs_error; all ranks get the same bits. Sums of
// homomorphic schemes have the same bits whatever the algorithm, as long as no value is stored exactly
// (docs/collectives.md, "Reproducibility").
//
// Buffers are of whole values, aligned to them. `in` and `out` may be the same memory (in place) where they
// have the same extent; else they do not overlap. The functions do not throw.
#pragma once

#include <memory>
#include <span>

#include "collectives/request.hpp"
#include "collectives/transport.hpp"
#include "core/memory.hpp"

namespace homz {

struct Profile;   // collectives/profile.hpp
class Operation;  // collectives/operation.hpp

// A call under way. The buffers belong to it until it is done. To give it up before it is done is an error on
// all ranks; so is its communicator's end.
class Ongoing {
 public:
  Ongoing() noexcept;
  explicit Ongoing(std::unique_ptr<Operation> operation) noexcept;
  Ongoing(Ongoing&&) noexcept;
  Ongoing& operator=(Ongoing&&) noexcept;
  ~Ongoing();
  // Moves all calls of the communicator on; true when this one is done. Data only moves during test() and
  // wait(), and during blocking calls. After an error both say it again.
  Result<bool> test();
  Status wait();

 private:
  std::unique_ptr<Operation> operation_;
};

// A call that is made again and again with the same buffers: what to do is chosen once, memory is kept.
class AllreducePlan {
 public:
  // One at a time. The data may change between calls.
  Result<Ongoing> start();
  Algorithm algorithm() const noexcept;
  Scheme scheme() const noexcept;
  const std::string& reason() const noexcept;

  AllreducePlan(AllreducePlan&&) noexcept;
  AllreducePlan& operator=(AllreducePlan&&) noexcept;
  ~AllreducePlan();

 private:
  friend class Communicator;
  class State;
  explicit AllreducePlan(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

class Communicator {
 public:
  // Called by all ranks of the transport. Rank 0's profile holds for all. A rank that is silent for
  // `timeout_seconds` meanwhile is an error; 0: waits for ever. Calls have their own, in their options.
  static Result<Communicator> make(std::unique_ptr<Transport> transport, const Profile& profile,
                                   double timeout_seconds = 0);
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const noexcept;
  int size() const noexcept;

  // ---- Reductions; op: sum, average, min, max, prod.

  Status allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op, const CollectiveOptions& options);
  // `out`: the root's only.
  Status reduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op, int root,
                const CollectiveOptions& options);
  // Rank r gets counts[r] values of the result, in order of the ranks.
  Status reduce_scatter(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                        ReduceOp op, const CollectiveOptions& options);
  // The same with equal counts: in is size() times out.
  Status reduce_scatter_block(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                              const CollectiveOptions& options);

  // ---- Movement. Every rank, the source included, gets the values that the compressed ones decode to.

  Status bcast(Bytes data, Dtype dtype, int root, const CollectiveOptions& options);
  // in: own values; out: all. In place: in is its own place in out.
  Status allgather(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options);
  Status allgatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype,
                    const CollectiveOptions& options);
  // in of scatter, out of gather: the root's only.
  Status scatter(ConstBytes in, Bytes out, Dtype dtype, int root, const CollectiveOptions& options);
  Status gather(ConstBytes in, Bytes out, Dtype dtype, int root, const CollectiveOptions& options);
  // counts: on all ranks.
  Status scatterv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype, int root,
                  const CollectiveOptions& options);
  Status gatherv(ConstBytes in, Bytes out, std::span<const std::uint64_t> counts, Dtype dtype, int root,
                 const CollectiveOptions& options);
  // Equal blocks, in order of the ranks.
  Status alltoall(ConstBytes in, Bytes out, Dtype dtype, const CollectiveOptions& options);
  // send_counts[r] values go to rank r, receive_counts[r] come from it, both in order of the ranks.
  Status alltoallv(ConstBytes in, std::span<const std::uint64_t> send_counts, Bytes out,
                   std::span<const std::uint64_t> receive_counts, Dtype dtype,
                   const CollectiveOptions& options);

  // ---- Non-blocking. Several calls may be under way; every rank starts them in the same order.

  Result<Ongoing> start_allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                  const CollectiveOptions& options);

  // Looks at the data that `in` has now. The plan must not outlive the communicator.
  Result<AllreducePlan> plan_allreduce(ConstBytes in, Bytes out, Dtype dtype, ReduceOp op,
                                       const CollectiveOptions& options);

  // All ranks call it after an error; what was under way is given up.
  Status renew();

 private:
  friend class AllreducePlan;
  class State;
  explicit Communicator(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace homz
