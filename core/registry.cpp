#include "core/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace homz {

std::string to_string(const CodecChoice& choice) {
  const auto options = choice.codec->describe(choice.params);
  const std::string name(choice.codec->info().name);
  return options.ok() && !options->empty() ? name + ':' + *options : name;
}

Status Registry::add(const Codec& codec) {
  const CodecInfo& info = codec.info();
  const bool well_named = !info.name.empty() && std::all_of(info.name.begin(), info.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!well_named)
    return Status(Code::invalid_argument,
                  fmt::format("codec name '{}' is not of a-z, 0-9, _ and -", info.name));
  if (find(info.id) != nullptr || find(info.name) != nullptr)
    return Status(Code::invalid_argument, fmt::format("codec {} (id {}) is registered already", info.name,
                                                      static_cast<unsigned>(info.id)));
  codecs_.push_back(&codec);
  return Status();
}

const Codec* Registry::find(CodecId id) const noexcept {
  const auto at =
      std::find_if(codecs_.begin(), codecs_.end(), [&](const Codec* c) { return c->info().id == id; });
  return at == codecs_.end() ? nullptr : *at;
}

const Codec* Registry::find(std::string_view name) const noexcept {
  const auto at =
      std::find_if(codecs_.begin(), codecs_.end(), [&](const Codec* c) { return c->info().name == name; });
  return at == codecs_.end() ? nullptr : *at;
}

Result<CodecChoice> Registry::choose(std::string_view text) const {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const Codec* codec = find(name);
  if (codec == nullptr) {
    std::string known;
    for (const Codec* c : codecs_) known += (known.empty() ? "" : ", ") + std::string(c->info().name);
    return Status(Code::invalid_argument, fmt::format("unknown codec '{}'; known are {}", name, known));
  }
  HOMZ_ASSIGN(const CodecParams params,
              codec->parse(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1)));
  return CodecChoice{codec, params};
}

}  // namespace homz
