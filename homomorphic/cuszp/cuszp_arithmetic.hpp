// Arithmetic on payloads of cuszp and cuszp2, in all their modes and layouts.
#pragma once

#include "homomorphic/codec_arithmetic.hpp"

namespace homz {

const CodecArithmetic* cuszp_arithmetic() noexcept;
const CodecArithmetic* cuszp2_arithmetic() noexcept;

}  // namespace homz
