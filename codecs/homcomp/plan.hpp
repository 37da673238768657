// How a field is coded: what the stream's parameters say, and what follows from them and the field.
#pragma once

#include "core/codec.hpp"

namespace homz::homcomp {

// The codec's options, as the parameters of a stream hold them: spec.md, "Parameters".
struct Settings {
  unsigned dim = 0;  // 0: by the rank of the field
  bool no_magnitude = false;
  double step = 0;  // 0: by the bound
};

CodecParams pack(const Settings& settings);
Result<Settings> unpack(const CodecParams& params);

// How a field is coded, as far as the field itself does not tell.
struct Plan {
  unsigned dim = 1;           // 1, 2 or 3; at most the rank of the field without unit extents
  bool use_magnitude = true;  // shorten the step by what rounding costs at the largest magnitude
  double step = 0;            // if not 0, this one
};

Result<Plan> plan_of(const Encoding& encoding);

}  // namespace homz::homcomp
