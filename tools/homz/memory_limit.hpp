// The most data that a stream may declare.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.hpp"
#include "tools/homz/arguments.hpp"

namespace homz::cli {

// --max-bytes.
struct LimitArgument {
  Argument max_bytes;

  void add_to(CLI::App& command);
  Result<std::optional<std::uint64_t>> parse() const;
};

// A stream that declares absurdly much is hostile or not for this machine: it is refused before memory is
// taken. Without a limit the machine's memory is one.
Status check_limit(std::uint64_t declared, std::optional<std::uint64_t> limit);

}  // namespace homz::cli
