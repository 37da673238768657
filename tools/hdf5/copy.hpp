// The copy of a whole file: everything is carried over, and chosen datasets are made anew on the way.
#pragma once

#include <hdf5.h>

#include <functional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/references.hpp"
#include "tools/hdf5/tree.hpp"

namespace homz::hdf5 {

// Makes the dataset at `path` anew in the copy, without its attributes and without a link. An invalid handle:
// copy the dataset as it is.
using Remake = std::function<Result<Handle>(const std::string& path, const Translator& translator)>;

class FileCopy {
 public:
  FileCopy(hid_t from, hid_t to, const Tree& tree);

  // Objects and links in their order, then attributes and references, which need all objects to be there.
  Status run(const Remake& remake);
  std::uint64_t lost_references() const { return translator_.lost(); }

 private:
  Status stage_types();
  Status make_link(const Link& link, const Remake& remake);
  Status make_hard_link(hid_t parent, hid_t properties, const Link& link, const Remake& remake);
  Status make_dataset(hid_t parent, hid_t properties, const Link& link, const Remake& remake);
  Status copy_dataset(hid_t parent, hid_t properties, const Link& link);
  Status finish_object(std::size_t index);

  hid_t from_, to_;
  const Tree& tree_;
  std::string staging_;              // a group that holds the committed types until their links are made
  std::vector<std::string> staged_;  // by object: where a committed type is until then
  std::vector<bool> verbatim_;       // by object: copied by the library, references still null
  Translator translator_;
};

// Runs a FileCopy and notes in the report what could not be kept.
Status copy_file(hid_t from, hid_t to, const Tree& tree, FileReport* report, const Remake& remake);

// Sorts the report and adds the sizes of the files.
Result<FileReport> finish_report(FileReport report, const std::string& input, const std::string& output);

}  // namespace homz::hdf5
