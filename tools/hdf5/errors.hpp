// From the HDF5 library's error stack to a Status.
#pragma once

#include <hdf5.h>

#include <string>

#include "core/status.hpp"
#include "tools/hdf5/handle.hpp"

namespace homz::hdf5 {

// Keeps the library from printing while it lives.
class QuietErrors {
 public:
  QuietErrors() noexcept;
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// "cannot <what>: <the system's reason, or the first sentence of HDF5's innermost message>". Takes the
// message of the call that has just failed.
Status failure(const std::string& what, Code code = Code::io);

// failure() unless the value that an HDF5 function returned tells success (not negative).
template <class T>
Status check(T returned, const char* what) {
  return returned < 0 ? failure(what) : Status();
}

// An owned identifier, or the failure.
inline Result<Handle> own(hid_t returned, const char* what) {
  if (returned < 0) return failure(what);
  return Handle(returned);
}

// A failure with the name of the file that it is about, unless it is named already: the output if the disk is
// full, else the input.
Status about_file(const Status& status, const std::string& input, const std::string& output);

}  // namespace homz::hdf5
