// The codecs that come with homz.
#pragma once

#include "core/registry.hpp"

namespace homz {

inline constexpr const char* kDefaultCodec = "homcomp";  // for users who give an error bound only

// A registry of all built-in codecs; programs add their own to it before they use it.
Registry& registry();

}  // namespace homz
