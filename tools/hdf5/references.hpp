// References from one file to the same objects in a copy of it, and committed types likewise.
#pragma once

#include <hdf5.h>

#include <string>
#include <unordered_map>

#include "core/memory.hpp"
#include "core/status.hpp"
#include "tools/hdf5/handle.hpp"
#include "tools/hdf5/tree.hpp"
#include "tools/hdf5/types.hpp"

namespace homz::hdf5 {

class Translator {
 public:
  // Objects of `from` have in `to` the paths that `tree`, read from `from`, tells.
  Translator(hid_t from, hid_t to, const Tree& tree) : from_(from), to_(to), tree_(tree) {}

  // Rewrites in place the references in `count` values in memory.
  Status translate(const Layout& layout, std::byte* values, std::size_t count);

  // The type for the other file: the committed one if `type` is committed, else a copy.
  Result<Handle> type(hid_t type) const;

  // Where `type` is committed in the other file; empty if it is not committed.
  std::string committed_path(hid_t type) const;
  // The committed type at `path` is to be found at `place` of the other file.
  void place_type(const std::string& path, const std::string& place) { places_[path] = place; }

  // References to objects without any link, which cannot be carried over, and were set to null.
  std::uint64_t lost() const { return lost_; }

 private:
  Status translate_object(std::byte* reference);
  Status translate_region(std::byte* reference);
  Result<const Object*> target(H5R_type_t type, const std::byte* reference) const;

  hid_t from_, to_;
  const Tree& tree_;
  std::unordered_map<hobj_ref_t, hobj_ref_t> known_;
  std::unordered_map<std::string, std::string> places_;
  std::uint64_t lost_ = 0;
};

// Copies values that hold references from one dataset to its copy.
Status copy_reference_values(hid_t from, hid_t to, Translator& translator);

}  // namespace homz::hdf5
