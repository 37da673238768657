#include "tools/hdf5/chunk_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codecs/builtin.hpp"
#include "core/bits.hpp"
#include "core/byte_order.hpp"
#include "tools/hdf5/errors.hpp"

namespace homz::hdf5 {
namespace {

constexpr std::uint64_t kBatchBytes = 256 << 20, kBatchChunks = 4096;

Status select(hid_t space, const hsize_t* start, const Box& box) {
  return check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, box.lengths.data(), nullptr),
               "select a part of the dataset");
}

Result<Handle> chunk_space(const ChunkGrid& grid) {
  return own(H5Screate_simple(grid.rank(), grid.chunk().data(), nullptr), "make a dataspace");
}

Result<std::vector<std::uint64_t>> listed_chunks(const Dataset& dataset, const ChunkGrid& grid,
                                                 hsize_t stored) {
  std::vector<std::uint64_t> chunks;
  std::vector<hsize_t> start(grid.chunk().size());
  for (hsize_t i = 0; i < stored; ++i) {
    unsigned mask;
    haddr_t address;
    hsize_t size;
    HOMZ_TRY(check(H5Dget_chunk_info(dataset.id, dataset.space, i, start.data(), &mask, &address, &size),
                   "list the chunks"));
    chunks.push_back(grid.index(start.data()));
  }
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

}  // namespace

std::uint64_t batch_chunks(const ChunkGrid& grid, std::uint64_t bytes_per_chunk) {
  const std::uint64_t fitting =
      std::max<std::uint64_t>(1, kBatchBytes / std::max<std::uint64_t>(1, bytes_per_chunk));
  return std::max<std::uint64_t>(1, std::min({fitting, kBatchChunks, grid.count()}));
}

Result<std::vector<std::uint64_t>> existing_chunks(const Dataset& dataset, const ChunkGrid& grid) {
  constexpr std::uint64_t kMostProbes =
      1 << 22;  // a chunk's probe is fast, but there can be many that do not exist
  std::vector<std::uint64_t> chunks;
  hsize_t stored = grid.count();
  if (dataset.layout == H5D_CHUNKED)
    HOMZ_TRY(check(H5Dget_num_chunks(dataset.id, dataset.space, &stored), "count the chunks"));
  if (stored != grid.count() && grid.count() > kMostProbes) return listed_chunks(dataset, grid, stored);
  for (std::uint64_t i = 0; i < grid.count(); ++i) {
    hsize_t size = 1;
    // The library fails for a chunk that does not exist; the count shows whether it was for another reason.
    if (stored == grid.count() ||
        (H5Dget_chunk_storage_size(dataset.id, grid.box(i).start.data(), &size) >= 0 && size != 0))
      chunks.push_back(i);
  }
  if (chunks.size() != stored)
    return Status(Code::corrupt_stream,
                  fmt::format("the index tells of {} chunks, {} can be found", stored, chunks.size()));
  return chunks;
}

Status StoredChunk::read(const Dataset& dataset, const Box& box) {
  hsize_t stored = 0;
  size = 0;
  HOMZ_TRY(check(H5Dget_chunk_storage_size(dataset.id, box.start.data(), &stored), "look for a chunk"));
  HOMZ_TRY(memory.reserve(stored));
  HOMZ_TRY(check(H5Dread_chunk(dataset.id, H5P_DEFAULT, box.start.data(), &mask, memory.bytes().data()),
                 "read the chunk"));
  size = stored;
  return Status();
}

Result<ChunkReader> ChunkReader::make(const Dataset& dataset, const ChunkGrid& grid, Workers& workers) {
  ChunkReader reader;
  reader.dataset_ = &dataset;
  reader.grid_ = grid;
  reader.workers_ = &workers;
  HOMZ_ASSIGN(reader.file_space_, own(H5Scopy(dataset.space), "copy the dataspace"));
  HOMZ_ASSIGN(reader.memory_space_, chunk_space(grid));
  if (dataset.only_ours()) {
    HOMZ_ASSIGN(ChunkCoding coding, dataset.coding());
    if (!coding.extents.empty()) {
      reader.coding_ = std::move(coding);
      HOMZ_ASSIGN(reader.existing_, existing_chunks(dataset, grid));
    }
  }
  return reader;
}

