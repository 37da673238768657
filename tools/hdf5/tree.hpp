// The links and objects of a file, as a list: what copying, inspecting and comparing files walk over.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/status.hpp"

namespace homz::hdf5 {

struct Object {
  enum class Kind { group, dataset, type } kind = Kind::group;
  std::string path;  // the first one found, which the same walk over a copy of the file finds too
};

struct Link {
  std::size_t parent = 0;  // among the objects
  std::string name;
  H5T_cset_t charset = H5T_CSET_ASCII;
  H5L_type_t type = H5L_TYPE_HARD;
  std::size_t target = 0;   // hard: among the objects
  bool first = false;       // hard: the link that gives the object its path
  std::vector<char> value;  // others: what H5Lget_val tells
};

// Groups are visited breadth first; links of a group in creation order where the file tracks it, else by
// name. Every object appears once, however many hard links it has, so cycles do no harm.
class Tree {
 public:
  static Result<Tree> read(hid_t file);

  const std::vector<Object>& objects() const { return objects_; }  // the root group first
  const std::vector<Link>& links() const { return links_; }        // the parent's own link comes earlier
  // The object at an address, or nullptr: not every object that a reference points to has a link.
  const Object* at(haddr_t address) const;
  std::string path(const Link& link) const;

 private:
  Status visit_group(hid_t file, std::size_t group);
  Status add_hard(hid_t group, Link* link);

  std::vector<Object> objects_;
  std::vector<Link> links_;
  std::unordered_map<haddr_t, std::size_t> by_address_;
};

// By dataset, the path of its object: the paths of all its hard links, that one first.
using PathsOf = std::map<std::string, std::vector<std::string>>;
PathsOf paths_of_datasets(const Tree& tree);

// The address that identifies an object within its file.
Result<haddr_t> address_of(hid_t object);

}  // namespace homz::hdf5
