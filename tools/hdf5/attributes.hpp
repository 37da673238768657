// Attributes: reading the conventional ones, and copying all of an object.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "tools/hdf5/references.hpp"

namespace homz::hdf5 {

// The text of a string attribute of one element; nothing if there is no such attribute.
std::optional<std::string> text_attribute(hid_t object, const char* name);

// The elements of a numeric attribute, converted to `memory_type` of `value_bytes` bytes; empty if there is
// none.
std::vector<std::byte> numeric_attribute(hid_t object, const char* name, hid_t memory_type,
                                         std::size_t value_bytes);

// Copies all attributes, in creation order where it is tracked, with references rewritten.
Status copy_attributes(hid_t from, hid_t to, Translator& translator);

}  // namespace homz::hdf5
