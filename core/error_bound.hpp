// The error bound as a user states it, and its resolution to one absolute number before any codec runs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/exec.hpp"
#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

enum class BoundMode : std::uint8_t {  // the values are part of the stream format
  lossless = 0,                        // every value returns bit for bit
  absolute = 1,                        // |x - x'| <= value, in units of the data
  relative =
      2,     // |x - x'| <= value * (max - min) over finite, unmasked values: SZ's REL, cuSZ's r2r, PFPL's NOA
  psnr = 3,  // 20 log10((max - min) / RMSE) >= value, in dB
};

struct ErrorBound {
  BoundMode mode = BoundMode::absolute;
  double value = 0;
  friend bool operator==(const ErrorBound&, const ErrorBound&) = default;
};

// Parses "abs:1e-3", "rel:1e-4", "psnr:60", "lossless"; the number is the double nearest to its text.
Result<ErrorBound> parse_error_bound(std::string_view text);
std::string to_string(
    const ErrorBound& bound);              // the inverse, shortest text that parses back to the same bits
Status validate(const ErrorBound& bound);  // refuses 0, negative, NaN and infinite values

// Extremes of the finite values that are not fill; min > max where there are none.
struct ValueRange {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  std::uint64_t finite = 0;      // values that count
  std::uint64_t non_finite = 0;  // NaN and infinities
  std::uint64_t fill = 0;        // values equal, bit for bit, to the fill value
  bool empty() const noexcept { return finite == 0; }
  void merge(const ValueRange& other) noexcept;
};

// `fill_bits`: the bit pattern of the declared fill value in the field's type, if there is one. On the host.
ValueRange value_range(const Field& field, ConstBytes data, std::optional<std::uint64_t> fill_bits,
                       Exec exec);

// The absolute bound, rounded toward zero wherever it must be rounded, so that meeting it meets what was
// asked. 0 means that values must return exactly: mode lossless, or a range of 0. A bound in dB is turned
// into the maximum error that guarantees it for every distribution of errors (RMSE <= maximum error). Errors:
// invalid_argument from validate(), or where the range is too wide for a double.
Result<double> resolve(const ErrorBound& bound, const ValueRange& range);

// The same, with the range of the data, which is looked for only if the mode needs it. On a device that
// allocates a few bytes and waits for exec.stream (core/gpu/value_range.hpp has a form that does neither).
Result<double> resolve_over(const Field& field, ConstBytes data, const ErrorBound& bound,
                            std::optional<std::uint64_t> fill_bits, Exec exec);

}  // namespace homz
