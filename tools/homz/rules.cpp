#include "tools/homz/rules.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include "core/text.hpp"
#include "tools/homz/command.hpp"

namespace homz::cli {
namespace {

Result<hdf5::DatasetRule> parse_rule(const std::string& text) {
  hdf5::DatasetRule rule;
  rule.glob = text;
  const std::string context = fmt::format("--dataset '{}'", text);
  const auto looks_like_bound = [](std::string_view tail) {
    return tail.empty() || tail == "lossless" || tail.find(':') != std::string_view::npos;
  };
  if (const std::size_t at = rule.glob.rfind('@');
      at != std::string::npos && looks_like_bound(std::string_view(rule.glob).substr(at + 1))) {
    const auto bound = parse_error_bound(std::string_view(rule.glob).substr(at + 1));
    if (!bound.ok()) return bound.status().within(context);
    rule.bound = *bound;
    rule.glob.resize(at);
  }
  // Options have '=' of their own, as in "T*=cuszp2:mode=plain": then the codec's '=' stands before its
  // colon.
  std::size_t equals = rule.glob.rfind('=');
  if (const std::size_t colon = rule.glob.rfind(':'); colon != std::string::npos && colon < equals)
    if (const std::size_t before = rule.glob.rfind('=', colon); before != std::string::npos) equals = before;
  if (equals != std::string::npos && rule.glob.find('/', equals) == std::string::npos) {
    rule.codec = rule.glob.substr(equals + 1);
    rule.glob.resize(equals);
    const auto choice = choose_codec(*rule.codec);
    if (!choice.ok()) return choice.status().within(context);
  }
  if (rule.glob.empty())
    return usage_error(context + ": the pattern is empty; give one such as '/group/T*' or '*'");
  return rule;
}

const std::string* first_match(const std::string& glob, const hdf5::FileReport& file) {
  const auto matches = [&](const std::string& path) { return ::fnmatch(glob.c_str(), path.c_str(), 0) == 0; };
  for (const hdf5::DatasetReport& dataset : file.datasets) {
    if (matches(dataset.path)) return &dataset.path;
    for (const std::string& path : dataset.other_paths)
      if (matches(path)) return &path;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<hdf5::DatasetRule>> parse_rules(const std::vector<std::string>& texts) {
  std::vector<hdf5::DatasetRule> rules;
  for (const std::string& text : texts) {
    HOMZ_ASSIGN(hdf5::DatasetRule rule, parse_rule(text));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<hdf5::Fill> parse_fill(const Argument& argument) {
  hdf5::Fill fill;
  if (!argument.given() || argument.text == "auto") return fill;
  if (argument.text == "none") {
    fill.policy = hdf5::Fill::Policy::none;
    return fill;
  }
  const auto value = parse_double(argument.text);
  if (!value.ok())
    return usage_error(
        fmt::format("--fill '{}': give a finite number, auto or none; NaN and infinities always return "
                    "bit for bit",
                    argument.text));
  fill.policy = hdf5::Fill::Policy::value;
  fill.value = *value;
  return fill;
}

Result<std::optional<std::uint64_t>> fill_bits_in(Dtype dtype, const hdf5::Fill& fill,
                                                  std::optional<std::uint64_t> declared) {
  if (fill.policy == hdf5::Fill::Policy::automatic) return declared;
  if (fill.policy == hdf5::Fill::Policy::none) return std::optional<std::uint64_t>();
  HOMZ_ASSIGN(const std::uint64_t bits, fill_bits_of(dtype, fill.value));
  return std::optional(bits);
}

Status require_matches(const std::vector<hdf5::DatasetRule>& rules, const hdf5::FileReport& file) {
  for (const hdf5::DatasetRule& rule : rules) {
    if (first_match(rule.glob, file) != nullptr) continue;
    const std::string message = fmt::format("--dataset '{}' matches no dataset", rule.glob);
    if (rule.glob.starts_with('/') || rule.glob.starts_with('*')) return usage_error(message);
    for (const char* prefix : {"/", "*/"})  // at the root, or in some group
      if (const std::string* meant = first_match(prefix + rule.glob, file))
        return usage_error(fmt::format("{}; did you mean {}", message, *meant));
    return usage_error(message + "; a path begins with /");
  }
  return Status();
}

Status require_bounds(const std::string& codec, const std::optional<ErrorBound>& bound,
                      const std::vector<hdf5::DatasetRule>& rules) {
  const auto check = [&](const std::string& name, const std::optional<ErrorBound>& own,
                         const std::string& where) {
    const auto choice = choose_codec(name);
    if (!choice.ok()) return choice.status();
    if (choice->codec->info().lossless) return Status();
    if (own && own->mode == BoundMode::lossless)
      return usage_error(fmt::format("{}{} is lossy; use =zstd", where, choice->codec->info().name));
    if (own) return Status();
    return usage_error(
        fmt::format("{}codec {} is lossy and needs an error bound; give --abs E, --rel R or --psnr D, "
                    "or a lossless codec such as zstd",
                    where, choice->codec->info().name));
  };
  if (rules.empty()) return check(codec, bound, "");
  for (const hdf5::DatasetRule& rule : rules)
    HOMZ_TRY(check(rule.codec.value_or(codec), rule.bound ? rule.bound : bound,
                   fmt::format("--dataset '{}': ", rule.glob)));
  return Status();
}

}  // namespace homz::cli
