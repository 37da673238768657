// Codec 3, cuszp2: the block codes of cuSZp's second and third versions (SC'24, SC'25), with the error bound
// kept: three modes, in one, two or three dimensions. See spec.md.
#pragma once

#include "core/codec.hpp"

namespace homz {
const Codec* cuszp2_codec() noexcept;
}
