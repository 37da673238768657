// Codec 4, homcomp: the codec of homz itself; chunks of bit planes that decode alone and can be added as they
// are. See spec.md.
#pragma once

#include "core/codec.hpp"

namespace homz {
const Codec* homcomp_codec() noexcept;
}
