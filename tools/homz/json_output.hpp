// JSON of the reports: always valid, whatever names and numbers are in the data.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/error_bound.hpp"

namespace homz::cli {

using Json = nlohmann::ordered_json;

// Infinities and NaN as the strings "inf", "-inf" and "nan"; null where there is no value.
Json json_number(double value);
Json json_number(const std::optional<double>& value);
Json json_bound(
    const ErrorBound& bound);  // {"mode": "relative to the value range", "value": 0.001, "text": "rel:0.001"}
Json json_ratio(std::uint64_t original, std::uint64_t stored);

// Prints it with a newline; bytes that are no UTF-8 are replaced.
void print_json(const Json& json);

}  // namespace homz::cli
