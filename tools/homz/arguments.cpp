#include "tools/homz/arguments.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "core/gpu/gpu.hpp"
#include "core/text.hpp"
#include "tools/homz/command.hpp"

namespace homz::cli {
namespace {

Result<std::vector<std::uint64_t>> parse_extents(std::string_view text) {
  std::vector<std::uint64_t> extents;
  for (std::string_view rest = text;;) {
    const std::size_t cross = rest.find('x');
    const auto extent = parse_unsigned(rest.substr(0, cross));
    if (!extent.ok())
      return usage_error(
          fmt::format("--shape '{}': {}; give extents such as 100x500x500", text, extent.status().message()));
    extents.push_back(*extent);
    if (cross == std::string_view::npos) return extents;
    rest.remove_prefix(cross + 1);
  }
}

}  // namespace

void add_argument(CLI::App& command, const std::string& name, Argument& argument,
                  const std::string& value_name, const std::string& help) {
  argument.option = command.add_option(name, argument.text, help)->type_name(value_name);
}

void BoundArguments::add_to(CLI::App& command, const std::string& purpose) {
  add_argument(command, "--abs", abs, "E",
               purpose + ": no value is off by more than E, in units of the data");
  add_argument(
      command, "--rel", rel, "R",
      purpose + ": no value is off by more than R times the value range (max - min of the valid values)");
  add_argument(command, "--psnr", psnr, "D", purpose + ": at least D dB, 20 log10(value range / RMSE)");
}

Result<std::optional<ErrorBound>> BoundArguments::parse() const {
  std::optional<ErrorBound> bound;
  const std::array<std::pair<const Argument*, const char*>, 3> all = {
      {{&abs, "abs"}, {&rel, "rel"}, {&psnr, "psnr"}}};
  for (const auto& [argument, mode] : all) {
    if (!argument->given()) continue;
    if (bound) return usage_error("--abs, --rel and --psnr exclude each other; give one of them");
    const auto parsed = parse_error_bound(fmt::format("{}:{}", mode, argument->text));
    if (!parsed.ok()) return parsed.status().within(fmt::format("--{}", mode));
    bound = *parsed;
  }
  return bound;
}

void RawArguments::add_to(CLI::App& command) {
  add_argument(command, "--type", type, "T",
               "element type of a raw binary file: f32, f64, f32be or f64be (big-endian)");
  add_argument(command, "--shape", shape, "NxNxN",
               "extents of a raw binary file, slowest first: 100x500x500");
}

Result<std::optional<RawLayout>> RawArguments::parse() const {
  if (!type.given() && !shape.given()) return std::optional<RawLayout>();
  if (!type.given() || !shape.given())
    return usage_error("--type and --shape belong together; a raw binary file needs both, other files none");
  std::string_view name = type.text;
  RawLayout layout;
  layout.big_endian = name.size() > 2 && name.ends_with("be");
  if (layout.big_endian) name.remove_suffix(2);
  const auto dtype = parse_dtype(name);
  if (!dtype.ok())
    return usage_error(
        fmt::format("--type '{}': unknown element type; give f32, f64, f32be or f64be", type.text));
  HOMZ_ASSIGN(const auto extents, parse_extents(shape.text));
  auto field = Field::make(*dtype, extents);
  if (!field.ok()) return field.status().within(fmt::format("--shape {}", shape.text));
  layout.field = *field;
  return std::optional(layout);
}

Result<Dtype> parse_dtype(std::string_view text) {
  if (text == "f32") return Dtype::f32;
  if (text == "f64") return Dtype::f64;
  return usage_error(fmt::format("--type '{}': unknown element type; give f32 or f64", text));
}

Result<unsigned> parse_threads(const Argument& argument) {
  constexpr std::uint64_t kMost = 4096;
  if (!argument.given()) return 0u;
  const auto threads = parse_unsigned(argument.text);
  if (!threads.ok() || *threads > kMost)
    return usage_error(fmt::format("--threads '{}': give a whole number up to {}; 0 means one a core",
                                   argument.text, kMost));
  return static_cast<unsigned>(*threads);
}

Result<Space> parse_device(const Argument& argument) {
  if (!argument.given() || argument.text == "cpu") return Space::host;
  if (argument.text != "cuda")
    return usage_error(fmt::format("--device '{}': give cpu or cuda", argument.text));
  return Space::device;
}

Status require_device(Space space) {
  return space == Space::host ? Status() : gpu::ready().within("--device cuda");
}

Result<CodecChoice> choose_codec(const std::string& text) {
  auto choice = registry().choose(text);
  if (!choice.ok()) return usage_error(choice.status().message());
  return choice;
}

Status require_name(std::string_view what, const std::string& path) {
  if (path == "-")
    return usage_error(
        fmt::format("the {} is '-': homz works on files, not on pipes; name a file (./- for one "
                    "of that name)",
                    what));
  return path.empty() ? usage_error(fmt::format("the {}'s file name is empty; name a file", what)) : Status();
}

Result<std::uint64_t> fill_bits_of(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return bits_of(value);
  if (std::fabs(value) > std::numeric_limits<float>::max())
    return usage_error(
        fmt::format("--fill {}: f32 cannot hold this value; give one that occurs in the data", value));
  return std::uint64_t{bits_of(static_cast<float>(value))};
}

}  // namespace homz::cli
