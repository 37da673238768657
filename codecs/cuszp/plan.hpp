// How a field is coded: what the stream's parameters say, and what follows from them and the field.
#pragma once

#include "codecs/cuszp/block_math.hpp"
#include "core/codec.hpp"

namespace homz::cuszp {

struct Plan {
  Mode mode = Mode::plain;
  // 1, 2 or 3, at most the rank of the field without unit extents; 0: whichever is smallest
  unsigned dim = 1;
  bool v1 = false;  // upstream's first layout: blocks unpadded, the last one filled up with quanta of 0
  bool never_stored = false;  // keep this layout even where it is larger than the data
  double step = 0;            // between what quanta stand for; 0: twice the bound
};

// The codec's options, as the parameters of a stream hold them: spec.md, "Parameters". Those of codec cuszp,
// or of cuszp2.
CodecParams pack(const Plan& plan);
Result<Plan> unpack(const CodecParams& params, bool v1);

// For descriptions: empty unless a step was given.
std::string step_text(const Plan& plan);

// Refuses what does not suit the field.
Result<Plan> plan_of(const Encoding& encoding, bool v1);

// What upstream would call the bound: half the step.
inline double half_step(const Encoding& encoding, const Plan& plan) {
  return plan.step != 0 ? plan.step / 2 : encoding.abs_error;
}

}  // namespace homz::cuszp
