// HDF5 datatypes as homz sees them: floating-point numbers to compress, and everything else to keep.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/field.hpp"
#include "core/status.hpp"

namespace homz::hdf5 {

struct FloatType {
  Dtype dtype = Dtype::f32;
  bool big_endian = false;
};

// The IEEE type of 4 or 8 bytes that `type` is, in either byte order; nothing for any other type.
std::optional<FloatType> float_type(hid_t type);

// The memory type of a Dtype in the machine's byte order.
hid_t native_type(Dtype dtype);

std::string type_text(hid_t type);  // "f32", "f64 big-endian", "i16", "string", "compound", ...

// Where the parts of a value in memory lie that are more than its bytes.
struct Layout {
  enum class Kind {
    plain,
    object_reference,
    region_reference,
    string,
    list,
    array,
    compound
  } kind = Kind::plain;
  std::size_t size = 0;       // of one value
  std::size_t offset = 0;     // within the compound that it is a member of
  std::size_t count = 1;      // array: elements
  std::vector<Layout> parts;  // compound: members; list and array: one, the element

  bool has(Kind wanted) const;
  bool has_references() const { return has(Kind::object_reference) || has(Kind::region_reference); }
};

// Of a type in memory, as H5Tcopy makes it.
Result<Layout> layout_of(hid_t type);

}  // namespace homz::hdf5
