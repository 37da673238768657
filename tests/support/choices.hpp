// Every codec of the registry with every option it documents: a codec is tested by being registered.
#pragma once

#include <string>
#include <vector>

#include "core/registry.hpp"

namespace homz::test {

// "name", and "name:options" for all combinations of the values in CodecInfo::options ("level=1..19,
// shuffle=0|1": the low end and the middle of a range, every word of
// a list), without those that say what the default says.
std::vector<std::string> choice_texts(const Codec& codec);
std::vector<std::string> all_choices();
std::vector<std::string> default_choices();  // every codec without options
std::vector<std::string> lossy_choices();

CodecChoice choice_of(const std::string& text);  // aborts if the registry refuses the text

// A name that GoogleTest takes.
std::string test_name(const std::string& choice);

}  // namespace homz::test
