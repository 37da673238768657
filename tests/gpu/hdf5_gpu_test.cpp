// HDF5 files by way of the GPU: what is in them, and what comes back, is what the host makes.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/gpu/support.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/slots.hpp"

namespace homz::hdf5::test {
namespace {

using homz::test::make_sample;
using homz::test::Sample;

// Of this process alone: tests run side by side.
std::string path_of(const char* name) {
  return testing::TempDir() + "homz_" + std::to_string(::getpid()) + "_" + name;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Chunks that are cut off at the borders, many or one, of both types, with NaN and without.
void write_file(const std::string& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  for (const auto& [name, input, dtype, chunk] :
       {std::tuple("many", "walk", Dtype::f32, hsize_t{10}),
        std::tuple("one", "walk", Dtype::f64, hsize_t{50}),
        std::tuple("masked", "nan_tenth", Dtype::f32, hsize_t{13})}) {
    const hsize_t extents[] = {50, 60, 40}, chunks[] = {chunk, 60, 40};
    const Sample sample = make_sample(input, dtype, {extents[0], extents[1], extents[2]});
    const hid_t type = dtype == Dtype::f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    const hid_t space = H5Screate_simple(3, extents, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 3, chunks);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, sample.bytes().data()), 0);
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
  }
  H5Fclose(file);
}

CompressOptions options_of(Space space, const std::string& codec) {
  CompressOptions options;
  options.codec = codec;
  options.bound = {BoundMode::relative, 1e-3};
  options.threads = 4;
  options.space = space;
  return options;
}

void check_files() {
  const std::string original = path_of("in.h5"), here = path_of("host.h5"), there = path_of("gpu.h5"),
                    back_here = path_of("host_back.h5"), back_there = path_of("gpu_back.h5");
  write_file(original);
  for (const char* const codec : {"homcomp", "cuszp2:mode=plain,dim=3"}) {
    const auto by_host = compress_file(original, here, options_of(Space::host, codec));
    ASSERT_TRUE(by_host.ok()) << by_host.status().message();
    const auto by_gpu = compress_file(original, there, options_of(Space::device, codec));
    ASSERT_TRUE(by_gpu.ok()) << by_gpu.status().message();
    EXPECT_TRUE(std::ranges::all_of(by_gpu->datasets, &DatasetReport::compressed));
    EXPECT_TRUE(content(here) == content(there)) << codec;
    ASSERT_TRUE(decompress_file(there, back_here, {4, Space::host, UINT64_MAX, {}}).ok());
    const auto restored = decompress_file(there, back_there, {4, Space::device, UINT64_MAX, {}});
    ASSERT_TRUE(restored.ok()) << restored.status().message();
    EXPECT_TRUE(content(back_here) == content(back_there)) << codec;
  }
  for (const std::string& path : {original, here, there, back_here, back_there})
    std::filesystem::remove(path);
}

TEST(GpuHdf5, FilesAreTheHosts) {
  HOMZ_NEEDS_GPU();
  check_files();
}

TEST(GpuHdf5, WorkersTakeTheCallersGpu) {
  HOMZ_NEEDS_GPU();
  if (*gpu::count() < 2) GTEST_SKIP() << "one GPU";
  const gpu::OnGpu on(1);
  ASSERT_TRUE(on.status().ok()) << on.status().message();
  check_files();
  EXPECT_EQ(*gpu::current(), 1);
}

// Compressed by zstd, which has no coder for GPUs, and then by homcomp.
TEST(GpuHdf5, ChunksWithoutACoderAreDecodedOnTheHost) {
  HOMZ_NEEDS_GPU();
  const std::string original = path_of("in.h5"), exact = path_of("zstd.h5"), here = path_of("host.h5"),
                    there = path_of("gpu.h5");
  write_file(original);
  CompressOptions options = options_of(Space::host, "zstd");
  options.bound = {BoundMode::lossless, 0};
  ASSERT_TRUE(compress_file(original, exact, options).ok());
  for (const auto& [space, path] : {std::pair(Space::host, here), std::pair(Space::device, there)}) {
    CompressOptions again = options_of(space, "homcomp");
    for (const char* const name : {"/many", "/one", "/masked"}) again.datasets.push_back({name, {}, {}});
    const auto made = compress_file(exact, path, again);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(std::ranges::all_of(made->datasets, &DatasetReport::compressed));
  }
  EXPECT_TRUE(content(here) == content(there));
  for (const std::string& path : {original, exact, here, there}) std::filesystem::remove(path);
}

TEST(GpuHdf5, SlotsAreReachedSideBySide) {
  HOMZ_NEEDS_GPU();
  auto slots = Slots::make(3, 5001);
  ASSERT_TRUE(slots.ok()) << slots.status().message();
  std::vector<gpu::Mapping> mappings;
  for (std::uint64_t i = 0; i < 3; ++i) {
    auto mapping = gpu::Mapping::make((*slots)[i]);
    ASSERT_TRUE(mapping.ok()) << i << ": " << mapping.status().message();
    mappings.push_back(std::move(*mapping));
  }
  mappings.erase(mappings.begin());  // the others stay
  for (std::uint64_t i = 1; i < 3; ++i) {
    const auto seen = gpu::residence(&(*slots)[i].back());
    EXPECT_TRUE(seen.ok() && seen->is_reached) << i;
  }
}

TEST(GpuHdf5, CodecsWithoutACoderAreRefused) {
  HOMZ_NEEDS_GPU();
  const std::string original = path_of("in.h5"), there = path_of("gpu.h5");
  write_file(original);
  CompressOptions options = options_of(Space::device, "zstd");
  options.bound = {BoundMode::lossless, 0};
  const Status refused = compress_file(original, there, options).status();
  EXPECT_EQ(refused.code(), Code::unsupported) << refused.message();
  EXPECT_NE(refused.message().find("codec zstd has no coder for GPUs"), std::string::npos)
      << refused.message();
  std::filesystem::remove(original);
}

}  // namespace
}  // namespace homz::hdf5::test
