#include "tools/hdf5/errors.hpp"

#include <fmt/format.h>

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
  return message.empty() ? "no reason given" : message;
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
  return Status(code, fmt::format("cannot {}: HDF5 says: {}", what, innermost_message()));
}

}  // namespace homz::hdf5
