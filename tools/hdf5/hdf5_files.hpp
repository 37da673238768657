// Whole HDF5 (and netCDF-4) files: compress, decompress and inspect them, and read their datasets for
// comparison. No type of the HDF5 library appears here. Thread-safety: one call at a time in a process
// (HDF5's own rule).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codecs/builtin.hpp"
#include "core/buffer.hpp"
#include "core/error_bound.hpp"
#include "core/exec.hpp"
#include "core/field.hpp"
#include "core/status.hpp"

namespace homz::hdf5 {

// True if the file's content is HDF5 (superblock at offset 0, 512, 1024, ...), whatever its name.
Result<bool> is_hdf5(const std::string& path);

// Told now and then how many bytes of data have been done, of how many.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// --dataset GLOB[=codec][@bound]: what to do with the datasets of which a full path matches, that of any hard
// link; later rules win. A rule that no dataset matches is an error.
struct DatasetRule {
  std::string glob;                  // fnmatch(3) pattern over the full path, "/group/name"
  std::optional<std::string> codec;  // "cuszp2:mode=plain"
  std::optional<ErrorBound> bound;
};

struct Fill {
  enum class Policy { none, automatic, value } policy = Policy::automatic;
  double value = 0;  // for Policy::value
};

struct CompressOptions {
  std::string codec = kDefaultCodec;
  ErrorBound bound;
  std::vector<DatasetRule> datasets;  // none: every dataset that suits; some: only those that match
  std::vector<std::string> exclude;   // globs
  Fill fill;
  unsigned threads = 0;
  Space space = Space::host;  // where chunks are coded
  Progress progress;
};

struct DecompressOptions {
  unsigned threads = 0;
  Space space = Space::host;  // where chunks are decoded whose codec codes there; others: on the host
  std::uint64_t max_bytes = UINT64_MAX;
  Progress progress;
};

struct DatasetReport {
  std::string path;
  std::vector<std::string> other_paths;  // by further hard links
  std::string type;                      // "f32", "f64 big-endian", "i16", "string", "compound", ...
  std::vector<std::uint64_t> shape;
  bool is_virtual = false;  // its values are in other datasets
  bool compressed = false;
  std::string reason;  // why it was left as it was; empty if compressed
  std::string codec;   // with its options
  ErrorBound requested;
  double abs_error = 0;              // the absolute bound that holds, in units of the data
  std::optional<double> fill;        // the fill value that was kept out of range and coding
  std::uint64_t original_bytes = 0;  // elements x size
  std::uint64_t stored_bytes = 0;    // as stored in the file
  std::uint64_t chunks = 0;
  std::vector<std::uint64_t> chunk_shape;
  std::vector<std::string> warnings;
};

struct FileReport {
  std::vector<DatasetReport> datasets;  // in the order of their paths
  std::uint64_t input_bytes = 0;        // file sizes
  std::uint64_t output_bytes = 0;
  std::vector<std::string> warnings;
};

// `output` is a path at which this call may create and truncate a file; the caller makes it a temporary and
// renames it.
Result<FileReport> compress_file(const std::string& input, const std::string& output,
                                 const CompressOptions& options);
// Refuses, before anything is written, compressed datasets that declare more than `max_bytes` of data in all.
Result<FileReport> decompress_file(const std::string& input, const std::string& output,
                                   const DecompressOptions& options);
// What is in a file: nothing is decoded beyond the headers of chunks.
Result<FileReport> inspect_file(const std::string& path);

// One dataset's values, in the machine's byte order.
struct Values {
  Field field;                       // extents beyond four are merged into the slowest
  std::vector<std::uint64_t> shape;  // as in the file
  std::optional<std::uint64_t> fill_bits;
  Buffer data;
};

// netCDF's default fill value, if it is among the values: what compress_file() takes where none is declared.
std::optional<std::uint64_t> default_fill_in(const Values& values);

// Reads datasets of an HDF5 file one by one, our compressed ones included.
class Reader {
 public:
  static Result<Reader> open(const std::string& path);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const std::vector<DatasetReport>& datasets() const noexcept;  // all of them, as inspect_file tells
  bool is_float(const std::string& path) const;                 // read_floats() applies
  Result<Values> read_floats(const std::string& path) const;
  // True if both datasets have the same type, shape and, bit for bit, the same elements (any type).
  static Result<bool> equal(const Reader& a, const Reader& b, const std::string& path);

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace homz::hdf5
