// Numbers of bytes and of values on the command lines of all programs. A letter alone counts in powers of
// 1024, as in GNU's tools.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/field.hpp"
#include "core/status.hpp"

namespace homz {

// For --help.
inline constexpr const char* kUnitsOfBytes =
    "KiB, MiB, GiB, TiB or K, M, G, T: powers of 1024; kB, MB, GB, TB: of 1000";

// A whole number, alone or with one of these units. `option` is named in errors.
Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view text);
// The same, but of values: with K, M, G, T only.
Result<std::uint64_t> parse_count(std::string_view option, std::string_view text);

// Bytes of a vector: up to 1 TiB.
Result<std::uint64_t> parse_size(std::string_view option, std::string_view text);
// Error, with the next sizes that will do, unless they are whole values of the type.
Status check_whole(std::string_view option, std::uint64_t bytes, Dtype dtype);

}  // namespace homz
