// How pieces are handled by the schemes of request.hpp.
#pragma once

#include "collectives/coder.hpp"
#include "collectives/handling.hpp"
#include "collectives/request.hpp"

namespace homz {

// What is reduced; op none: data only moves.
struct Reduction {
  ReduceOp op = ReduceOp::none;
  Dtype dtype = Dtype::f32;
  int ranks = 1;
};

// Values as they are.
std::unique_ptr<Handling> plain_handling(const Reduction& reduction, Processor& processor, BlockPool& pool,
                                         bool checksums);

// ccoll: decoded where it is reduced, encoded where it is sent, passed on as it came where it is moved.
// cprp2p: decoded and encoded there, too.
std::unique_ptr<Handling> decoding_handling(const Reduction& reduction, Coder coder, bool every_hop);

// hzccl and the homcomp_ schemes: sums, averages and extrema of streams.
std::unique_ptr<Handling> homomorphic_handling(const Reduction& reduction, Coder coder, Scheme scheme);

}  // namespace homz
