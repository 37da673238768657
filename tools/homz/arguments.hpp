// Values of command line options. They are taken as text and parsed here: the same in every locale, whole
// texts only.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error_bound.hpp"
#include "core/field.hpp"
#include "core/registry.hpp"
#include "core/status.hpp"

namespace homz::cli {

// The text of an option, and whether it was given: an empty text is a value, and mostly a wrong one.
struct Argument {
  std::string text;
  const CLI::Option* option = nullptr;

  bool given() const { return option != nullptr && option->count() > 0; }
};

void add_argument(CLI::App& command, const std::string& name, Argument& argument,
                  const std::string& value_name, const std::string& help);

// --abs, --rel, --psnr: one at most.
struct BoundArguments {
  Argument abs, rel, psnr;

  void add_to(CLI::App& command, const std::string& purpose);
  Result<std::optional<ErrorBound>> parse() const;
};

// The layout of a raw binary file.
struct RawLayout {
  Field field;
  bool big_endian = false;

  std::string type_name() const { return std::string(to_string(field.dtype)) + (big_endian ? "be" : ""); }
};

// --type and --shape: both or none.
struct RawArguments {
  Argument type, shape;

  void add_to(CLI::App& command);
  Result<std::optional<RawLayout>> parse() const;
};

Result<Dtype> parse_dtype(std::string_view text);          // f32 or f64
Result<unsigned> parse_threads(const Argument& argument);  // 0, one a core, where it is not given
Result<Space> parse_device(const Argument& argument);      // --device: cpu (the default) or cuda
// Refuses cuda where there is none. To be called where the work is done: a process that has looked for GPUs
// leaves none to those that it forks.
Status require_device(Space space);
Result<CodecChoice> choose_codec(const std::string& text);
Status require_name(std::string_view what, const std::string& path);  // a file name that is not empty

// The bit pattern of `value` in the field's type; an error where the type cannot hold it.
Result<std::uint64_t> fill_bits_of(Dtype dtype, double value);

}  // namespace homz::cli
