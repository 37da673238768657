#include "tools/homz/text_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace homz::cli {
namespace {

// Bytes of the well-formed UTF-8 sequence at the beginning of the text, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && second < 0x90, too_large = first == 0xf4 && second >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 &&
         static_cast<unsigned char>(character[1]) < 0xa0;  // U+0080..9f
}

std::size_t width(std::string_view text) {  // characters: every byte that does not continue one
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

int output_error = 0;  // errno of the first failure to print

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(character))
      for (const char c : character) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      safe += character;
    text.remove_prefix(character.size());
  }
  return safe;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; amount >= 999.5 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string ratio_text(std::uint64_t original, std::uint64_t stored) {
  if (original == 0 || stored == 0) return "-";
  const double ratio = static_cast<double>(original) / static_cast<double>(stored);
  return fmt::format("{:.{}f}", ratio, ratio < 100 ? 2 : 1);
}

std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}
std::string exact_text(double value) {
  return fmt::format("{}", value);
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string bound_text(const ErrorBound& bound) {
  switch (bound.mode) {
    case BoundMode::lossless:
      return "lossless";
    case BoundMode::absolute:
      return fmt::format("{} absolute", bound.value);
    case BoundMode::relative:
      return fmt::format("{} relative to the value range", bound.value);
    case BoundMode::psnr:
      return fmt::format("PSNR of {} dB or more", bound.value);
  }
  return "unknown";
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].title);
    for (const auto& row : rows_)
      if (c < row.size()) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
  }
  const auto line = [&](const auto& cell_of, std::size_t cells) {
    std::string out(indent);
    for (std::size_t c = 0; c < cells; ++c) {
      const std::string& cell = cell_of(c);
      const std::string pad(widths[c] - width(cell), ' ');
      out += (c == 0 ? "" : "  ") + (columns_[c].align == Align::right ? pad + cell : cell + pad);
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + '\n';
  };
  std::string out;
  const bool titled =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); });
  if (titled)
    out += line([&](std::size_t c) -> const std::string& { return columns_[c].title; }, columns_.size());
  for (const auto& row : rows_)
    out += line([&](std::size_t c) -> const std::string& { return row[c]; },
                std::min(row.size(), columns_.size()));
  return out;
}

void warn(std::string_view text) {
  fmt::print(stderr, "homz: warning: {}\n", printable(text));
}

void print(std::string_view text) {
  if (output_error == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    output_error = errno;
}

Status finish_output() {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  if (output_error == 0 || output_error == EPIPE) return Status();
  return Status(Code::io, fmt::format("standard output: {}", std::strerror(output_error)));
}

}  // namespace homz::cli
