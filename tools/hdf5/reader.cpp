// Reads and compares the datasets of files, compressed or not.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tools/hdf5/chunk_io.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/file.hpp"
#include "tools/hdf5/filter.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/hdf5/report.hpp"
#include "tools/hdf5/survey.hpp"
#include "tools/hdf5/values.hpp"

namespace homz::hdf5 {

struct Reader::State {
  std::string file_name;
  Handle file;
  Tree tree;
  std::vector<DatasetReport> datasets;
};

namespace {

Status read_decoded(const Dataset& dataset, Bytes data) {
  const ChunkGrid grid(dataset.extents, dataset.chunk);
  const std::uint64_t value_bytes = size_of(dataset.element->dtype),
                      chunk_bytes = grid.chunk_values() * value_bytes;
  const std::uint64_t batch = batch_chunks(grid, chunk_bytes);
  Workers workers(0);
  HOMZ_ASSIGN(ChunkReader reader, ChunkReader::make(dataset, grid, workers));
  HOMZ_ASSIGN(Slots slots, Slots::make(batch, chunk_bytes));
  const std::vector<std::byte> no_padding_wanted(value_bytes);
  std::vector<std::uint64_t> chunks(batch);
  for (std::uint64_t first = 0; first < grid.count(); first += batch) {
    chunks.resize(std::min(batch, grid.count() - first));
    std::iota(chunks.begin(), chunks.end(), first);
    HOMZ_TRY(reader.read(chunks, slots, no_padding_wanted));
    for (std::size_t i = 0; i < chunks.size(); ++i)
      grid.scatter(grid.box(chunks[i]), slots[i], data, value_bytes);
  }
  return Status();
}

Result<std::optional<std::uint64_t>> fill_of(const Dataset& dataset) {
  if (!dataset.is_ours()) return declared_fill(dataset);
  HOMZ_ASSIGN(const ChunkCoding coding, dataset.coding());
  return coding.fill_bits ? coding.fill_bits : declared_fill(dataset);
}

Result<Values> read_values(hid_t file, const std::string& path) {
  HOMZ_ASSIGN(const Dataset dataset, Dataset::open(file, path));
  if (!dataset.element || dataset.space_class == H5S_NULL)
    return Status(Code::invalid_argument,
                  fmt::format("its type is {}, not f32 or f64", type_text(dataset.type)));
  const Dtype dtype = dataset.element->dtype;
  Values values;
  values.shape.assign(dataset.extents.begin(), dataset.extents.end());
  HOMZ_ASSIGN(values.field, coded_field(dtype, values.shape));
  HOMZ_ASSIGN(values.fill_bits, fill_of(dataset));
  HOMZ_ASSIGN(values.data, Buffer::make(values.field.bytes()));
  if (values.field.count() == 0) return values;
  if (dataset.only_ours()) {
    HOMZ_TRY(read_decoded(dataset, values.data.bytes()));
  } else if (H5Dread(dataset.id, native_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     values.data.bytes().data()) < 0) {
    const Status failed = failure("read the values");  // first: any call of the library clears its message
    const std::string filters = dataset.filter_names();
    return filters.empty() ? failed : failed.within(fmt::format("filters {}", filters));
  }
  return values;
}

// Shapes as well as what is in them; maximum extents are a matter of storage.
bool same_shape(const Dataset& a, const Dataset& b) {
  return a.space_class == b.space_class && a.extents == b.extents;
}

Result<bool> same_floats(hid_t file_a, hid_t file_b, const std::string& path) {
  HOMZ_ASSIGN(const Values a, read_values(file_a, path));
  HOMZ_ASSIGN(const Values b, read_values(file_b, path));
  const ConstBytes bytes_a = a.data.bytes(), bytes_b = b.data.bytes();
  return std::equal(bytes_a.begin(), bytes_a.end(), bytes_b.begin(), bytes_b.end());
}

Result<bool> same_elements(const Dataset& a, const Dataset& b, const Side& side_a, const Side& side_b) {
  HOMZ_ASSIGN(const Elements values_a, Elements::read_dataset(a.id));
  HOMZ_ASSIGN(const Elements values_b, Elements::read_dataset(b.id));
  return values_a.count() == values_b.count() &&
         same_values(values_a.layout(), values_a.data(), values_b.data(), values_a.count(), side_a, side_b);
}

// For chunks that no filter here can read: true if they are the same as stored.
Result<bool> same_storage(const Dataset& a, const Dataset& b) {
  if (a.chunk != b.chunk || a.filters != b.filters || a.chunk.empty()) return false;
  const ChunkGrid grid(a.extents, a.chunk);
  HOMZ_ASSIGN(const auto chunks_a, existing_chunks(a, grid));
  HOMZ_ASSIGN(const auto chunks_b, existing_chunks(b, grid));
  if (chunks_a != chunks_b) return false;
  StoredChunk one, other;
  for (const std::uint64_t chunk : chunks_a) {
    HOMZ_TRY(one.read(a, grid.box(chunk)));
    HOMZ_TRY(other.read(b, grid.box(chunk)));
    const ConstBytes bytes = one.bytes(), others = other.bytes();
    if (one.mask != other.mask || !std::equal(bytes.begin(), bytes.end(), others.begin(), others.end()))
      return false;
  }
  return true;
}

Result<bool> same_contents(const Dataset& a, const Dataset& b, const Side& side_a, const Side& side_b) {
  if (a.element && a.space_class == H5S_SIMPLE) return same_floats(side_a.file, side_b.file, a.path);
  return same_elements(a, b, side_a, side_b);
}

Result<bool> same_dataset(const Side& side_a, const Side& side_b, const std::string& path) {
  HOMZ_ASSIGN(const Dataset a, Dataset::open(side_a.file, path));
  HOMZ_ASSIGN(const Dataset b, Dataset::open(side_b.file, path));
  if (!same_shape(a, b) || H5Tequal(a.type, b.type) <= 0) return false;
  auto same = same_contents(a, b, side_a, side_b);
  if (same.ok() || a.filters.empty()) return same;
  const auto stored = same_storage(a, b);
  return stored.ok() && *stored ? stored : same;
}

}  // namespace

Result<FileReport> inspect_file(const std::string& path) {
  const QuietErrors quiet;
  auto report = no_throw([&]() -> Result<FileReport> {
    HOMZ_TRY(register_filter());
    FileReport result;
    HOMZ_ASSIGN(const Handle file, open_input(path));
    HOMZ_ASSIGN(const Tree tree, Tree::read(file));
    HOMZ_ASSIGN(result.datasets, describe_all(file, tree));
    HOMZ_ASSIGN(result.input_bytes, file_bytes(path));
    result.output_bytes = result.input_bytes;
    return result;
  });
  if (!report.ok()) return about_file(report.status(), path, "");
  return report;
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& path) {
  const QuietErrors quiet;
  return no_throw([&]() -> Result<Reader> {
    HOMZ_TRY(register_filter());
    Reader reader(std::make_unique<State>());
    State& state = *reader.state_;
    state.file_name = path;
    HOMZ_ASSIGN(state.file, open_input(path));
    HOMZ_ASSIGN(state.tree, Tree::read(state.file));
    HOMZ_ASSIGN(state.datasets, describe_all(state.file, state.tree));
    return reader;
  });
}

const std::vector<DatasetReport>& Reader::datasets() const noexcept {
  return state_->datasets;
}

bool Reader::is_float(const std::string& path) const {
  const QuietErrors quiet;
  const auto dataset = no_throw([&] { return Dataset::open(state_->file, path); });
  return dataset.ok() && dataset->element && dataset->space_class != H5S_NULL;
}

Result<Values> Reader::read_floats(const std::string& path) const {
  const QuietErrors quiet;
  auto values = no_throw([&] { return read_values(state_->file, path); });
  if (!values.ok()) return values.status().within(fmt::format("'{}', dataset '{}'", state_->file_name, path));
  return values;
}

Result<bool> Reader::equal(const Reader& a, const Reader& b, const std::string& path) {
  const QuietErrors quiet;
  auto same = no_throw([&] {
    return same_dataset({a.state_->file, &a.state_->tree}, {b.state_->file, &b.state_->tree}, path);
  });
  if (!same.ok()) return same.status().within(fmt::format("dataset '{}'", path));
  return same;
}

}  // namespace homz::hdf5
