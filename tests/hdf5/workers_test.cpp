// Chunks in memory, and the workers that code them.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tests/hdf5/library.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/slots.hpp"

namespace homz::hdf5::test {
namespace {

using WorkersTest = LibraryTest;

TEST_F(WorkersTest, SlotsShareNoPage) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const std::uint64_t bytes : {std::uint64_t{1}, page - 1, page, page + 1, 700 * page + 3}) {
    auto slots = Slots::make(4, bytes);
    ASSERT_TRUE(slots.ok()) << slots.status().message();
    for (std::uint64_t i = 0; i < 4; ++i) {
      const Bytes slot = (*slots)[i];
      EXPECT_EQ(slot.size(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.data()) % page, 0u);
      EXPECT_FALSE(i > 0 && overlap(slot, (*slots)[i - 1]));
    }
  }
}

// So no GPU is needed, either.
TEST_F(WorkersTest, ChunksWithoutACoderForGpusAreDecodedOnTheHost) {
  const auto values = wave<float>(50 * 70);
  {
    const Handle file = create_file("in.h5"), properties(H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t chunk[] = {16, 32};
    H5Pset_chunk(properties, 2, chunk);
    const Handle dataset = create_dataset(file, "d", H5T_IEEE_F32LE, {50, 70}, properties);
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }
  CompressOptions options;
  options.codec = "zstd";
  options.bound = {BoundMode::lossless, 0};
  options.datasets = {{"/d", {}, {}}};
  const auto compressed = compress_file(path("in.h5"), path("zstd.h5"), options);
  ASSERT_TRUE(compressed.ok()) << compressed.status().message();
  ASSERT_TRUE(compressed->datasets.front().compressed);
  const auto restored = decompress_file(path("zstd.h5"), path("out.h5"), {4, Space::device, UINT64_MAX, {}});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  const Handle file = open_file("out.h5");
  EXPECT_EQ(read<float>(file, "d", H5T_NATIVE_FLOAT), values);
}

}  // namespace
}  // namespace homz::hdf5::test
