// From the bound of the result to what each quantisation may spend. docs/collectives.md, "Bounds", has the
// derivation.
#pragma once

#include "collectives/record.hpp"
#include "collectives/request.hpp"

namespace homz {

struct BoundedCall {
  Collective collective = Collective::allreduce;
  ReduceOp op = ReduceOp::none;
  Dtype dtype = Dtype::f32;
  Algorithm algorithm = Algorithm::ring;
  Scheme scheme = Scheme::ccoll;
  int ranks = 1;           // that compress: of two_level, the nodes
  int ranks_per_node = 1;  // of two_level: that add uncompressed before
  double abs_error = 0;
  double sigmas = 0;
};

struct Spending {
  double share = 0;  // bound of each quantisation
  double step = 0;   // between quanta, for codecs that can be told; 0: theirs to choose
};

// Error: unsupported, where the roundings of the uncompressed operation alone take more than half the bound,
// or quanta would have too many bits: then the call must run uncompressed.
Result<Spending> spend(const BoundedCall& call, const Record& data);

}  // namespace homz
