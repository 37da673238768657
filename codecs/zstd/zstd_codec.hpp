// Codec 1, zstd: the lossless baseline, with or without the byte shuffle. See spec.md for its payload.
#pragma once

#include "core/codec.hpp"

namespace homz {
const Codec* zstd_codec() noexcept;
}
