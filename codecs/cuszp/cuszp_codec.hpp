// Codec 2, cuszp: the block code of cuSZp's first version (SC'23), with the error bound kept. See spec.md.
#pragma once

#include "core/codec.hpp"

namespace homz {
const Codec* cuszp_codec() noexcept;
}
