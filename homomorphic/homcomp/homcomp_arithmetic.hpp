// Arithmetic on payloads of homcomp: codecs/homcomp/spec.md, "Linear combinations of streams".
#pragma once

#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

const CodecArithmetic* homcomp_arithmetic() noexcept;

}  // namespace homz
