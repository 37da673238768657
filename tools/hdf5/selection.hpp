// Which datasets of a file are compressed, how, and why the others are not.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/registry.hpp"
#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/tree.hpp"

namespace homz::hdf5 {

struct Choice {
  std::string reason;  // why the dataset is left as it is; empty: compress
  CodecChoice codec;
  ErrorBound bound;    // lossless for a lossless codec
  bool named = false;  // a rule names the dataset itself, without wildcards: the user insists
  std::vector<std::string> warnings;
};

class Selection {
 public:
  // Errors: a codec or bound among the options that is wrong, a --dataset rule that matches nothing, exact
  // values asked of a lossy codec, a GPU of a codec that has no coder for it.
  static Result<Selection> make(hid_t file, const Tree& tree, const CompressOptions& options);

  const Choice& choice(const std::string& path) const { return choices_.at(path); }
  std::uint64_t bytes() const { return bytes_; }  // of data to be compressed
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::unordered_map<std::string, Choice> choices_;
  std::uint64_t bytes_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace homz::hdf5
