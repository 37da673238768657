// Output files that are there as a whole or not at all. The data goes to a temporary file beside the target,
// which takes the target's name after it has reached the disk, and is removed on every error, interrupt or
// termination before.
#pragma once

#include <string>

#include "core/memory.hpp"
#include "core/status.hpp"
#include "tools/homz/input_file.hpp"
#include "tools/homz/progress.hpp"

namespace homz::cli {

class OutputFile {
 public:
  // Refuses a target that is the input under whatever name, no regular file, or there already (unless
  // `replace`). The file's permissions are those of the input at most, from the first byte on.
  static Result<OutputFile> create(const std::string& target, const InputFile& input, bool replace);
  // Of no input: the permissions of a new file.
  static Result<OutputFile> create(const std::string& target, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::string& temporary() const noexcept { return temporary_; }  // others may write it by its name
  Status write(ConstBytes bytes, Progress& progress);
  Status commit();  // to be called once, last

 private:
  OutputFile(std::string target, bool replace) : target_(std::move(target)), replace_(replace) {}
  Status make_temporary();
  Status set_permissions() const;
  Status failure(const char* what, int error) const;
  Status take_name() const;
  void discard() noexcept;

  std::string target_;  // symbolic links resolved
  std::string temporary_;
  bool replace_;
  int descriptor_ = -1;
  mode_t input_mode_ = 0;
  gid_t input_group_ = 0;
};

// SIGINT, SIGTERM and SIGHUP remove the temporary file before they end the program; SIGPIPE and SIGXFSZ
// become errors of the calls that met them.
void install_signal_handlers();

}  // namespace homz::cli
