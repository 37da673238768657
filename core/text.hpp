// Numbers and options from text, the same in every locale; a whole text or nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.hpp"

namespace homz {

// The double nearest to the text. Refuses trailing characters, nan, inf, and what over- or underflows.
Result<double> parse_double(std::string_view text);
Result<std::uint64_t> parse_unsigned(std::string_view text);

// "a=1,b=2": what a codec takes behind its name. Each take_ function removes its key; finish() names any key
// left.
class Options {
 public:
  static Result<Options> parse(std::string_view text);

  // `fallback` where the key is absent; an error that names key and range where the value is outside [low,
  // high].
  Result<std::int64_t> take_integer(std::string_view key, std::int64_t low, std::int64_t high,
                                    std::int64_t fallback);
  // A finite number above 0.
  Result<double> take_positive(std::string_view key, double fallback);
  // The position of the value among `choices`, which also spell the error.
  Result<std::size_t> take_choice(std::string_view key, std::initializer_list<std::string_view> choices,
                                  std::size_t fallback);
  // Error if a key is left; `known` is the text that tells what could have been said.
  Status finish(std::string_view codec, std::string_view known) const;

 private:
  const std::string* find(std::string_view key) const;
  void erase(std::string_view key);

  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace homz
