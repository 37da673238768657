#include "tools/homz/json_output.hpp"

#include <cmath>

#include "tools/homz/text_output.hpp"

namespace homz::cli {

Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : Json(nullptr);
}

Json json_bound(const ErrorBound& bound) {
  static constexpr const char* kModes[] = {"lossless", "absolute", "relative to the value range", "psnr"};
  return {{"mode", kModes[static_cast<int>(bound.mode)]}, {"value", bound.value}, {"text", to_string(bound)}};
}

Json json_ratio(std::uint64_t original, std::uint64_t stored) {
  return original == 0 || stored == 0 ? Json(nullptr)
                                      : Json(static_cast<double>(original) / static_cast<double>(stored));
}

void print_json(const Json& json) {
  print(json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

}  // namespace homz::cli
