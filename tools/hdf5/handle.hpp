// Ownership of the HDF5 library's identifiers.
#pragma once

#include <hdf5.h>

#include <utility>

namespace homz::hdf5 {

// One reference to an identifier of any kind (file, dataset, type, property list ...).
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(hid_t id) noexcept : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { close(); }

  bool ok() const noexcept { return id_ >= 0; }
  hid_t get() const noexcept { return id_; }
  operator hid_t() const noexcept { return id_; }

  // False if the library could not finish what was pending, as when the disk is full.
  bool close() noexcept {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || H5Idec_ref(id) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace homz::hdf5
