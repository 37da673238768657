// Short forms for tests that use the HDF5 library.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/bits.hpp"
#include "tools/hdf5/filter.hpp"
#include "tools/hdf5/handle.hpp"

namespace homz::hdf5::test {

inline std::vector<unsigned> bound_words(double bound) {
  const std::uint64_t bits = bits_of(bound);
  return {1, static_cast<unsigned>(bits), static_cast<unsigned>(bits >> 32)};
}

template <class T>
std::vector<T> wave(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(20 * std::sin(0.05 * static_cast<double>(i)) +
                               1e-3 * static_cast<double>(i * 7919 % 101));
  return values;
}

template <class T>
void expect_within(const std::vector<T>& a, const std::vector<T>& b, double bound) {
  ASSERT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  EXPECT_LE(worst, bound);
}

// All messages of the library's error stack.
inline std::string error_messages() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
        *static_cast<std::string*>(data) += std::string(error->desc) + "\n";
        return 0;
      },
      &text);
  return text;
}

// A folder of its own for each test, gone afterwards.
class LibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    ASSERT_TRUE(register_filter().ok());
    std::string name = (std::filesystem::temp_directory_path() / "homz-hdf5-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Handle create_file(const std::string& name) const {
    return Handle(H5Fcreate(path(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  }
  Handle open_file(const std::string& name, unsigned flags = H5F_ACC_RDONLY) const {
    return Handle(H5Fopen(path(name).c_str(), flags, H5P_DEFAULT));
  }

  // Properties of a chunked dataset with the homz filter.
  static Handle filtered(const std::vector<hsize_t>& chunk, const std::vector<unsigned>& words,
                         unsigned flags = H5Z_FLAG_MANDATORY) {
    Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_filter(properties, kFilterId, flags, words.size(), words.data());
    return properties;
  }

  // Keeps the messages of a failure: closing any handle clears the library's stack.
  Handle create_dataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& extents,
                        hid_t properties, const std::vector<hsize_t>& most = {}) {
    const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(),
                                        most.empty() ? nullptr : most.data()));
    Handle dataset(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    errors_ = dataset.ok() ? "" : error_messages();
    return dataset;
  }

  template <class T>
  static std::vector<T> read(hid_t file, const char* name, hid_t memory_type) {
    const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT)), space(H5Dget_space(dataset));
    std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    EXPECT_GE(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0)
        << error_messages();
    return values;
  }

  static std::vector<std::byte> raw_chunk(hid_t file, const char* name, const std::vector<hsize_t>& start,
                                          std::uint32_t* mask = nullptr) {
    const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT));
    hsize_t size = 0;
    std::uint32_t skipped = 0;
    EXPECT_GE(H5Dget_chunk_storage_size(dataset, start.data(), &size), 0);
    std::vector<std::byte> bytes(size);
    EXPECT_GE(H5Dread_chunk(dataset, H5P_DEFAULT, start.data(), &skipped, bytes.data()), 0);
    if (mask != nullptr) *mask = skipped;
    return bytes;
  }

  std::string errors_;

 private:
  std::string folder_;
};

}  // namespace homz::hdf5::test
