// Input files: regular files only, recognised by what is in them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/buffer.hpp"
#include "core/status.hpp"
#include "tools/homz/arguments.hpp"
#include "tools/homz/progress.hpp"

namespace homz::cli {

class InputFile {
 public:
  // Errors name what the path is instead of a readable regular file.
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(stat_.st_size); }
  const struct stat& attributes() const noexcept { return stat_; }

  Result<Buffer> read_all(Progress& progress) const;  // error: the file grew, shrank or changed meanwhile
  Result<Buffer> read_first(std::uint64_t bytes) const;

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Status read(std::uint64_t offset, Bytes to, std::uint64_t* got) const;
  Status check_unchanged() const;

  std::string path_;
  int descriptor_;
  struct stat stat_ {};
};

enum class Content { raw, stream, hdf5 };

Result<Content> recognise(const InputFile& file);

// Of a file that is taken for raw: what its first bytes show it to be instead, and what to do. Nothing where
// they show nothing; values of a raw file can look like that by chance.
std::optional<std::string> foreign_format(const InputFile& file);

// The values of a raw file in the machine's byte order. Error: a size that does not suit the layout, with
// both numbers and what would suit.
Result<Buffer> read_raw(const InputFile& file, const RawLayout& layout, Progress& progress);

}  // namespace homz::cli
