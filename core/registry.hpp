// The codecs that a program knows, by id and by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec.hpp"
#include "core/status.hpp"

namespace homz {

// Reserved ranges of codec ids. An id is never used again for another payload layout.
inline constexpr std::uint16_t kLastBuiltinId = 31;
inline constexpr std::uint16_t kLastRegisteredId = 159;  // ids up to here are given out by the project

// A codec and its options, as in "cuszp2:mode=plain".
struct CodecChoice {
  const Codec* codec = nullptr;
  CodecParams params{};
  friend bool operator==(const CodecChoice&, const CodecChoice&) = default;
};

// The inverse of Registry::choose; the name alone where the params have no known meaning.
std::string to_string(const CodecChoice& choice);

class Registry {
 public:
  // The codec must outlive the registry. Errors: an id or a name that is taken, or a name that is not
  // [a-z0-9_-]+. Not to be called while other threads use the registry.
  Status add(const Codec& codec);

  const Codec* find(CodecId id) const noexcept;  // nullptr if unknown
  const Codec* find(std::string_view name) const noexcept;
  std::span<const Codec* const> all() const noexcept {
    return codecs_;
  }  // in the order in which they were added

  // Parses NAME[:key=value,...]; an unknown name is an error that lists the known ones.
  Result<CodecChoice> choose(std::string_view text) const;

 private:
  std::vector<const Codec*> codecs_;
};

}  // namespace homz
