#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/fp_environment.hpp"

namespace homz {

Result<double> parse_double(std::string_view text) {
  const std::string_view digits = !text.empty() && text.front() == '+' ? text.substr(1) : text;
  double value = 0;
  const FpEnvironment environment;  // from_chars follows the rounding mode, and trips over traps
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    return Status(Code::invalid_argument, fmt::format("'{}' is outside the range of a double", text));
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) ||
      (digits.size() < text.size() && digits.starts_with('-')))
    return Status(Code::invalid_argument, fmt::format("'{}' is not a finite number", text));
  return value;
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(Code::invalid_argument, fmt::format("'{}' is not a whole number below 2^64", text));
  return value;
}

Result<Options> Options::parse(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return Status(Code::invalid_argument, fmt::format("option '{}' is not of the form key=value", item));
    const std::string key(item.substr(0, equals));
    if (options.find(key) != nullptr)
      return Status(Code::invalid_argument, fmt::format("option '{}' is given twice", key));
    options.pairs_.emplace_back(key, item.substr(equals + 1));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return options;
}

const std::string* Options::find(std::string_view key) const {
  const auto at =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == key; });
  return at == pairs_.end() ? nullptr : &at->second;
}

void Options::erase(std::string_view key) {
  std::erase_if(pairs_, [&](const auto& pair) { return pair.first == key; });
}

Result<std::int64_t> Options::take_integer(std::string_view key, std::int64_t low, std::int64_t high,
                                           std::int64_t fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high)
    return Status(Code::invalid_argument,
                  fmt::format("option {}={}: give a whole number from {} to {}", key, *text, low, high));
  erase(key);
  return value;
}

Result<double> Options::take_positive(std::string_view key, double fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const Result<double> value = parse_double(*text);
  if (!value.ok() || !(*value > 0))
    return Status(Code::invalid_argument,
                  fmt::format("option {}={}: give a finite number above 0", key, *text));
  erase(key);
  return *value;
}

Result<std::size_t> Options::take_choice(std::string_view key,
                                         std::initializer_list<std::string_view> choices,
                                         std::size_t fallback) {
  const std::string* text = find(key);
  if (text == nullptr) return fallback;
  const auto at = std::find(choices.begin(), choices.end(), *text);
  if (at == choices.end())
    return Status(Code::invalid_argument,
                  fmt::format("option {}={}: give one of {}", key, *text, fmt::join(choices, ", ")));
  erase(key);
  return static_cast<std::size_t>(at - choices.begin());
}

Status Options::finish(std::string_view codec, std::string_view known) const {
  if (pairs_.empty()) return Status();
  return Status(Code::invalid_argument, fmt::format("codec {} has no option '{}'; it takes {}", codec,
                                                    pairs_.front().first, known.empty() ? "none" : known));
}

}  // namespace homz
