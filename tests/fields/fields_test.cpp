// Real fields through every lossy codec at four bounds relative to the value range. Files come from
// data/fields, and from a larger folder where there is one (CMake cache entry HOMZ_FIELDS); their floats are
// read with the HDF5 library.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "codecs/builtin.hpp"
#include "core/compress.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/inputs.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

namespace fs = std::filesystem;

// Closes an HDF5 handle when it goes.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// The `_FillValue` of a dataset, as HDF5 converts it to the dataset's own type.
std::optional<std::uint64_t> fill_of(hid_t dataset, hid_t memory_type) {
  if (H5Aexists(dataset, "_FillValue") <= 0) return std::nullopt;
  const Handle attribute(H5Aopen(dataset, "_FillValue", H5P_DEFAULT), H5Aclose);
  std::uint64_t bits = 0;
  if (attribute < 0 || H5Aread(attribute, memory_type, &bits) < 0) return std::nullopt;
  return bits;
}

// Extents beyond four are merged into the slowest; a scalar is a field of one value.
std::vector<std::uint64_t> extents_of(hid_t space) {
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::vector<std::uint64_t> extents(dims.begin(), dims.end());
  while (extents.size() > Field::kMaxRank) {
    extents[1] *= extents[0];
    extents.erase(extents.begin());
  }
  return extents.empty() ? std::vector<std::uint64_t>{1} : extents;
}

std::optional<Sample> read_floats(hid_t file, const std::string& path) {
  const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_FLOAT || (size != 4 && size != 8)) return std::nullopt;
  const hid_t memory_type = size == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  const auto field = Field::make(size == 4 ? Dtype::f32 : Dtype::f64, extents_of(space));
  if (!field.ok() || field->count() == 0) return std::nullopt;
  Sample sample{path, *field, std::vector<std::byte>(field->bytes()), fill_of(dataset, memory_type)};
  if (H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, sample.data.data()) < 0)
    return std::nullopt;
  return sample;
}

std::vector<Sample> floats_of(const fs::path& path) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  std::vector<std::string> names;
  // The structure that is filled has another name from HDF5 1.12 on.
  H5Ovisit2(
      file, H5_INDEX_NAME, H5_ITER_INC,
      [](hid_t, const char* name, const auto* info, void* found) -> herr_t {
        if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(found)->emplace_back(name);
        return 0;
      },
      &names, H5O_INFO_BASIC);
  std::vector<Sample> samples;
  for (const std::string& name : names)
    if (auto sample = read_floats(file, name)) samples.push_back(std::move(*sample));
  return samples;
}

// Files by name; one that is in both folders is taken once.
std::map<std::string, fs::path> field_files() {
  std::map<std::string, fs::path> files;
  for (const fs::path folder : {HOMZ_MORE_FIELDS, HOMZ_DATA_FIELDS}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (entry.path().extension() == ".h5" || entry.path().extension() == ".nc")
        files[entry.path().stem().string()] = entry.path();
  }
  return files;
}

std::vector<std::string> names_of_files() {
  std::vector<std::string> names;
  for (const auto& [name, path] : field_files()) names.push_back(name);
  return names;
}

class Fields : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Files, Fields, testing::ValuesIn(names_of_files()),
                         [](const auto& info) { return test_name(info.param); });

void check(const std::string& choice, const Sample& sample, double relative) {
  SCOPED_TRACE(testing::Message() << choice << ", " << sample.name << ", rel:" << relative);
  const CodecChoice chosen = choice_of(choice);
  const ErrorBound bound{BoundMode::relative, relative};
  const auto made = compress(chosen, sample.field, sample.bytes(), bound, sample.fill_bits, host(2));
  if (made.status().code() == Code::invalid_argument) return;  // options that do not suit the shape
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto back = decompress(registry(), made->stream(), host(2));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_LE(back->header.abs_error, relative * magnitudes_of(sample).range);
  EXPECT_TRUE(judge(sample.field.dtype, sample.bytes(), back->data.bytes(), back->header.abs_error,
                    sample.fill_bits));
  EXPECT_LE(made->bytes, size_limit(compression_of(choice, sample, back->header.abs_error)));
}

TEST_P(Fields, KeepTheirBoundInEveryLossyCodec) {
  const auto samples = floats_of(field_files().at(GetParam()));
  const std::vector<double> bounds = kSanitized ? std::vector{1e-3} : std::vector{1e-2, 1e-3, 1e-4, 1e-6};
  for (const std::string& choice : lossy_choices())
    for (const Sample& sample : samples)
      for (const double relative : bounds) {
        check(choice, sample, relative);
        if (HasFailure()) return;
      }
}

TEST_P(Fields, ReturnBitForBitFromEveryLosslessCodec) {
  for (const Sample& sample : floats_of(field_files().at(GetParam())))
    for (const std::string& choice : default_choices()) {
      const auto made = compress(choice_of(choice), sample.field, sample.bytes(), {BoundMode::lossless, 0},
                                 sample.fill_bits, host(2));
      ASSERT_TRUE(made.ok()) << made.status().message();
      const auto back = decompress(registry(), made->stream(), host(2));
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_TRUE(std::ranges::equal(back->data.bytes(), sample.bytes())) << choice << ", " << sample.name;
    }
}

TEST(FieldFiles, AreThere) {
  EXPECT_GE(field_files().size(), 10u);
}

}  // namespace
}  // namespace homz::test
