// The filter as the HDF5 library drives it.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/hdf5/library.hpp"
#include "tools/hdf5/coding.hpp"
#include "tools/hdf5/hdf5_files.hpp"

namespace homz::hdf5::test {
namespace {

using FilterTest = LibraryTest;

TEST_F(FilterTest, WritesAndReadsBothTypesInBothByteOrders) {
  const struct {
    const char* name;
    hid_t type;
  } types[] = {
      {"f4", H5T_IEEE_F32LE}, {"F4", H5T_IEEE_F32BE}, {"f8", H5T_IEEE_F64LE}, {"F8", H5T_IEEE_F64BE}};
  const auto values = wave<double>(50 * 70);
  std::vector<float> narrow(values.begin(), values.end());
  const std::vector<double> rounded(narrow.begin(), narrow.end());
  {
    const Handle file = create_file("a.h5");
    for (const auto& type : types) {
      const Handle dataset =
          create_dataset(file, type.name, type.type, {50, 70}, filtered({16, 32}, bound_words(1e-3)));
      ASSERT_TRUE(dataset.ok()) << errors_;
      ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
  }
  const Handle file = open_file("a.h5");
  for (const auto& type : types) {
    SCOPED_TRACE(type.name);
    const bool single = type.name[1] == '4';
    expect_within(single ? rounded : values, read<double>(file, type.name, H5T_NATIVE_DOUBLE), 1e-3);
  }
}

TEST_F(FilterTest, ShapesOfAllKinds) {
  const struct {
    std::vector<hsize_t> extents, chunk, most;
  } shapes[] = {{{24, 73, 144}, {1, 73, 144}, {}},
                {{24, 73, 144}, {24, 1, 144}, {}},
                {{24, 73, 144}, {24, 73, 1}, {}},
                {{6, 37, 40}, {6, 37, 40}, {}},
                {{1}, {1}, {}},
                {{7}, {3}, {}},
                {{10, 10}, {4, 64}, {H5S_UNLIMITED, H5S_UNLIMITED}},
                {{2, 3, 1, 4, 5, 6, 7}, {1, 3, 1, 2, 5, 6, 4}, {}},
                {std::vector<hsize_t>(32, 1), std::vector<hsize_t>(32, 1), {}}};
  const Handle file = create_file("a.h5");
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    const auto& shape = shapes[i];
    std::size_t count = 1;
    for (const hsize_t extent : shape.extents) count *= extent;
    const auto values = wave<float>(count);
    const std::string name = std::to_string(i);
    Handle dataset = create_dataset(file, name.c_str(), H5T_IEEE_F32LE, shape.extents,
                                    filtered(shape.chunk, bound_words(1e-2)), shape.most);
    ASSERT_TRUE(dataset.ok()) << name << errors_;
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
    dataset.close();
    expect_within(values, read<float>(file, name.c_str(), H5T_NATIVE_FLOAT), 1e-2);
  }
}

// What is not an IEEE number of 4 or 8 bytes.
std::vector<std::pair<std::string, Handle>> unsuitable_types() {
  std::vector<std::pair<std::string, Handle>> types;
  types.emplace_back("i16", H5Tcopy(H5T_STD_I16LE));
  types.emplace_back("u8", H5Tcopy(H5T_STD_U8LE));
  types.emplace_back("f128", H5Tcopy(H5T_NATIVE_LDOUBLE));
  types.emplace_back("string", H5Tcreate(H5T_STRING, 7));
  types.emplace_back("compound", H5Tcreate(H5T_COMPOUND, 8));
  H5Tinsert(types.back().second, "x", 0, H5T_IEEE_F64LE);
  types.emplace_back("f16", H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(types.back().second, 15, 10, 5, 0, 10);
  H5Tset_size(types.back().second, 2);
  H5Tset_ebias(types.back().second, 15);
  types.emplace_back("f32", H5Tcopy(H5T_IEEE_F32LE));  // bfloat16 in four bytes
  H5Tset_fields(types.back().second, 31, 24, 7, 0, 24);
  const hsize_t three = 3;
  types.emplace_back("array", H5Tarray_create2(H5T_IEEE_F32LE, 1, &three));
  return types;
}

TEST_F(FilterTest, MandatoryFilterRefusesOtherTypesByName) {
  const Handle file = create_file("a.h5");
  for (const auto& [name, type] : unsuitable_types()) {
    EXPECT_FALSE(create_dataset(file, "d", type, {100}, filtered({10}, bound_words(1e-3))).ok()) << name;
    EXPECT_NE(errors_.find(name), std::string::npos) << name << ":\n" << errors_;
  }
}

TEST_F(FilterTest, OptionalFilterLeavesOtherTypesAsTheyAre) {
  for (const auto& [name, type] : unsuitable_types()) {
    SCOPED_TRACE(name);
    std::vector<std::byte> values(100 * H5Tget_size(type));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i % 7 + 48);
    {
      const Handle file = create_file("a.h5");
      const Handle dataset =
          create_dataset(file, "d", type, {100}, filtered({10}, bound_words(1e-3), H5Z_FLAG_OPTIONAL));
      ASSERT_TRUE(dataset.ok()) << errors_;
      ASSERT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << error_messages();
    }
    const Handle file = open_file("a.h5");
    std::uint32_t mask = 0;
    raw_chunk(file, "d", {0}, &mask);
    EXPECT_EQ(mask, 1u);  // so that it can be read without the filter
    const Handle dataset(H5Dopen2(file, "d", H5P_DEFAULT));
    std::vector<std::byte> result(values.size());
    ASSERT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.data()), 0) << error_messages();
    EXPECT_EQ(result, values);
  }
}

