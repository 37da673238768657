#include "tests/support/choices.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "codecs/builtin.hpp"

namespace homz::test {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find(separator, at)) != std::string::npos; at = end + separator.size())
    parts.push_back(text.substr(at, end - at));
  parts.push_back(text.substr(at));
  return parts;
}

// "level=1..19" -> {"level=1", "level=10"}, "mode=a|b" -> {"mode=a", "mode=b"}
std::vector<std::string> settings_of(const std::string& documented) {
  const auto halves = split(documented, "=");
  if (halves.size() != 2) return {};
  const auto ends = split(halves[1], "..");
  if (ends.size() != 2) {
    std::vector<std::string> settings = split(halves[1], "|");
    for (std::string& setting : settings) setting = halves[0] + "=" + setting;
    return settings;
  }
  const long low = std::stol(ends[0]), middle = (low + std::stol(ends[1])) / 2;
  return {halves[0] + "=" + std::to_string(low), halves[0] + "=" + std::to_string(middle)};
}

}  // namespace

std::vector<std::string> choice_texts(const Codec& codec) {
  std::string documented(codec.info().options);
  std::erase(documented, ' ');
  std::vector<std::string> combinations = {""};
  for (const std::string& option : split(documented, ",")) {
    const auto settings = settings_of(option);
    std::vector<std::string> longer;
    for (const std::string& before : combinations)
      for (const std::string& setting : settings)
        longer.push_back(before.empty() ? setting : before + "," + setting);
    if (!longer.empty()) combinations = longer;
  }
  const std::string name(codec.info().name);
  std::vector<std::string> texts = {name};
  std::vector<CodecParams> seen = {*codec.parse("")};
  for (const std::string& options : combinations) {
    const auto params = codec.parse(options);  // what is refused is listed: its tests say so
    if (params.ok() && std::find(seen.begin(), seen.end(), *params) != seen.end()) continue;
    if (params.ok()) seen.push_back(*params);
    texts.push_back(name + ":" + options);
  }
  return texts;
}

std::vector<std::string> all_choices() {
  std::vector<std::string> all;
  for (const Codec* codec : registry().all())
    for (std::string& text : choice_texts(*codec)) all.push_back(std::move(text));
  return all;
}

std::vector<std::string> default_choices() {
  std::vector<std::string> all;
  for (const Codec* codec : registry().all()) all.emplace_back(codec->info().name);
  return all;
}

std::vector<std::string> lossy_choices() {
  std::vector<std::string> all = all_choices();
  std::erase_if(all, [](const std::string& text) { return choice_of(text).codec->info().lossless; });
  return all;
}

CodecChoice choice_of(const std::string& text) {
  const auto choice = registry().choose(text);
  if (choice.ok()) return *choice;
  std::fprintf(stderr, "%s: %s\n", text.c_str(), choice.status().message().c_str());
  std::abort();
}

std::string test_name(const std::string& choice) {
  std::string name;
  for (const char c : choice) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

}  // namespace homz::test
