// All elements of an attribute or dataset of any type, in memory.
#pragma once

#include <hdf5.h>

#include <cstdint>

#include "core/buffer.hpp"
#include "core/status.hpp"
#include "tools/hdf5/handle.hpp"
#include "tools/hdf5/tree.hpp"
#include "tools/hdf5/types.hpp"

namespace homz::hdf5 {

class Elements {
 public:
  static Result<Elements> read_attribute(hid_t attribute);
  static Result<Elements> read_dataset(hid_t dataset);
  Elements(Elements&& other) noexcept = default;
  ~Elements();

  hid_t type() const { return type_; }  // in memory; bytes in the order of the file
  const Layout& layout() const { return layout_; }
  std::uint64_t count() const { return count_; }
  std::byte* data() { return data_.bytes().data(); }
  const std::byte* data() const { return data_.bytes().data(); }

 private:
  Elements() = default;
  static Result<Elements> prepare(Handle file_type, Handle space);

  Handle type_, space_;
  Layout layout_;
  std::uint64_t count_ = 0;
  Buffer data_;
  bool holds_lists_ = false;  // memory that the library allocated and must free
};

// One side of a comparison: references mean the objects that they point to.
struct Side {
  hid_t file;
  const Tree* tree;
};

// True if `count` values are the same: bit for bit, except that addresses (of lists, strings and objects) are
// followed.
bool same_values(const Layout& layout, const std::byte* a, const std::byte* b, std::size_t count,
                 const Side& side_a, const Side& side_b);

}  // namespace homz::hdf5
