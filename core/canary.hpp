// Tests at run time what the error bound rests on and the preprocessor cannot see.
#pragma once

#include "core/status.hpp"

namespace homz {

// Fails, naming the remedy, in a build that fuses a * b + c into one rounding. encode_stream and
// decode_stream call it; it costs a few nanoseconds. (Flushing of subnormals and the rounding mode are no
// matter of the build: FpEnvironment sets them.)
Status check_arithmetic();

}  // namespace homz
