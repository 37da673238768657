// Codec 0, identity: the values as they are. The baseline of every comparison, and "do not compress" as a
// choice.
#pragma once

#include "core/codec.hpp"

namespace homz {
const Codec* identity_codec() noexcept;
}
