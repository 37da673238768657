#include "tools/hdf5/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace homz::hdf5 {
namespace {

// The walk upward starts where the failure happened; later entries only pass it on.
herr_t take_first(unsigned n, const H5E_error2_t* error, void* data) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
  return 0;
}

std::string innermost_message() {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &message);
  H5Eclear2(H5E_DEFAULT);
  return message;
}

// What stands between `before` and the next `after` in the text; empty if it is not there.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t found = text.find(before), start = found + before.size();
  if (found == std::string::npos) return "";
  return text.substr(start, text.find(after, start) - start);
}

// HDF5's sentence without the values of its variables that follow: "file read failed: time = ..., ...".
std::string first_sentence(const std::string& message) {
  const std::size_t equals = message.find(" = ");
  if (equals == std::string::npos || message.starts_with("homz filter")) return message;
  std::string sentence = message.substr(0, message.find_last_of(",:(", equals));
  sentence.erase(sentence.find_last_not_of(' ') + 1);
  return sentence;
}

// From the message: HDF5 itself changes errno afterwards.
std::string reason(const std::string& message) {
  if (between(message, "lock file, errno = ", ",") == std::to_string(EAGAIN))
    return "another program has it open for writing";
  if (const std::string system = between(message, "error message = '", "'"); !system.empty()) return system;
  return message.empty() ? "no reason given" : "HDF5 says: " + first_sentence(message);
}

}  // namespace

QuietErrors::QuietErrors() noexcept {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() {
  H5Eset_auto2(H5E_DEFAULT, print_, data_);
}

Status failure(const std::string& what, Code code) {
  return Status(code, fmt::format("cannot {}: {}", what, reason(innermost_message())));
}

Status about_file(const Status& status, const std::string& input, const std::string& output) {
  const auto mentions = [&](const std::string& text) {
    return status.message().find(text) != std::string::npos;
  };
  for (const int full : {ENOSPC, EDQUOT, EFBIG})
    if (mentions(std::strerror(full)))
      return Status(Code::io, fmt::format("cannot write '{}': {}", output, std::strerror(full)));
  for (const std::string& path : {input, output})
    if (!path.empty() && mentions(fmt::format("'{}'", path))) return status;
  return status.within(fmt::format("'{}'", input));
}

}  // namespace homz::hdf5
