// What to tell a user whose bound suits a field badly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error_bound.hpp"
#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/registry.hpp"
#include "core/stream_header.hpp"

namespace homz::cli {

// A bound that depends on a value range which a few outliers stretch; or nothing. `range` is that of the data
// without the fill value, `abs_error` the bound that resulted.
std::optional<std::string> outliers_in(const Field& field, ConstBytes data,
                                       std::optional<std::uint64_t> fill_bits, const ErrorBound& bound,
                                       const ValueRange& range, double abs_error);

// A step that was asked for, of more than twice the bound, so that many values are stored exactly; or one so
// short that the codec stored all; or nothing.
std::optional<std::string> unsuitable_step(const CodecChoice& choice, double abs_error,
                                           const ValueRange& range, Representation representation);

// An absolute bound that is larger than the value range; or nothing.
std::optional<std::string> flattened(const ErrorBound& bound, const ValueRange& range);

}  // namespace homz::cli
