// Datasets that tell where and when the values of others are (the CF conventions): an error in them moves the
// data.
#pragma once

#include <hdf5.h>

#include <string>
#include <unordered_set>

#include "core/status.hpp"
#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/tree.hpp"

namespace homz::hdf5 {

class Coordinates {
 public:
  // Looks through all datasets for attributes that name others.
  static Result<Coordinates> find(hid_t file, const Tree& tree);

  // What makes the dataset a coordinate, for the report; empty if it is none.
  std::string role(const Dataset& dataset) const;

 private:
  void add_names(const std::string& owner, const std::string& text);

  std::unordered_set<std::string> datasets_;  // paths
  std::unordered_set<std::string> named_;     // by another's attribute
};

}  // namespace homz::hdf5
