// From the HDF5 library's error stack to a Status.
#pragma once

#include <hdf5.h>

#include <exception>
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

// "cannot <what>: <HDF5's innermost message>". Takes the message of the call that has just failed.
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

// Runs `body`, which returns a Status or Result, so that no exception leaves it.
template <class F>
auto no_throw(F&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Status(Code::out_of_memory, error.what());
  }
}

}  // namespace homz::hdf5
