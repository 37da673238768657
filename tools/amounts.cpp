#include "tools/amounts.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "core/text.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kOne = 1, kMostBytes = kOne << 40;  // of a vector

struct Unit {
  std::string_view text;
  std::uint64_t factor;
};
constexpr Unit kLetters[] = {{"K", kOne << 10}, {"M", kOne << 20}, {"G", kOne << 30}, {"T", kOne << 40}};
constexpr Unit kBytes[] = {
    {"KiB", kOne << 10}, {"MiB", kOne << 20}, {"GiB", kOne << 30},  {"TiB", kOne << 40},
    {"kB", 1000},        {"MB", 1000'000},    {"GB", 1000'000'000}, {"TB", 1000'000'000'000}};

// The unit at the end of the text; of none one without a text.
Unit unit_of(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units)
    if (text.ends_with(unit.text)) return unit;
  return {"", 1};
}

std::optional<std::uint64_t> number_of(std::string_view text, const Unit& unit) {
  const auto number = parse_unsigned(text.substr(0, text.size() - unit.text.size()));
  std::uint64_t amount = 0;
  if (!number.ok() || __builtin_mul_overflow(*number, unit.factor, &amount)) return std::nullopt;
  return amount;
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view text) {
  Unit unit = unit_of(text, kBytes);
  if (unit.text.empty()) unit = text.ends_with('B') ? Unit{"B", 1} : unit_of(text, kLetters);
  if (const auto amount = number_of(text, unit)) return *amount;
  return Status(
      Code::invalid_argument,
      fmt::format("{} '{}': give a whole number of bytes, or with a unit ({})", option, text, kUnitsOfBytes));
}

Result<std::uint64_t> parse_count(std::string_view option, std::string_view text) {
  if (const auto amount = number_of(text, unit_of(text, kLetters))) return *amount;
  return Status(
      Code::invalid_argument,
      fmt::format("{} '{}': give a whole number, with K, M, G or T for powers of 1024", option, text));
}

Result<std::uint64_t> parse_size(std::string_view option, std::string_view text) {
  HOMZ_ASSIGN(const std::uint64_t bytes, parse_bytes(option, text));
  if (bytes <= kMostBytes) return bytes;
  return Status(Code::invalid_argument, fmt::format("{} '{}': give at most 1 TiB", option, text));
}

Status check_whole(std::string_view option, std::uint64_t bytes, Dtype dtype) {
  const std::uint64_t size = size_of(dtype), below = bytes / size * size;
  if (bytes == below) return Status();
  return Status(
      Code::invalid_argument,
      fmt::format("{} {}: a value of {} has {} bytes, and this is no multiple of that; give {} or {}", option,
                  bytes, to_string(dtype), size, below, below + size));
}

}  // namespace homz