TEST_F(FilterTest, VariableLengthDataIsLeftAlone) {
  const char* const texts[] = {"one", "two", "three"};
  const Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, H5T_VARIABLE);
  {
    const Handle file = create_file("a.h5");
    const Handle dataset =
        create_dataset(file, "d", type, {3}, filtered({3}, bound_words(1), H5Z_FLAG_OPTIONAL));
    ASSERT_TRUE(dataset.ok());
    ASSERT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts), 0);
  }
  const Handle file = open_file("a.h5"), dataset(H5Dopen2(file, "d", H5P_DEFAULT)),
               space(H5Dget_space(dataset));
  char* result[3] = {};
  ASSERT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, result), 0) << error_messages();
  EXPECT_STREQ(result[2], "three");
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, result);
}

TEST_F(FilterTest, WrongParametersFailWhenTheDatasetIsMade) {
  const Handle file = create_file("a.h5");
  const std::vector<std::vector<unsigned>> wrong = {{},
                                                    {1},
                                                    {1, 0},
                                                    {2, 0, 0},
                                                    {1, 0, 0xfff00000u},
                                                    {1, 0, 0x7ff80000u},
                                                    {1, 2, 3, 4, 5},
                                                    std::vector<unsigned>(16),
                                                    std::vector<unsigned>(40, 0xffffffffu)};
  for (const auto& words : wrong) {
    EXPECT_FALSE(create_dataset(file, "d", H5T_IEEE_F32LE, {100}, filtered({10}, words)).ok())
        << words.size();
    EXPECT_NE(errors_.find("homz filter"), std::string::npos) << errors_;
  }
}

