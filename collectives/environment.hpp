// Variables of the environment, by which users tell homz what to do from outside a program.
#pragma once

#include <optional>

#include "core/status.hpp"

namespace homz {

// nullptr, if it leaves the choice to homz: not set, empty or "auto".
const char* environment_variable(const char* name);

// Of one that says yes or no, 1 or 0. Errors: invalid_argument for other values.
Result<std::optional<bool>> environment_yes_or_no(const char* name);

}  // namespace homz
