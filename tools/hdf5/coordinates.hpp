// Datasets that tell where and when the values of others are (the CF conventions): an error in them moves the
// data.
#pragma once

#include <hdf5.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/status.hpp"
#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/tree.hpp"

namespace homz::hdf5 {

class Coordinates {
 public:
  // Looks through all datasets for attributes that name others, by any of their paths.
  static Result<Coordinates> find(hid_t file, const Tree& tree);

  // What makes the dataset a coordinate, for the report; empty if it is none.
  std::string role(const Dataset& dataset) const;

 private:
  void add_names(const std::string& owner, const std::string& text);

  std::unordered_map<std::string, std::string> objects_;  // by path, that of a soft link, too: the object's
  PathsOf paths_of_;                                      // these objects
  std::unordered_set<std::string> named_;                 // objects, by another's attribute
};

}  // namespace homz::hdf5