Status ChunkReader::read_with_library(std::uint64_t chunk, Bytes slot) {
  const Box box = grid_.box(chunk);
  const std::vector<hsize_t> origin(box.start.size(), 0);
  HOMZ_TRY(select(file_space_, box.start.data(), box));
  HOMZ_TRY(select(memory_space_, origin.data(), box));
  const hid_t type = native_type(dataset_->element->dtype);
  if (H5Dread(dataset_->id, type, memory_space_, file_space_, H5P_DEFAULT, slot.data()) >= 0) return Status();
  const Status failed = failure("read the values");  // first: any call of the library clears its message
  const std::string filters = dataset_->filter_names();
  return failed.within(grid_.place(box) + (filters.empty() ? "" : ", filters " + filters));
}

Status ChunkReader::fetch(std::uint64_t chunk, std::size_t place) {
  fetched_[place].size = 0;
  if (!std::binary_search(existing_.begin(), existing_.end(), chunk)) return Status();
  const Box box = grid_.box(chunk);
  return fetched_[place].read(*dataset_, box).within(grid_.place(box));
}

Status ChunkReader::decode(std::uint64_t chunk, std::size_t place, Bytes slot, Coder& coder) const {
  const StoredChunk& fetched = fetched_[place];
  const auto decoded = [&]() -> Status {
    const ConstBytes bytes = fetched.bytes();
    if ((fetched.mask & 1) != 0) {
      if (bytes.size() != slot.size())
        return Status(Code::corrupt_stream,
                      fmt::format("{} bytes of values instead of {}", bytes.size(), slot.size()));
      std::memcpy(slot.data(), bytes.data(), bytes.size());
      if (coding_->big_endian) swap_bytes(coding_->dtype, slot, 1);
      return Status();
    }
    return coder.decode(*coding_, bytes, slot);
  };
  return decoded().within(grid_.place(grid_.box(chunk)));
}

Status ChunkReader::read(std::span<const std::uint64_t> chunks, Slots& slots, ConstBytes padding) {
  if (!coding_) {
    for (std::size_t i = 0; i < chunks.size(); ++i) HOMZ_TRY(read_with_library(chunks[i], slots[i]));
  } else {
    HOMZ_ASSIGN(const LibraryFill fill, library_fill(dataset_->properties, coding_->dtype));
    if (fetched_.size() < chunks.size()) fetched_.resize(chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) HOMZ_TRY(fetch(chunks[i], i));
    HOMZ_TRY(workers_->each(chunks.size(), [&](std::uint64_t i, Coder& coder) {
      if (fetched_[i].size != 0) return decode(chunks[i], i, slots[i], coder);
      fill_with(slots[i], fill.value);
      return Status();
    }));
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) grid_.pad(grid_.box(chunks[i]), slots[i], padding);
  return Status();
}

Result<ChunkWriter> ChunkWriter::make(hid_t dataset, const ChunkGrid& grid, const ChunkCoding& coding,
                                      std::uint64_t batch, Workers& workers) {
  ChunkWriter writer;
  writer.dataset_ = dataset;
  writer.grid_ = grid;
  writer.workers_ = &workers;
  HOMZ_ASSIGN(writer.compression_, compression_of(registry(), coding));
  HOMZ_ASSIGN(const StreamFootprint needs, workers.footprint(writer.compression_));
  HOMZ_ASSIGN(writer.streams_, Slots::make(batch, needs.stream_bytes));
  writer.sizes_.resize(batch);
  return writer;
}

Status ChunkWriter::write(std::span<const std::uint64_t> chunks, const Slots& slots) {
  HOMZ_TRY(workers_->each(chunks.size(), [&](std::uint64_t i, Coder& coder) {
    return coder.encode(compression_, slots[i], streams_[i], &sizes_[i]);
  }));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Box box = grid_.box(chunks[i]);
    if (H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, box.start.data(), sizes_[i], streams_[i].data()) < 0)
      return failure("write the chunk").within(grid_.place(box));
  }
  return Status();
}

Status write_box(hid_t dataset, hid_t memory_type, const ChunkGrid& grid, const Box& box, ConstBytes chunk) {
  HOMZ_ASSIGN(const Handle file_space, own(H5Dget_space(dataset), "read the dataspace"));
  HOMZ_ASSIGN(const Handle memory_space, chunk_space(grid));
  const std::vector<hsize_t> origin(box.start.size(), 0);
  HOMZ_TRY(select(file_space, box.start.data(), box));
  HOMZ_TRY(select(memory_space, origin.data(), box));
  return check(H5Dwrite(dataset, memory_type, memory_space, file_space, H5P_DEFAULT, chunk.data()),
               "write the values");
}

}  // namespace homz::hdf5