TEST_F(FilterTest, PropertiesOfADatasetServeForAnother) {
  const Handle file = create_file("a.h5");
  const Handle first =
      create_dataset(file, "a", H5T_IEEE_F32LE, {40, 50}, filtered({10, 50}, bound_words(1e-3)));
  const Handle properties(H5Dget_create_plist(first));
  hsize_t chunk[] = {7, 9, 2};
  H5Pset_chunk(properties, 3, chunk);
  const auto values = wave<double>(20 * 20 * 4);
  Handle second = create_dataset(file, "b", H5T_IEEE_F64BE, {20, 20, 4}, properties);
  ASSERT_TRUE(second.ok()) << errors_;
  ASSERT_GE(H5Dwrite(second, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  second.close();
  expect_within(values, read<double>(file, "b", H5T_NATIVE_DOUBLE), 1e-3);
}

TEST_F(FilterTest, PlaceInThePipeline) {
  const Handle file = create_file("a.h5");
  const auto values = wave<float>(1000);
  const Handle checked = filtered({100}, bound_words(1e-3));
  H5Pset_fletcher32(checked);
  H5Pset_deflate(checked, 1);
  Handle dataset = create_dataset(file, "checked", H5T_IEEE_F32LE, {1000}, checked);
  ASSERT_TRUE(dataset.ok()) << errors_;
  ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  dataset.close();
  expect_within(values, read<float>(file, "checked", H5T_NATIVE_FLOAT), 1e-3);

  const auto words = bound_words(1e-3);
  const auto set_homz = [&](hid_t properties) {
    H5Pset_filter(properties, kFilterId, H5Z_FLAG_MANDATORY, words.size(), words.data());
  };
  const hsize_t chunk = 100;
  for (const auto& set_first : {H5Pset_shuffle, H5Pset_fletcher32}) {
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(properties, 1, &chunk);
    set_first(properties);
    set_homz(properties);
    EXPECT_FALSE(create_dataset(file, "d", H5T_IEEE_F32LE, {1000}, properties).ok());
    EXPECT_NE(errors_.find("first filter"), std::string::npos) << errors_;
  }
  const Handle twice = filtered({100}, words);
  set_homz(twice);
  EXPECT_FALSE(create_dataset(file, "d", H5T_IEEE_F32LE, {1000}, twice).ok());
  EXPECT_NE(errors_.find("twice"), std::string::npos) << errors_;
}

TEST_F(FilterTest, NeverMuchLargerThanTheData) {
  std::vector<float> values(4096);
  std::uint32_t state = 1;
  for (float& value : values) value = value_of<float>(state = state * 1664525u + 1013904223u);
  const Handle file = create_file("a.h5");
  Handle dataset = create_dataset(file, "d", H5T_IEEE_F32LE, {4096}, filtered({4096}, bound_words(1e-30)));
  ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0)
      << error_messages();
  EXPECT_LE(H5Dget_storage_size(dataset), sizeof(float) * 4096 + StreamHeader::kBytes);
}

TEST_F(FilterTest, DamagedChunksAndForgedParametersGiveErrors) {
  const auto values = wave<float>(200);
  {
    const Handle file = create_file("a.h5");
    const Handle dataset =
        create_dataset(file, "d", H5T_IEEE_F32LE, {200}, filtered({100}, bound_words(1e-3)));
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }
  {
    const Handle file = open_file("a.h5", H5F_ACC_RDWR);
    auto bytes = raw_chunk(file, "d", {100});
    bytes[bytes.size() / 2] ^= std::byte{4};
    const hsize_t start = 100;
    const Handle dataset(H5Dopen2(file, "d", H5P_DEFAULT));
    ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &start, bytes.size(), bytes.data()), 0);
  }
  const Handle file = open_file("a.h5"), dataset(H5Dopen2(file, "d", H5P_DEFAULT));
  std::vector<float> result(200);
  EXPECT_LT(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.data()), 0);
  EXPECT_NE(error_messages().find("checksum"), std::string::npos);

  const auto reader = Reader::open(path("a.h5"));
  ASSERT_TRUE(reader.ok());
  const auto floats = reader->read_floats("/d");
  ASSERT_FALSE(floats.ok());
  EXPECT_EQ(floats.status().code(), Code::corrupt_stream);
  EXPECT_NE(floats.status().message().find("dataset '/d': chunk at (100)"), std::string::npos)
      << floats.status().message();
}

// The direct chunk I/O of the file tools and the library's pipeline are the same codec.
TEST_F(FilterTest, FileToolsWriteTheBytesOfTheFilter) {
  const auto values = wave<float>(50 * 60);
  const float fill = -5;
  for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE}) {
    {
      const Handle file = create_file("plain.h5"), properties(H5Pcreate(H5P_DATASET_CREATE));
      const hsize_t chunk[] = {16, 60};
      H5Pset_chunk(properties, 2, chunk);
      H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &fill);
      const Handle dataset = create_dataset(file, "d", type, {50, 60}, properties, {H5S_UNLIMITED, 60});
      H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    CompressOptions options;
    options.bound = {BoundMode::absolute, 1e-3};
    options.threads = 3;
    const auto report = compress_file(path("plain.h5"), path("tool.h5"), options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report->datasets.at(0).compressed) << report->datasets.at(0).reason;
    const Handle tool = open_file("tool.h5");
    {
      const Handle dataset(H5Dopen2(tool, "d", H5P_DEFAULT)), properties(H5Dget_create_plist(dataset));
      const Handle file = create_file("filter.h5");
      const Handle copy = create_dataset(file, "d", type, {50, 60}, properties, {H5S_UNLIMITED, 60});
      ASSERT_TRUE(copy.ok()) << errors_;
      H5Dwrite(copy, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    const Handle filter = open_file("filter.h5");
    for (const hsize_t row : {0, 16, 32, 48})
      EXPECT_EQ(raw_chunk(tool, "d", {row, 0}), raw_chunk(filter, "d", {row, 0})) << row;
    expect_within(values, read<float>(tool, "d", H5T_NATIVE_FLOAT), 1e-3);
  }
}

}  // namespace
}  // namespace homz::hdf5::test
